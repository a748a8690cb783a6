/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds ONNX tests below a path and turns one into a bundle.
 */
#include "onnx_tests.h"

#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <opsdebug/onnx.h>
#include <opsdebug/replay.h>

#include "source.h"

#define MODEL_SUFFIX ".onnx"
#define MODEL_NAME   "model" MODEL_SUFFIX
#define PAGE         ((uint64_t)4096)

static bool is_model(const char *name)
{
    size_t length = strlen(name);
    size_t suffix = strlen(MODEL_SUFFIX);
    return length > suffix && strcmp(name + length - suffix, MODEL_SUFFIX) == 0;
}

/* "node-test_abs" of ROOT/node/test_abs/model.onnx; of a root that is the test itself its own name. */
static void name_test(char *name, size_t size, const char *model, const char *root)
{
    const char *rest = model;
    size_t length = strlen(root);
    if (strncmp(model, root, length) == 0) {
        rest = model + length;
        rest += strspn(rest, "/");
    }
    char text[4096];
    char whole[4096];
    snprintf(text, sizeof text, "%s", rest[0] != '\0' ? rest : model);
    char *end = strrchr(text, '/');
    const char *last = end != NULL ? end + 1 : text;
    if (strcmp(last, MODEL_NAME) == 0 && end != NULL) {
        *end = '\0';
    } else if (strcmp(last, MODEL_NAME) == 0) { /* the folder's name says what it is */
        snprintf(whole, sizeof whole, "%.*s", (int)(strlen(model) - strlen(MODEL_NAME)), model);
        char *full = realpath(whole[0] != '\0' ? whole : ".", text);
        const char *base = full != NULL ? strrchr(full, '/') : NULL;
        snprintf(name, size, "%s", base != NULL && base[1] != '\0' ? base + 1 : "model");
        return;
    } else if (is_model(last)) {
        text[strlen(text) - strlen(MODEL_SUFFIX)] = '\0';
    }
    snprintf(name, size, "%s", text[0] == '/' ? strrchr(text, '/') + 1 : text);
    for (char *at = name; *at != '\0'; at++) {
        *at = *at == '/' ? '-' : *at;
    }
}

static opd_status add_test(opd_onnx_tests *tests, const char *model, const char *root)
{
    const char *slash = strrchr(model, '/');
    int length = slash != NULL ? (int)(slash - model) : 0;
    for (int set = 0;; set++) {
        opd_status status = opd_grow((void **)&tests->items, tests->count + 1, sizeof *tests->items);
        if (status != OPD_OK) {
            return status;
        }
        opd_onnx_test *test = &tests->items[tests->count];
        *test = (opd_onnx_test){ .name = "" };
        name_test(test->name, sizeof test->name, model, root);
        int used = snprintf(test->model, sizeof test->model, "%s", model);
        int wide = snprintf(test->data, sizeof test->data, "%.*s%s/test_data_set_%d", length, model,
                            slash != NULL ? "" : ".", set);
        if (used >= (int)sizeof test->model || wide >= (int)sizeof test->data) {
            return opd_fail(OPD_E_LIMIT, "%s: path too long", model);
        }
        if (!opd_path_is_directory(test->data)) {
            if (set > 0) {
                return OPD_OK;
            }
            *strrchr(test->data, '/') = '\0'; /* the data stand beside the model */
            tests->count++;
            return OPD_OK;
        }
        size_t end = strlen(test->name);
        if (set > 0) {
            snprintf(test->name + end, sizeof test->name - end, "-%d", set);
        }
        tests->count++;
    }
}

static int compare_entries(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

opd_status opd_onnx_tests_find(opd_onnx_tests *tests, const char *path)
{
    char root[4096];
    char *const roots[] = { root, NULL };
    opd_status status = OPD_OK;
    *tests = (opd_onnx_tests){ .items = NULL };
    if (snprintf(root, sizeof root, "%s", path) >= (int)sizeof root) {
        return opd_fail(OPD_E_LIMIT, "%.64s...: path too long", path);
    }
    if (access(root, R_OK) != 0) {
        return opd_fail(OPD_E_IO, "%s: %s", path, strerror(errno));
    }
    if (!opd_path_is_directory(root)) {
        char *slash = strrchr(root, '/');
        root[slash != NULL ? slash - root : 0] = '\0';
        return add_test(tests, path, root);
    }
    FTS *tree = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, compare_entries);
    if (tree == NULL) {
        return opd_fail(OPD_E_IO, "%s: %s", path, strerror(errno));
    }
    for (const FTSENT *entry = fts_read(tree); entry != NULL && status == OPD_OK; entry = fts_read(tree)) {
        if (entry->fts_info == FTS_F && is_model(entry->fts_name)) {
            status = add_test(tests, entry->fts_path, root);
        }
    }
    (void)fts_close(tree);
    if (status == OPD_OK && tests->count == 0) {
        status = opd_fail(OPD_E_NOTFOUND, "%s: no ONNX model (*" MODEL_SUFFIX ") in it or below it", path);
    }
    return status;
}

void opd_onnx_tests_done(opd_onnx_tests *tests)
{
    opd_free(tests->items);
    *tests = (opd_onnx_tests){ .items = NULL };
}

