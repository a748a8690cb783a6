/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug import: what other tools keep of one operator's call becomes a bundle. So far: ONNX's tests.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <opsdebug/bundle.h>

#include "document.h"
#include "onnx_tests.h"
#include "phrases.h"
#include "screen.h"

typedef struct import_options {
    opd_shared shared;
    const char *words[2]; /* format, path */
    int word_count;
    const char *out;
} import_options;

static const struct argp_option options[] = {
    { "output", 'o', "OUT", 0, "The bundle, or of several tests the folder of the bundles; default: NAME" OPD_SUFFIX,
      0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    import_options *o = state->input;
    switch (key) {
    case 'o':
        o->out = arg;
        return 0;
    case ARGP_KEY_ARG:
        if (o->word_count == (int)OPD_COUNT(o->words)) {
            opd_usage_error(state, "one argument too many: %s", arg);
        }
        o->words[o->word_count++] = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->word_count > 0 && strcmp(o->words[0], "onnx") != 0) {
            opd_usage_error(state, "format %s: onnx is known", o->words[0]);
        }
        if (o->word_count < 2) {
            opd_usage_error(state, "say what to import: onnx, then a test folder, a tree of them, or a model");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* What became of a test. */
typedef struct outcome {
    char bundle[4096]; /* "" = left out */
    char reason[512];
    bool is_trouble; /* a file is damaged or cannot be read or written: not that the operator is none of ours */
} outcome;

typedef struct import_list {
    opd_onnx_tests tests;
    outcome *outcomes;
    size_t imported, troubles;
} import_list;

static bool is_bundle_name(const char *path)
{
    size_t length = strlen(path);
    return length > strlen(OPD_SUFFIX) && strcmp(path + length - strlen(OPD_SUFFIX), OPD_SUFFIX) == 0;
}

/* -o of several tests is a folder, made when it is not there. */
static opd_status prepare_output(const import_options *o, size_t tests, bool *is_folder, bool *is_made)
{
    if (o->out != NULL && o->out[0] == '\0') {
        return opd_fail(OPD_E_INVALID, "-o: the name is empty");
    }
    *is_folder = o->out != NULL && (tests > 1 || !is_bundle_name(o->out));
    if (tests > 1 && o->out == NULL) {
        return opd_fail(OPD_E_INVALID, "%s: %zu tests; name a folder for their bundles with -o", o->words[1], tests);
    }
    *is_made = *is_folder && mkdir(o->out, 0777) == 0;
    if (*is_folder && !*is_made && (errno != EEXIST || !opd_path_is_directory(o->out))) {
        return opd_fail(OPD_E_IO, "-o %s: %s", o->out, errno == EEXIST ? "is no folder" : strerror(errno));
    }
    return OPD_OK;
}

/* The same file of an earlier test of this run? */
static bool is_taken(const import_list *list, size_t count, const char *path)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(list->outcomes[i].bundle, path) == 0) {
            return true;
        }
    }
    return false;
}

static void import_one(import_list *list, size_t index, const import_options *o, bool is_folder)
{
    const opd_onnx_test *test = &list->tests.items[index];
    outcome *to = &list->outcomes[index];
    char path[sizeof to->bundle];
    int length = is_folder        ? snprintf(path, sizeof path, "%s/%s%s", o->out, test->name, OPD_SUFFIX)
                 : o->out != NULL ? snprintf(path, sizeof path, "%s", o->out)
                                  : snprintf(path, sizeof path, "%s%s", test->name, OPD_SUFFIX);
    opd_status status = length < (int)sizeof path ? OPD_OK : opd_fail(OPD_E_LIMIT, "-o: path too long");
    if (status == OPD_OK && is_taken(list, index, path)) {
        status = opd_fail(OPD_E_IO, "%s is the bundle of another test of this name", path);
    }
    if (status == OPD_OK) {
        status = opd_output_check("-o", path, test->model, OPD_OUTPUT_BUNDLE);
    }
    if (status == OPD_OK) {
        status = opd_onnx_test_import(test, path);
    }
    if (status == OPD_OK) {
        snprintf(to->bundle, sizeof to->bundle, "%s", path);
        list->imported++;
        return;
    }
    snprintf(to->reason, sizeof to->reason, "%s", opd_error_text());
    to->is_trouble = status == OPD_E_IO || status == OPD_E_FORMAT || status == OPD_E_NOMEM;
    list->troubles += to->is_trouble;
}

static int exit_status_of(const import_list *list)
{
    return list->troubles > 0 || list->imported == 0 ? OPD_EXIT_TROUBLE : OPD_EXIT_OK;
}

/* The reason without the test's own path, and when short without its particulars. */
static void shorten(char *text, size_t size, const import_list *list, size_t index, bool is_long)
{
    const opd_onnx_test *test = &list->tests.items[index];
    const char *reason = list->outcomes[index].reason;
    size_t model = strlen(test->model);
    size_t data = strlen(test->data);
    if (strncmp(reason, test->model, model) == 0 && reason[model] == ':') {
        reason += model + 2;
    } else if (strncmp(reason, test->data, data) == 0 && reason[data] == '/') {
        const char *colon = strchr(reason + data, ':');
        reason = is_long || colon == NULL ? reason + data + 1 : colon + 2;
    }
    const char *particulars = is_long ? NULL : strstr(reason, " (");
    snprintf(text, size, "%.*s", particulars != NULL ? (int)(particulars - reason) : (int)strlen(reason), reason);
}

