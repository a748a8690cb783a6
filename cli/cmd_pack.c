/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug pack: a bundle that refers to a store, made to hold all its tensors itself.
 */
#include <stdlib.h>

#include "document.h"
#include "phrases.h"
#include "screen.h"

enum { KEY_STORE = 0x100 };

typedef struct pack_options {
    opd_shared shared;
    const char *path;
    int path_count;
    const char *out;
    const char *store;
} pack_options;

static const struct argp_option options[] = {
    { "output", 'o', "FILE", 0, "The self-contained bundle (required)", 0 },
    { "store", KEY_STORE, "DIR", 0, "Directory store of the tensors; default: $OPSDEBUG_STORE", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    pack_options *o = state->input;
    switch (key) {
    case 'o':
        o->out = arg;
        return 0;
    case KEY_STORE:
        o->store = arg;
        return 0;
    case ARGP_KEY_ARG:
        opd_take_argument(state, &o->path, &o->path_count, 1, arg);
        return 0;
    case ARGP_KEY_END:
        if (o->path == NULL || o->out == NULL) {
            opd_usage_error(state, "give a bundle and -o FILE");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static int run(const opd_command *self, int argc, char **argv)
{
    pack_options o = { 0 };
    o.store = getenv("OPSDEBUG_STORE");
    opd_command_parse(self, &o.shared, argc, argv);
    if (opd_pack(o.path, o.out, o.store) != OPD_OK) {
        return opd_trouble();
    }
    if (o.shared.is_json) {
        json_t *document = json_object();
        opd_document_put(document, "path", opd_document_text(o.out));
        return opd_document_print(document, OPD_EXIT_OK);
    }
    if (!o.shared.is_quiet) {
        char word[4096];
        opd_phrase_shell(word, sizeof word, o.out);
        printf("%s: holds all its tensors\n", o.out);
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
