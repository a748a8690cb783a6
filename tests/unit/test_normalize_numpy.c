/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every variant and the definition of reductions and norms against numpy (normalize_numpy.py): shapes, special values, and errors
 * within the bound of the operators' contracts, all dtypes, also on memory that is not aligned.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#include "numpy_process.h"

enum { LIMIT = 16, LINE = 4 << 20 };

typedef struct values {
    opd_dtype dtype;
    int rank;
    int64_t shape[OPD_MAX_RANK];
    int64_t count;
    char **words; /* of the line */
    bool is_absent;
} values;

typedef struct fixture {
    char head[256], domain[64], name[64], attributes[128], wanted[64];
    values inputs[OPD_MAX_OPERANDS], outputs[OPD_MAX_OPERANDS];
    int input_count, output_count;
    char *lines[2 * OPD_MAX_OPERANDS];
    int line_count;
    long runs;
} fixture;

/* "in DTYPE SHAPE words...": the words point into the line, which the fixture keeps. */
static void parse_values(fixture *f, values *out, char *line, int per_element)
{
    memset(out, 0, sizeof *out);
    f->lines[f->line_count++] = line;
    char *rest = NULL;
    (void)strtok_r(line, " \n", &rest);
    char *dtype = strtok_r(NULL, " \n", &rest);
    assert_non_null(dtype);
    if (strcmp(dtype, "-") == 0) {
        out->is_absent = true;
        return;
    }
    out->dtype = opd_dtype_parse(dtype);
    char *shape = strtok_r(NULL, " \n", &rest);
    assert_non_null(shape);
    out->count = 1;
    for (char *at = shape; strcmp(shape, "()") != 0 && at != NULL;
         at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL) {
        out->shape[out->rank] = strtoll(at, NULL, 10);
        out->count *= out->shape[out->rank++];
    }
    assert_int_equal(opd_alloc_array((void **)&out->words, (size_t)(out->count * per_element), sizeof *out->words),
                     OPD_OK);
    for (int64_t i = 0; i < out->count * per_element; i++) {
        out->words[i] = strtok_r(NULL, " \n", &rest);
        assert_non_null(out->words[i]);
    }
}

static void store_word(opd_dtype dtype, void *at, const char *word)
{
    if (opd_dtype_is_float(dtype)) {
        opd_element_store(dtype, at, strtod(word, NULL), 0.0);
        return;
    }
    uint64_t bits = word[0] == '-' ? (uint64_t)strtoll(word, NULL, 0) : strtoull(word, NULL, 0);
    memcpy(at, &bits, opd_dtype_size(dtype));
}

/* Units in the last place of value in the dtype, and its smallest number. */
static double ulp_of(opd_dtype dtype, double value)
{
    double epsilon = opd_dtype_epsilon(dtype);
    int least = dtype == OPD_F64 ? -1022 : dtype == OPD_F16 ? -14 : -126;
    int exponent = ilogb(value);
    exponent = value == 0.0 || exponent < least ? least : exponent;
    return ldexp(epsilon, exponent);
}

static bool is_close(opd_dtype dtype, const void *at, const char *value, const char *gauge)
{
    if (!opd_dtype_is_float(dtype)) {
        uint64_t bits = 0;
        store_word(dtype, &bits, value);
        return memcmp(at, &bits, opd_dtype_size(dtype)) == 0;
    }
    double y;
    double im;
    double want = strtod(value, NULL);
    double reach = strtod(gauge, NULL);
    opd_element_load(dtype, at, &y, &im);
    double narrow;
    uint64_t bits = 0;
    opd_element_store(dtype, &bits, want, 0.0);
    opd_element_load(dtype, &bits, &narrow, &im);
    if (isnan(narrow) || isinf(narrow)) {
        return isnan(narrow) ? isnan(y) : y == narrow;
    }
    double accumulator = dtype == OPD_F64 ? 0x1p-52 : 0x1p-23;
    double ulp = ulp_of(dtype, want);
    double smallest = dtype == OPD_F64    ? 0x1p-1074
                      : dtype == OPD_F16  ? 0x1p-24
                      : dtype == OPD_BF16 ? 0x1p-133
                                          : 0x1p-149;
    double allowed = reach == 0.0 ? 0.5 * ulp : 0.5 * ulp + smallest + LIMIT * accumulator * reach;
    return fabs(y - want) <= allowed;
}