/* Reasons of what was left out, each once, with their number. */
static opd_status print_reasons(const import_list *list, bool is_long)
{
    static const char *const titles[] = { ">TESTS", "FIRST", "LEFT OUT BECAUSE" };
    opd_table *table = NULL;
    opd_status status = opd_table_new(&table, titles, OPD_COUNT(titles));
    for (size_t i = 0; i < list->tests.count && status == OPD_OK; i++) {
        char reason[sizeof list->outcomes[0].reason];
        char other[sizeof reason];
        size_t count = 0;
        bool is_first = list->outcomes[i].reason[0] != '\0';
        shorten(reason, sizeof reason, list, i, is_long);
        for (size_t k = 0; k < list->tests.count && is_first && !is_long; k++) {
            shorten(other, sizeof other, list, k, is_long);
            bool is_same = strcmp(other, reason) == 0;
            is_first = !is_same || k >= i;
            count += is_same;
        }
        if (is_first) {
            opd_table_row(table);
            opd_table_cell(table, 0, "%zu", is_long ? 1 : count);
            opd_table_cell(table, 1, "%s", list->tests.items[i].name);
            opd_table_cell(table, 2, "%s", reason);
        }
    }
    return status == OPD_OK ? opd_table_print(table) : status;
}

static int print_document(const import_list *list)
{
    json_t *document = json_object();
    json_t *tests = json_array();
    int exit_status = exit_status_of(list);
    for (size_t i = 0; i < list->tests.count; i++) {
        const outcome *result = &list->outcomes[i];
        json_t *object = json_object();
        opd_document_put(object, "name", opd_document_text(list->tests.items[i].name));
        opd_document_put(object, "model", opd_document_text(list->tests.items[i].model));
        if (result->bundle[0] != '\0') {
            opd_document_put(object, "bundle", opd_document_text(result->bundle));
        } else {
            opd_document_put(object, "error", opd_document_text(result->reason));
            opd_document_put(object, "unreadable", json_boolean(result->is_trouble));
        }
        json_array_append_new(tests, object);
    }
    opd_document_put(document, "tests", tests);
    opd_document_put(document, "imported", opd_document_count(list->imported));
    opd_document_put(document, "left_out", opd_document_count(list->tests.count - list->imported));
    opd_document_put(document, "exit_status", json_integer(exit_status));
    return opd_document_print(document, exit_status);
}

static int report(const import_list *list, const import_options *o)
{
    char word[4096];
    bool is_one = list->tests.count == 1;
    int exit_status = exit_status_of(list);
    if (o->shared.is_json) {
        return print_document(list);
    }
    if (is_one && list->outcomes[0].bundle[0] == '\0') {
        fprintf(stderr, "ops-debug: %s\n", list->outcomes[0].reason);
        return exit_status;
    }
    for (size_t i = 0; i < list->tests.count; i++) {
        if (list->outcomes[i].is_trouble) {
            fprintf(stderr, "ops-debug: %s: %s\n", list->tests.items[i].name, list->outcomes[i].reason);
        }
    }
    if (o->shared.is_quiet) {
        return exit_status;
    }
    if (list->imported < list->tests.count && print_reasons(list, o->shared.verbosity > 0) != OPD_OK) {
        return opd_trouble();
    }
    if (is_one) {
        printf("%s: %s\n", list->outcomes[0].bundle, list->tests.items[0].name);
    } else {
        printf("%zu of %zu tests imported into %s, %zu left out\n", list->imported, list->tests.count, o->out,
               list->tests.count - list->imported);
    }
    if (list->imported > 0) {
        opd_phrase_shell(word, sizeof word, is_one ? list->outcomes[0].bundle : o->out);
        opd_print_next("ops-debug replay %s", word);
    }
    return exit_status;
}

static int run(const opd_command *self, int argc, char **argv)
{
    import_options o = { .out = NULL };
    import_list list = { .imported = 0 };
    bool is_folder = false;
    bool is_made = false;
    int exit_status = OPD_EXIT_TROUBLE;
    opd_command_parse(self, &o.shared, argc, argv);
    opd_status status = opd_onnx_tests_find(&list.tests, o.words[1]);
    if (status == OPD_OK) {
        status = prepare_output(&o, list.tests.count, &is_folder, &is_made);
    }
    if (status == OPD_OK) {
        status = opd_alloc_array((void **)&list.outcomes, list.tests.count, sizeof *list.outcomes);
    }
    if (status == OPD_OK) {
        for (size_t i = 0; i < list.tests.count; i++) {
            import_one(&list, i, &o, is_folder);
        }
        exit_status = report(&list, &o);
        if (is_made && list.imported == 0) {
            (void)rmdir(o.out); /* nothing is in it, or else it stays */
        }
    } else {
        opd_trouble();
    }
    opd_free(list.outcomes);
    opd_onnx_tests_done(&list.tests);
    return exit_status;
}

const opd_command opd_command_import = {
    .name = "import",
    .synopsis = "onnx DIR|MODEL [-o OUT]",
    .summary = "Make bundles of ONNX's tests of one operator, expected outputs included",
    .details =
        "DIR holds model.onnx and test_data_set_N/input_K.pb, output_K.pb, or is a tree of such folders; of a model\n"
        "file, the .pb files stand beside it. Forms of older operator sets become those of the contract. What cannot\n"
        "be imported is left out and named with its reason; status 3 when nothing is left, or a file is damaged.\n"
        "The expected outputs are of unknown making (GOLDEN): replay compares with them, and its own reference decides.",
    .examples = "  ops-debug import onnx /usr/share/libonnx-testdata/data/node/test_softmax_axis_0 -o softmax.opsb\n"
                "  ops-debug import onnx /usr/share/libonnx-testdata/data/node -o node/\n"
                "  ops-debug replay node/ -j 2\n",
    .options = options,
    .parse = parse,
    .run = run,
};
