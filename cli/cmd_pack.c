/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug pack: a bundle that refers to a store, made to hold all its tensors itself.
 */
#include <stdlib.h>
#include <string.h>

#include "document.h"
#include "phrases.h"
#include "screen.h"
#include "source.h"

enum { KEY_STORE = 0x100 };

typedef struct pack_options {
    opd_shared shared;
    opd_conversion files;
    const char *store;
} pack_options;

static const struct argp_option options[] = {
    OPD_CONVERSION_OPTION("FILE", "The self-contained bundle (required)"),
    { "store", KEY_STORE, "DIR", 0, "Directory store of the tensors; default: $OPSDEBUG_STORE", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    pack_options *o = state->input;
    if (key == KEY_STORE) {
        o->store = arg;
        return 0;
    }
    return opd_conversion_parse(key, arg, state, &o->files, "FILE");
}

/* The list of a run's calls keeps no operands, in no store either: it is whole as it is. */
static opd_status pack(bool *is_list, uint64_t *lost, const pack_options *o)
{
    opd_bundle *bundle = NULL;
    opd_salvage_report report;
    opd_status status = opd_source_open(&bundle, o->files.path, &o->shared);
    if (status != OPD_OK) {
        return status;
    }
    status = opd_source_check_left(bundle);
    *is_list = o->store == NULL && opd_source_is_list(bundle);
    opd_bundle_close(bundle);
    if (status != OPD_OK) {
        return status;
    }
    return *is_list ? opd_salvage(&report, o->files.path, o->files.out, opd_loss_say, lost)
                    : opd_pack(o->files.path, o->files.out, o->store, opd_loss_say, lost);
}

static int run(const opd_command *self, int argc, char **argv)
{
    pack_options o = { 0 };
    bool is_list = false;
    uint64_t lost = 0;
    o.store = getenv("OPSDEBUG_STORE");
    o.store = o.store != NULL && o.store[0] != '\0' ? o.store : NULL;
    opd_command_parse(self, &o.shared, argc, argv);
    if (opd_conversion_check(&o.files, OPD_OUTPUT_BUNDLE) != OPD_OK || pack(&is_list, &lost, &o) != OPD_OK) {
        return opd_trouble();
    }
    if (o.shared.is_json) {
        json_t *document = json_object();
        opd_document_put(document, "path", opd_document_text(o.files.out));
        opd_document_put(document, "tensors_lost", opd_document_count(lost));
        return opd_document_print(document, OPD_EXIT_OK);
    }
    if (!o.shared.is_quiet) {
        char word[4096];
        opd_phrase_shell(word, sizeof word, o.files.out);
        printf("%s: %s\n", o.files.out,
               is_list    ? "the list of a run's calls, which keeps no operands, as it is"
               : lost > 0 ? "holds all its tensors that can be read"
                          : "holds all its tensors");
        opd_print_next("ops-debug show %s", word);
    }
    return OPD_EXIT_OK;
}

const opd_command opd_command_pack = {
    .name = "pack",
    .synopsis = "BUNDLE -o FILE",
    .summary = "Make a bundle that refers to a store self-contained",
    .examples = "  ops-debug pack thin.opsb -o whole.opsb --store /var/cache/tensors\n",
    .options = options,
    .parse = parse,
    .run = run,
};