static void check_output(const fixture *f, const opd_operand *output, const values *want, const char *variant)
{
    const opd_tensor *view = &output->view;
    if (view->dtype != want->dtype || view->rank != want->rank ||
        memcmp(view->shape, want->shape, (size_t)want->rank * sizeof want->shape[0]) != 0) {
        char text[128];
        opd_tensor_describe(text, sizeof text, view);
        fail_msg("%s %s: the output is %s", f->head, variant, text);
    }
    for (int64_t i = 0; i < want->count; i++) {
        const uint8_t *at = (const uint8_t *)view->data + i * (int64_t)opd_dtype_size(view->dtype);
        if (!is_close(view->dtype, at, want->words[2 * i], want->words[2 * i + 1])) {
            double re;
            double im;
            opd_element_load(view->dtype, at, &re, &im);
            char text[128];
            opd_tensor_describe(text, sizeof text, view);
            fail_msg("%s %s: [%lld] of %s %s is %.17g, not %.17g (gauge %g)", f->head, variant, (long long)i,
                     output->name, text, re, strtod(want->words[2 * i], NULL), strtod(want->words[2 * i + 1], NULL));
        }
    }
}

/* Memory of the operands of one role, beginning `shift` elements behind an aligned address. */
static void give_memory(void **blocks, const fixture *f, opd_call *call, opd_role role, int shift)
{
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        if (operand->role != role || (operand->flags & OPD_OPERAND_ABSENT) != 0) {
            continue;
        }
        size_t size = opd_dtype_size(operand->view.dtype);
        size_t bytes = (size_t)opd_tensor_count(&operand->view) * size;
        assert_int_equal(opd_alloc(&blocks[i], bytes + 8 * size + 64), OPD_OK);
        operand->view.data = (uint8_t *)blocks[i] + ((64 - (uintptr_t)blocks[i] % 64) % 64) + (size_t)shift * size;
        memset(operand->view.data, 0xff, bytes);
        for (int64_t e = 0; i < f->input_count && e < f->inputs[i].count; e++) {
            store_word(operand->view.dtype, (uint8_t *)operand->view.data + e * (int64_t)size, f->inputs[i].words[e]);
        }
    }
}

static void run_variant(fixture *f, const opd_call *made, const opd_variant *variant, int shift)
{
    opd_call call = *made;
    void *blocks[OPD_MAX_OPERANDS] = { NULL };
    give_memory(blocks, f, &call, OPD_ROLE_IN, shift);
    if (opd_call_bind(&call) != OPD_OK) { /* shapes of outputs may depend on what inputs hold */
        fail_msg("%s: %s", f->head, opd_error_text());
    }
    give_memory(blocks, f, &call, OPD_ROLE_OUT, shift);
    if (variant->declines == NULL || variant->declines(&call) == NULL) {
        if (opd_variant_run(variant, &call, NULL) != OPD_OK) {
            fail_msg("%s %s: %s", f->head, variant->name, opd_error_text());
        }
        int to = 0;
        for (int i = 0; i < call.operand_count; i++) {
            bool is_output =
                call.operands[i].role == OPD_ROLE_OUT && (call.operands[i].flags & OPD_OPERAND_ABSENT) == 0;
            if (is_output && to < f->output_count) {
                check_output(f, &call.operands[i], &f->outputs[to++], variant->name);
            }
        }
        assert_int_equal(to, f->output_count);
        f->runs++;
    }
    for (int i = 0; i < call.operand_count; i++) {
        opd_free(blocks[i]);
    }
}

static void shapes_of(char *text, size_t size, const fixture *f)
{
    size_t at = 0;
    text[0] = '\0';
    for (int i = 0; i < f->input_count; i++) {
        const values *in = &f->inputs[i];
        at += (size_t)snprintf(text + at, size - at, "%s%s", i > 0 ? ";" : "",
                               in->is_absent ? "-" : opd_dtype_name(in->dtype));
        for (int d = 0; d < in->rank && !in->is_absent; d++) {
            at += (size_t)snprintf(text + at, size - at, "%s%lld", d == 0 ? "[" : ",", (long long)in->shape[d]);
        }
        at += (size_t)snprintf(text + at, size - at, "%s", in->is_absent ? "" : in->rank == 0 ? "[]" : "]");
    }
}

static bool is_too_large(const opd_call *call)
{
    return opd_tensor_count(&call->operands[0].view) > 1000;
}

