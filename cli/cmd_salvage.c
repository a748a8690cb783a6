/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug salvage: a torn or damaged bundle made whole again from its intact records; of a folder, all of them, and what killed
 * recordings into it have left in shared memory.
 */
#include <inttypes.h>

#include <opsdebug/memory.h>
#include <opsdebug/record.h>

#include "document.h"
#include "phrases.h"
#include "screen.h"

typedef struct salvage_options {
    opd_shared shared;
    opd_conversion files;
} salvage_options;

static const struct argp_option options[] = {
    OPD_CONVERSION_OPTION("FILE", "The whole bundle (required unless DIR is given)"),
    { 0 },
};

/* A bundle that was to be written when its collector was killed: it need not exist. */
static bool is_left_behind(const char *path)
{
    return opd_record_left_behind(path).orphaned > 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    salvage_options *o = state->input;
    const opd_conversion *files = &o->files;
    bool is_whole = key == ARGP_KEY_END && files->path != NULL && files->out == NULL &&
                    (opd_path_is_directory(files->path) || is_left_behind(files->path));
    return is_whole ? 0 : opd_conversion_parse(key, arg, state, &o->files, "FILE, or a folder of record");
}

static int print_recovered(const opd_record_report *report, const salvage_options *o)
{
    int exit_status = report->bundles == 0 ? OPD_EXIT_TROUBLE : OPD_EXIT_OK;
    if (report->trouble[0] != '\0') {
        fprintf(stderr, "ops-debug: %s\n", report->trouble);
    }
    if (report->run_trouble[0] != '\0') {
        fprintf(stderr, "ops-debug: %s\n", report->run_trouble);
    }
    if (o->shared.is_json) {
        json_t *document = json_object();
        json_t *paths = json_array();
        opd_document_put(document, "path", opd_document_text(o->files.path));
        opd_document_put(document, "bundles", opd_document_count(report->bundles));
        opd_document_put(document, "calls", opd_document_count(report->calls));
        opd_document_put(document, "dropped", opd_document_count(report->dropped));
        for (size_t i = 0; i < report->bundles && i < OPD_COUNT(report->bundle_paths); i++) {
            if (report->bundle_paths[i][0] != '\0') {
                json_array_append_new(paths, opd_document_text(report->bundle_paths[i]));
            }
        }
        opd_document_put(document, "paths", paths);
        opd_document_put(document, "trouble", opd_document_text(report->trouble));
        return opd_document_print(document, exit_status);
    }
    if (!o->shared.is_quiet && report->bundles > 0) {
        char word[4096];
        printf("%s: %u bundle%s made, %" PRIu64 " call%s in %s", o->files.path, report->bundles,
               opd_phrase_plural(report->bundles), report->calls, opd_phrase_plural(report->calls),
               report->bundles == 1 ? "it" : "them");
        if (report->dropped > 0) {
            printf("; %" PRIu64 " call%s overwritten before", report->dropped, opd_phrase_plural(report->dropped));
        }
        printf("\n");
        opd_phrase_shell(word, sizeof word, o->files.path);
        opd_print_next("ops-debug show %s", word);
    }
    return exit_status;
}

static int recover(const salvage_options *o)
{
    opd_record_report *report = NULL;
    opd_status status = opd_alloc((void **)&report, sizeof *report);
    if (status == OPD_OK && o->files.out != NULL) {
        status = opd_fail(OPD_E_INVALID, "%s: is a folder: its bundles are mended where they are; leave -o out",
                          o->files.path);
    }
    if (status == OPD_OK) {
        status = opd_record_recover(report, o->files.path);
    }
    int exit_status = status == OPD_OK ? print_recovered(report, o) : opd_trouble();
    opd_free(report);
    return exit_status;
}

static int run(const opd_command *self, int argc, char **argv)
{
    salvage_options o = { 0 };
    opd_salvage_report report = { 0 };
    uint64_t unreadable = 0;
    opd_command_parse(self, &o.shared, argc, argv);
    if (opd_path_is_directory(o.files.path) || o.files.out == NULL) {
        return recover(&o);
    }
    if (opd_conversion_check(&o.files, OPD_OUTPUT_BUNDLE) != OPD_OK ||
        opd_salvage(&report, o.files.path, o.files.out, opd_loss_say, &unreadable) != OPD_OK) {
        return opd_trouble();
    }
    if (o.shared.is_json) {
        json_t *document = json_object();
        opd_document_put(document, "path", opd_document_text(o.files.out));
        opd_document_put(document, "records_kept", opd_document_count(report.records_kept));
        opd_document_put(document, "records_lost", opd_document_count(report.records_lost));
        opd_document_put(document, "bytes_lost", opd_document_count(report.bytes_lost));
        opd_document_put(document, "calls", opd_document_count(report.calls));
        opd_document_put(document, "tensors_kept", opd_document_count(report.tensors_kept));
        opd_document_put(document, "tensors_lost", opd_document_count(report.tensors_lost));
        return opd_document_print(document, OPD_EXIT_OK);
    }
    if (!o.shared.is_quiet) {
        char word[4096];
        printf("%s: %" PRIu64 " record%s kept, %" PRIu64 " call%s, %" PRIu64 " tensor%s; lost: %" PRIu64
               " record%s, %" PRIu64 " tensor%s, %" PRIu64 " byte%s\n",
               o.files.out, report.records_kept, opd_phrase_plural(report.records_kept), report.calls,
               opd_phrase_plural(report.calls), report.tensors_kept, opd_phrase_plural(report.tensors_kept),
               report.records_lost, opd_phrase_plural(report.records_lost), report.tensors_lost,
               opd_phrase_plural(report.tensors_lost), report.bytes_lost, opd_phrase_plural(report.bytes_lost));
        opd_phrase_shell(word, sizeof word, o.files.out);
        opd_print_next("ops-debug show %s", word);
    }
    return OPD_EXIT_OK;
}

const opd_command opd_command_salvage = {
    .name = "salvage",
    .synopsis = "(BUNDLE -o FILE | DIR)",
    .summary = "Make a torn or damaged bundle whole again and say what was lost",
    .details =
        "DIR, the output folder of record: every bundle left as .partial is made whole under its own name, and the calls that a\n"
        "killed ops-debug left in shared memory are written out. A recording that still runs is left alone.",
    .examples = "  ops-debug salvage run/\n"
                "  ops-debug salvage run/run-4711.opsb.partial -o run-4711.opsb\n",
    .options = options,
    .parse = parse,
    .run = run,
};
