/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug export: a bundle as a trace or table for other programs.
 */
#include <inttypes.h>
#include <string.h>

#include <opsdebug/view.h>

#include "document.h"
#include "phrases.h"
#include "screen.h"

enum { KEY_FORMAT = 0x100 };

typedef struct export_options {
    opd_shared shared;
    opd_conversion files;
    const char *format_name;
    opd_view_format format;
} export_options;

static const struct argp_option options[] = {
    OPD_CONVERSION_OPTION("FILE", "Where it goes (required); its suffix chooses the format"),
    { "format", KEY_FORMAT, "NAME", 0, "perfetto, chrome or csv, whatever the suffix", 0 },
    { 0 },
};

static bool has_suffix(const char *path, opd_view_format format)
{
    const char *suffix = opd_view_format_suffix(format);
    size_t length = strlen(path);
    return length >= strlen(suffix) && strcmp(path + length - strlen(suffix), suffix) == 0;
}

/* By name, else by suffix: a suffix that says nothing is refused rather than guessed at. */
static void choose_format(const struct argp_state *state, export_options *o)
{
    char known[128] = "";
    if (o->format_name != NULL) {
        if (opd_view_format_parse(&o->format, o->format_name) != OPD_OK) {
            opd_usage_error(state, "--format: %s", opd_error_text());
        }
        return;
    }
    for (int i = 0; i < OPD_VIEW_FORMATS; i++) {
        size_t used = strlen(known);
        if (has_suffix(o->files.out, (opd_view_format)i)) {
            o->format = (opd_view_format)i;
            return;
        }
        snprintf(known + used, sizeof known - used, "%s%s (%s)", i > 0 ? ", " : "",
                 opd_view_format_suffix((opd_view_format)i), opd_view_format_name((opd_view_format)i));
    }
    opd_usage_error(state, "-o %s: its suffix names no format: %s; or give --format", o->files.out, known);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    export_options *o = state->input;
    if (key == KEY_FORMAT) {
        o->format_name = arg;
        return 0;
    }
    error_t result = opd_conversion_parse(key, arg, state, &o->files, "FILE");
    if (key == ARGP_KEY_END) {
        choose_format(state, o);
    }
    return result;
}

static int print_report(const opd_view_report *report, const export_options *o)
{
    opd_view_format format = o->format;
    if (o->shared.is_json) {
        json_t *document = json_object();
        opd_document_put(document, "path", opd_document_text(o->files.out));
        opd_document_put(document, "format", json_string(opd_view_format_name(format)));
        opd_document_put(document, "slices", opd_document_count(report->slices));
        opd_document_put(document, "instants", opd_document_count(report->instants));
        opd_document_put(document, "counters", opd_document_count(report->counters));
        opd_document_put(document, "flows", opd_document_count(report->flows));
        opd_document_put(document, "tracks", opd_document_count(report->tracks));
        opd_document_put(document, "unfinished", opd_document_count(report->unfinished));
        opd_document_put(document, "bytes", opd_document_count(report->bytes));
        return opd_document_print(document, OPD_EXIT_OK);
    }
    if (o->shared.is_quiet) {
        return OPD_EXIT_OK;
    }
    char words[4096];
    opd_phrase_bytes(words, sizeof words, report->bytes);
    printf("%s: %s, %s, %" PRIu64 " call%s, %" PRIu64 " instant%s, %" PRIu64 " flow%s on %" PRIu64 " track%s",
           o->files.out, opd_view_format_name(format), words, report->slices, opd_phrase_plural(report->slices),
           report->instants, opd_phrase_plural(report->instants), report->flows, opd_phrase_plural(report->flows),
           report->tracks, opd_phrase_plural(report->tracks));
    if (report->unfinished > 0) {
        printf(", %" PRIu64 " unfinished", report->unfinished);
    }
    printf("\n");
    if (format != OPD_VIEW_CSV) {
        opd_phrase_shell(words, sizeof words, o->files.out);
        opd_print_next("ops-debug open %s", words);
    }
    return OPD_EXIT_OK;
}

static int run(const opd_command *self, int argc, char **argv)
{
    export_options o = { 0 };
    opd_bundle *bundle = NULL;
    opd_view_report report = { 0 };
    opd_command_parse(self, &o.shared, argc, argv);
    static const opd_output_kind kinds[OPD_VIEW_FORMATS] = {
#define OPD_X(name, id, suffix) [OPD_VIEW_##name] = OPD_OUTPUT_##name,
        OPD_VIEW_LIST(OPD_X)
#undef OPD_X
    };
    opd_status status = opd_conversion_check(&o.files, kinds[o.format]);
    if (status == OPD_OK) {
        status = opd_source_open(&bundle, o.files.path, &o.shared);
    }
    if (status == OPD_OK) {
        status = opd_source_check_left(bundle);
    }
    if (status == OPD_OK) {
        status = opd_view_export(&report, bundle, o.files.out, o.format);
    }
    opd_bundle_close(bundle);
    return status == OPD_OK ? print_report(&report, &o) : opd_trouble();
}

const opd_command opd_command_export = {
    .name = "export",
    .synopsis = "BUNDLE -o FILE",
    .summary = "Write a bundle as a Perfetto trace, Chrome JSON or CSV",
    .examples = "  ops-debug export run/solve-4711-1-nan.opsb -o trace.pftrace\n"
                "  ops-debug export run/run-4711.opsb -o calls.csv\n",
    .options = options,
    .parse = parse,
    .run = run,
};