static void run_case(fixture *f)
{
    const opd_op *op = opd_op_find(f->domain, f->name);
    const opd_kernel *kernel = opd_kernel_find(f->domain, f->name);
    assert_non_null(op);
    assert_non_null(kernel);
    char shapes[512];
    opd_call call;
    shapes_of(shapes, sizeof shapes, f);
    opd_call_wish wish = { .dtype = f->inputs[0].dtype, .shapes = shapes };
    wish.attributes = strcmp(f->attributes, "-") != 0 ? f->attributes : NULL;
    wish.outputs = strcmp(f->wanted, "-") != 0 ? f->wanted : NULL;
    if (opd_call_make(&call, op, &wish) != OPD_OK) {
        fail_msg("%s: %s", f->head, opd_error_text());
    }
    const opd_variant *variant = NULL;
    long before = f->runs;
    for (int i = 0; (variant = opd_kernel_variant(kernel, i)) != NULL; i++) {
        /* The naive variant is exact only as far as its own serial sums: this file holds the wide one to the bound. */
        if (!opd_variant_is_choice(variant) || strcmp(variant->name, "naive") == 0 ||
            opd_isa_missing(variant->isa) != NULL) {
            continue;
        }
        run_variant(f, &call, variant, 0);
        if (!is_too_large(&call)) {
            run_variant(f, &call, variant, 3);
        }
    }
    assert_true(f->runs > before);
}

static void forget_case(fixture *f)
{
    for (int i = 0; i < f->input_count; i++) {
        opd_free(f->inputs[i].words);
    }
    for (int i = 0; i < f->output_count; i++) {
        opd_free(f->outputs[i].words);
    }
    for (int i = 0; i < f->line_count; i++) {
        free(f->lines[i]); /* NOLINT: getline's */
    }
    f->input_count = 0;
    f->output_count = 0;
    f->line_count = 0;
}

static void run_part(const char *part, int least_cases)
{
    if (!numpy_is_here()) {
        skip();
    }
    fixture f = { .runs = 0 };
    int cases = 0;
    char *line = NULL;
    size_t room = 0;
    FILE *from = numpy_run(part, NULL);
    assert_non_null(from);
    while (getline(&line, &room, from) > 0) {
        bool is_input = strncmp(line, "in ", 3) == 0;
        if (strncmp(line, "case ", 5) == 0) {
            (void)snprintf(f.head, sizeof f.head, "%.*s", (int)strcspn(line, "\n"), line);
            assert_int_equal(sscanf(line, "case %63s %63s %127s %63s", f.domain, f.name, f.attributes, f.wanted), 4);
        } else if (is_input || strncmp(line, "out ", 4) == 0) {
            values *into = is_input ? &f.inputs[f.input_count++] : &f.outputs[f.output_count++];
            parse_values(&f, into, line, is_input ? 1 : 2);
            line = NULL;
            room = 0;
        } else {
            run_case(&f);
            forget_case(&f);
            cases++;
        }
    }
    free(line); /* NOLINT: getline's */
    assert_int_equal(pclose(from), 0);
    assert_true(cases >= least_cases);
}

static void test_reductions(void **state)
{
    (void)state;
    run_part("reductions", 1000);
}

static void test_positions(void **state)
{
    (void)state;
    run_part("positions", 1000);
}

static void test_running_sums(void **state)
{
    (void)state;
    run_part("running_sums", 190);
}

static void test_softmax_and_lp(void **state)
{
    (void)state;
    run_part("softmaxes", 590);
}

static void test_layer_norms(void **state)
{
    (void)state;
    run_part("layer_norms", 700);
}

static void test_norms_by_channel(void **state)
{
    (void)state;
    run_part("channel_norms", 200);
}

static void test_window_norm(void **state)
{
    (void)state;
    run_part("windows", 60);
}

static void test_onnx_node_tests(void **state)
{
    (void)state;
    if (access("/usr/share/libonnx-testdata/data/node", R_OK) != 0) {
        skip(); /* Debian's libonnx-testdata */
    }
    run_part("onnx", 120);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reductions),   cmocka_unit_test(test_positions),
        cmocka_unit_test(test_running_sums), cmocka_unit_test(test_softmax_and_lp),
        cmocka_unit_test(test_layer_norms),  cmocka_unit_test(test_norms_by_channel),
        cmocka_unit_test(test_window_norm),  cmocka_unit_test(test_onnx_node_tests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
