/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug diff: what is different between two bundles; environment first, then calls and digests, then failures.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "document.h"
#include "phrases.h"
#include "screen.h"

enum { SHOWN = 20 };

typedef struct diff_options {
    opd_shared shared;
    const char *paths[2];
    int path_count;
} diff_options;

static const struct argp_option options[] = { { 0 } };

static error_t parse(int key, char *arg, struct argp_state *state)
{
    diff_options *o = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        opd_take_argument(state, o->paths, &o->path_count, 2, arg);
        return 0;
    case ARGP_KEY_END:
        if (o->path_count != 2) {
            opd_usage_error(state, "give two bundles");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Differences found, printed or kept for the document as they come. */
typedef struct differences {
    const diff_options *options;
    json_t *array;
    uint64_t count;
    uint64_t printed;
} differences;

static void differ(differences *found, const char *what, const char *a, const char *b)
{
    found->count++;
    if (found->options->shared.is_json) {
        json_t *object = json_object();
        opd_document_put(object, "what", opd_document_text(what));
        opd_document_put(object, "a", opd_document_text(a));
        opd_document_put(object, "b", opd_document_text(b));
        json_array_append_new(found->array, object);
        return;
    }
    if (!found->options->shared.is_quiet && (found->printed < SHOWN || found->options->shared.verbosity > 0)) {
        char left[2048];
        char right[2048];
        printf("%s: %s | %s\n", what, opd_phrase_line(left, sizeof left, a), opd_phrase_line(right, sizeof right, b));
        found->printed++;
    }
}

static void compare_text(differences *found, const char *what, const char *a, const char *b)
{
    if (strcmp(a, b) != 0) {
        differ(found, what, a[0] != '\0' ? a : "nothing", b[0] != '\0' ? b : "nothing");
    }
}

static void compare_count(differences *found, const char *what, uint64_t a, uint64_t b)
{
    char left[24];
    char right[24];
    snprintf(left, sizeof left, "%" PRIu64, a);
    snprintf(right, sizeof right, "%" PRIu64, b);
    compare_text(found, what, left, right);
}

static void describe_libraries(char *text, size_t size, const opd_bundle *bundle)
{
    text[0] = '\0';
    for (uint32_t i = 1; i <= opd_bundle_module_count(bundle); i++) {
        const opd_module *module = opd_bundle_module(bundle, i);
        size_t used = strlen(text);
        if (module != NULL && (module->core[0] != '\0' || module->config[0] != '\0')) {
            snprintf(text + used, size - used, "%s%s %s %s, %d thread%s", used > 0 ? "; " : "", module->path,
                     module->build_id, module->core, module->threads, opd_phrase_plural((uint64_t)module->threads));
        }
    }
}

static void compare_environments(differences *found, const opd_bundle *a, const opd_bundle *b)
{
    static const opd_environment_info nothing = { 0 };
    const opd_environment_info *left = opd_bundle_environment(a);
    const opd_environment_info *right = opd_bundle_environment(b);
    left = left != NULL ? left : &nothing;
    right = right != NULL ? right : &nothing;
    compare_text(found, "cpu", left->cpu_model, right->cpu_model);
    compare_text(found, "isa", left->isa, right->isa);
    compare_text(found, "kernel", left->kernel, right->kernel);
    compare_text(found, "libc", left->libc, right->libc);
    compare_text(found, "variables", left->variables, right->variables);
    compare_count(found, "mxcsr", left->mxcsr, right->mxcsr);
    char libraries[2][2048];
    describe_libraries(libraries[0], sizeof libraries[0], a);
    describe_libraries(libraries[1], sizeof libraries[1], b);
    compare_text(found, "libraries", libraries[0], libraries[1]);
    compare_text(found, "program", opd_bundle_header(a)->command, opd_bundle_header(b)->command);
}

static void compare_digest(differences *found, const char *call, const char *operand, const char *when,
                           const opd_digest *a, const opd_digest *b)
{
    char what[256];
    char left[OPD_DIGEST_TEXT];
    char right[OPD_DIGEST_TEXT];
    if (opd_digest_equal(a, b) || opd_digest_is_none(a) || opd_digest_is_none(b)) {
        return;
    }
    opd_digest_print(left, a);
    opd_digest_print(right, b);
    snprintf(what, sizeof what, "%s, %s %s", call, operand, when);
    differ(found, what, left, right);
}

static void compare_calls(differences *found, const opd_call *a, const opd_call *b, uint64_t position)
{
    char what[96];
    char left[512];
    char right[512];
    snprintf(what, sizeof what, "call %" PRIu64 " (%s)", position + 1, a->name);
    opd_call_describe(left, sizeof left, a);
    opd_call_describe(right, sizeof right, b);
    compare_text(found, what, left, right);
    if (a->mxcsr != 0 && b->mxcsr != 0) { /* both are known */
        snprintf(left, sizeof left, "mxcsr 0x%04x", a->mxcsr);
        snprintf(right, sizeof right, "mxcsr 0x%04x", b->mxcsr);
        compare_text(found, what, left, right);
    }
    for (int i = 0; i < a->operand_count && i < b->operand_count; i++) {
        const opd_operand *x = &a->operands[i];
        const opd_operand *y = &b->operands[i];
        if (strcmp(x->name, y->name) == 0) {
            compare_digest(found, what, x->name, "before", &x->before, &y->before);
            compare_digest(found, what, x->name, "after", &x->after, &y->after);
        }
    }
}

/* Calls are paired by position: two runs of one program give them in the same order per thread, and most have one. */
static opd_status compare_all_calls(differences *found, const opd_bundle *a, const opd_bundle *b)
{
    uint64_t left = opd_bundle_call_count(a);
    uint64_t right = opd_bundle_call_count(b);
    compare_count(found, "calls", left, right);
    for (uint64_t i = 0; i < left && i < right; i++) {
        opd_call x;
        opd_call y;
        opd_status status = opd_bundle_call(&x, a, i);
        if (status == OPD_OK) {
            status = opd_bundle_call(&y, b, i);
        }
        if (status != OPD_OK) {
            return status;
        }
        compare_calls(found, &x, &y, i);
    }
    return OPD_OK;
}

static void compare_failures(differences *found, const opd_bundle *a, const opd_bundle *b)
{
    uint32_t left = opd_bundle_failure_count(a);
    uint32_t right = opd_bundle_failure_count(b);
    compare_count(found, "failures", left, right);
    for (uint32_t i = 0; i < left && i < right; i++) {
        char words[2][512];
        opd_phrase_failure(words[0], sizeof words[0], opd_bundle_failure(a, i));
        opd_phrase_failure(words[1], sizeof words[1], opd_bundle_failure(b, i));
        compare_text(found, "failure", words[0], words[1]);
        compare_text(found, "label", opd_bundle_failure(a, i)->label, opd_bundle_failure(b, i)->label);
    }
}

static int report(differences *found)
{
    int exit_status = found->count > 0 ? OPD_EXIT_FOUND : OPD_EXIT_OK;
    if (found->options->shared.is_json) {
        json_t *document = json_object();
        opd_document_put(document, "differences", found->array);
        return opd_document_print(document, exit_status);
    }
    json_decref(found->array);
    if (found->options->shared.is_quiet) {
        return exit_status;
    }
    if (found->printed < found->count) {
        printf("%" PRIu64 " more; -v shows all\n", found->count - found->printed);
    }
    if (found->count == 0) {
        printf("no difference\n");
    } else if (opd_source_can_replay(found->options->paths[0]) && opd_source_can_replay(found->options->paths[1])) {
        char words[2][4096];
        opd_phrase_shell(words[0], sizeof words[0], found->options->paths[0]);
        opd_phrase_shell(words[1], sizeof words[1], found->options->paths[1]);
        opd_print_next("ops-debug replay %s; ops-debug replay %s", words[0], words[1]);
    }
    return exit_status;
}

static int run(const opd_command *self, int argc, char **argv)
{
    diff_options o = { 0 };
    opd_bundle *a = NULL;
    opd_bundle *b = NULL;
    opd_command_parse(self, &o.shared, argc, argv);
    differences found = { .options = &o, .array = json_array() };
    opd_status status = opd_source_open(&a, o.paths[0], &o.shared);
    if (status == OPD_OK) {
        status = opd_source_check_left(a);
    }
    if (status == OPD_OK) {
        status = opd_source_open(&b, o.paths[1], &o.shared);
    }
    if (status == OPD_OK) {
        status = opd_source_check_left(b);
    }
    if (status == OPD_OK) {
        compare_environments(&found, a, b);
        status = compare_all_calls(&found, a, b);
    }
    if (status == OPD_OK) {
        compare_failures(&found, a, b);
    }
    opd_bundle_close(a);
    opd_bundle_close(b);
    if (status != OPD_OK) {
        json_decref(found.array);
        return opd_trouble();
    }
    return report(&found);
}

const opd_command opd_command_diff = {
    .name = "diff",
    .synopsis = "A B",
    .summary = "Say what is different between two bundles",
    .details =
        "Environment first, then calls with the digests of their operands, then failures. Exit status 1: something is.",
    .examples = "  ops-debug diff good/run-4711.opsb bad/run-4712.opsb\n",
    .options = options,
    .parse = parse,
    .run = run,
};
