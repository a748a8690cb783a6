/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug salvage: a torn or damaged bundle made whole again from its intact records.
 */
#include <inttypes.h>

#include "document.h"
#include "phrases.h"
#include "screen.h"

typedef struct salvage_options {
    opd_shared shared;
    const char *path;
    int path_count;
    const char *out;
} salvage_options;

static const struct argp_option options[] = {
    { "output", 'o', "FILE", 0, "The whole bundle (required)", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    salvage_options *o = state->input;
    switch (key) {
    case 'o':
        o->out = arg;
        return 0;
    case ARGP_KEY_ARG:
        opd_take_argument(state, &o->path, &o->path_count, 1, arg);
        return 0;
    case ARGP_KEY_END:
        if (o->path == NULL || o->out == NULL) {
            argp_error(state, "give a bundle and -o FILE");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int run(const opd_command *self, int argc, char **argv)
{
    salvage_options o = { 0 };
    opd_salvage_report report = { 0 };
    opd_command_parse(self, &o.shared, argc, argv);
    if (opd_salvage(&report, o.path, o.out) != OPD_OK) {
        return opd_trouble();
    }
    if (o.shared.is_json) {
        json_t *document = json_object();
        opd_document_put(document, "path", opd_document_text(o.out));
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
        printf("%s: %" PRIu64 " records kept, %" PRIu64 " calls, %" PRIu64 " tensors; lost: %" PRIu64
               " records, %" PRIu64 " tensors, %" PRIu64 " bytes\n",
               o.out, report.records_kept, report.calls, report.tensors_kept, report.records_lost, report.tensors_lost,
               report.bytes_lost);
        opd_phrase_shell(word, sizeof word, o.out);
        opd_print_next("ops-debug show %s", word);
    }
    return OPD_EXIT_OK;
}

const opd_command opd_command_salvage = {
    .name = "salvage",
    .synopsis = "BUNDLE -o FILE",
    .summary = "Make a torn or damaged bundle whole again and say what was lost",
    .examples = "  ops-debug salvage run/run-4711.opsb.partial -o run-4711.opsb\n",
    .options = options,
    .parse = parse,
    .run = run,
};