/* ------------------------------------------------------------------------------------------------- one of them */

typedef struct loaded {
    opd_onnx_model *model;
    opd_onnx_tensor inputs[OPD_ONNX_EDGES], outputs[OPD_ONNX_EDGES];
    int input_count, output_count;
    opd_onnx_example *example;
} loaded;

/* KIND_0.pb, KIND_1.pb, ... as many as there are. */
static opd_status load_tensors(opd_onnx_tensor *tensors, int *count, const char *folder, const char *kind)
{
    for (*count = 0;; (*count)++) {
        char path[4200];
        snprintf(path, sizeof path, "%s/%s_%d.pb", folder, kind, *count);
        if (access(path, F_OK) != 0) {
            return OPD_OK;
        }
        if (*count == OPD_ONNX_EDGES) {
            return opd_fail(OPD_E_LIMIT, "%s: more than %d files %s_N.pb", folder, OPD_ONNX_EDGES, kind);
        }
        opd_status status = opd_onnx_tensor_open(&tensors[*count], path);
        if (status != OPD_OK) {
            return status;
        }
    }
}

static opd_status load(loaded *out, const opd_onnx_test *test)
{
    opd_status status = opd_onnx_model_open(&out->model, test->model);
    status = status == OPD_OK ? opd_onnx_model_check(out->model) : status;
    if (status == OPD_OK) {
        status = load_tensors(out->inputs, &out->input_count, test->data, "input");
    }
    if (status == OPD_OK) {
        status = load_tensors(out->outputs, &out->output_count, test->data, "output");
    }
    if (status == OPD_OK) {
        status = opd_onnx_example_make(&out->example, out->model, out->inputs, out->input_count, out->outputs,
                                       out->output_count);
    }
    return status;
}

static void unload(loaded *item)
{
    opd_onnx_example_free(item->example);
    opd_onnx_model_close(item->model);
    for (int i = 0; i < OPD_ONNX_EDGES; i++) {
        opd_onnx_tensor_done(&item->inputs[i]);
        opd_onnx_tensor_done(&item->outputs[i]);
    }
}

/* Expected outputs are what the call left; places do not depend on where this process has its memory. */
static opd_status write_call(opd_writer *writer, opd_call *call, bool *is_golden)
{
    opd_status status = OPD_OK;
    uint64_t address = PAGE;
    *is_golden = false;
    call->number = 1;
    call->pid = (uint32_t)getpid();
    call->thread = call->pid;
    for (int i = 0; i < call->operand_count && status == OPD_OK; i++) {
        opd_operand *operand = &call->operands[i];
        if ((operand->flags & OPD_OPERAND_ABSENT) != 0) {
            continue;
        }
        if (operand->role == OPD_ROLE_OUT && operand->view.data != NULL) {
            operand->after = opd_tensor_digest(&operand->view);
            status = opd_writer_tensor(writer, &operand->after, &operand->view, operand->view.data);
            *is_golden = true;
            operand->view.data = NULL;
        }
        operand->address = address;
        address += (opd_tensor_packed_bytes(&operand->view) / PAGE + 2) * PAGE;
    }
    return status == OPD_OK ? opd_writer_call_with_data(writer, call) : status;
}

static opd_status write_parts(opd_writer *writer, loaded *item, const opd_onnx_test *test)
{
    opd_environment_info environment;
    bool is_golden = false;
    opd_call *call = &item->example->call;
    opd_status status = opd_environment_read(&environment);
    if (status == OPD_OK) {
        status = opd_writer_environment(writer, &environment);
    }
    if (status == OPD_OK) {
        status = write_call(writer, call, &is_golden);
    }
    if (status == OPD_OK && is_golden) {
        opd_event event = { .kind = OPD_EVENT_GOLDEN, .thread = call->thread, .value = (int64_t)call->number };
        snprintf(event.name, sizeof event.name, "%.60s, operator set %lld", test->name, (long long)item->model->opset);
        status = opd_writer_event(writer, &event);
    }
    return status;
}

opd_status opd_onnx_test_import(const opd_onnx_test *test, const char *path)
{
    struct timespec now;
    opd_writer *writer = NULL;
    opd_header_info header = { .pid = (uint32_t)getpid(), .kind = "api", .capture = "full" };
    loaded *item = NULL;
    opd_status status = opd_alloc((void **)&item, sizeof *item);
    if (status != OPD_OK) {
        return status;
    }
    status = load(item, test);
    if (status == OPD_OK) {
        clock_gettime(CLOCK_REALTIME, &now);
        header.created_realtime_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
        snprintf(header.producer, sizeof header.producer, "ops-debug %s", OPD_VERSION);
        snprintf(header.program, sizeof header.program, "%.255s", test->name);
        status = opd_writer_open(&writer, path, &header);
    }
    if (status == OPD_OK) {
        status = write_parts(writer, item, test);
        if (status == OPD_OK) {
            status = opd_writer_close(writer);
        } else {
            opd_writer_abandon(writer, false);
        }
    }
    unload(item);
    opd_free(item);
    return status;
}
