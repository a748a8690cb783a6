/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every elementwise operator, dtype and variant against elementwise_numpy.py, which knows the operators by itself: special values,
 * broadcasting, empty and scalar operands, strided views. The results go to one file, which the script judges.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>
#include <opsdebug/random.h>

#include "numpy_process.h"

#define OPERAND_BYTES ((size_t)1 << 17)

static const char *const fills[] = { "normal:0:2", "special", "longtail:1:3", "integers:-9:9", "normal:0:40" };
static const opd_dtype dtypes[] = {
#define OPD_X(name, number, size, part, text) OPD_##name,
    OPD_DTYPE_LIST(OPD_X)
#undef OPD_X
};

/* What is asked of an operator with so many inputs (0: any number). */
static const struct shape_case {
    int inputs;
    const char *shapes;
    bool is_strided;
} shape_cases[] = {
    { 1, "[]", false },
    { 1, "[0]", false },
    { 1, "[1]", false },
    { 1, "[1100]", false },
    { 1, "[7,5,9]", true },
    { 2, "[];[]", false },
    { 2, "[2,550];[2,550]", false },
    { 2, "[4,1,6];[5,1]", false },
    { 2, "[1,3];[700,1]", false },
    { 2, "[2,1100];[1100]", false },
    { 2, "[3,0,2];[1,2]", false },
    { 2, "[];[2,3]", false },
    { 2, "[6,5,4];[5,4]", true },
    { 3, "[2,700];[];[]", false },
    { 3, "[0];[];[]", false },
    { 3, "[5,3];[];[]", true },
    { 0, "[9]", false },
    { 0, "[2,700];[700];[2,1];[]", false },
    { 0, "[3,5];[3,5]", true },
    { 0, "[0,3];[3]", false },
};

struct trial {
    uint8_t *memory[OPD_MAX_OPERANDS];
    FILE *file;
    int64_t results; /* elements written, which the script must have judged */
    int calls;
};

static void *operand_memory(struct trial *trial, int index)
{
    if (trial->memory[index] == NULL) {
        trial->memory[index] = malloc(OPERAND_BYTES);
        assert_non_null(trial->memory[index]);
    }
    return trial->memory[index];
}

/* Every other element, the dimensions in the opposite order. */
static void make_strided(opd_tensor *view)
{
    int64_t step = 2;
    for (int d = 0; d < view->rank; d++) {
        view->stride[d] = step;
        step *= view->shape[d];
    }
}

static void place(struct trial *trial, opd_call *call, bool is_strided, opd_role role)
{
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        if (operand->role != role || (operand->flags & OPD_OPERAND_ABSENT) != 0) {
            continue;
        }
        if (is_strided) {
            make_strided(&operand->view);
        }
        assert_true((size_t)opd_tensor_count(&operand->view) * opd_dtype_size(operand->view.dtype) * 2 <=
                    OPERAND_BYTES);
        operand->view.data = operand_memory(trial, i);
        if (role == OPD_ROLE_OUT) {
            memset(operand->view.data, 0xa5, OPERAND_BYTES);
        }
    }
}

static void write_shape(FILE *file, const opd_tensor *view)
{
    int64_t count = opd_tensor_count(view);
    fprintf(file, "\"dtype\":\"%s\",\"bytes\":%lld,\"shape\":[", opd_dtype_name(view->dtype),
            (long long)(count * (int64_t)opd_dtype_size(view->dtype)));
    for (int d = 0; d < view->rank; d++) {
        fprintf(file, "%s%lld", d > 0 ? "," : "", (long long)view->shape[d]);
    }
    fprintf(file, "]");
}

static void copy_elements(uint8_t *to, const opd_tensor *view)
{
    size_t size = opd_dtype_size(view->dtype);
    int64_t count = opd_tensor_count(view);
    for (int64_t flat = 0; flat < count; flat++) {
        int64_t index[OPD_MAX_RANK];
        opd_tensor_unflatten(view, flat, index);
        memcpy(to + (size_t)flat * size, (const uint8_t *)view->data + opd_tensor_offset(view, index), size);
    }
}

static const char *kind_of(const opd_op *op)
{
    return op->bound.kind == OPD_BOUND_GAUGE ? "gauge" : op->bound.kind == OPD_BOUND_BITS ? "bits" : "ulp";
}

/* Cast is a move, except that it rounds once to a shorter float. */
static double limit_of(const opd_op *op, opd_dtype dtype)
{
    bool is_narrow = dtype == OPD_F16 || dtype == OPD_BF16;
    double bits = strcmp(op->name, "Cast") == 0 ? 0.5 : 0.0;
    return op->bound.kind == OPD_BOUND_GAUGE  ? 16.0
           : op->bound.kind == OPD_BOUND_BITS ? bits
           : is_narrow                        ? (double)op->bound.narrow_limit
                                              : (double)op->bound.limit;
}

/* Runs all variants that can, and writes what went in and came out. */
static void run_variants(struct trial *trial, const opd_kernel *kernel, opd_call *call)
{
    uint8_t *results = malloc(OPERAND_BYTES * 8);
    const opd_operand *output = &call->operands[call->operand_count - 1];
    size_t bytes = (size_t)opd_tensor_count(&output->view) * opd_dtype_size(output->view.dtype);
    const opd_variant *variant = NULL;
    int count = 0;
    fprintf(trial->file,
            "{\"op\":\"%s\",\"kind\":\"%s\",\"limit\":%.9g,\"alpha\":%.17g,\"approximate\":\"%s\",\"to\":%lld",
            call->name, kind_of(call->op), limit_of(call->op, output->view.dtype), opd_call_real(call, "alpha", 0.01),
            opd_call_text(call, "approximate", "none"), (long long)opd_call_int(call, "to", 0));
    fprintf(trial->file, ",\"outputs\":[");
    for (int i = 0; (variant = opd_kernel_variant(kernel, i)) != NULL; i++) {
        const opd_variant *chosen = NULL;
        if (!opd_variant_is_choice(variant) || opd_kernel_choose(&chosen, kernel, call, variant->name) != OPD_OK) {
            continue;
        }
        assert_int_equal(opd_variant_run(chosen, call, NULL), OPD_OK);
        copy_elements(results + (size_t)count * OPERAND_BYTES, &output->view);
        fprintf(trial->file, "%s{\"variant\":\"%s\",", count > 0 ? "," : "", variant->name);
        write_shape(trial->file, &output->view);
        fprintf(trial->file, "}");
        trial->results += opd_tensor_count(&output->view);
        count++;
    }
    assert_in_range(count, 2, 8); /* the two of the definition at least */
    fprintf(trial->file, "],\"inputs\":[");
    for (int i = 0; i < call->operand_count - 1; i++) {
        fprintf(trial->file, i > 0 ? ",{" : "{");
        if ((call->operands[i].flags & OPD_OPERAND_ABSENT) == 0) {
            write_shape(trial->file, &call->operands[i].view);
        }
        fprintf(trial->file, "}");
    }
    fprintf(trial->file, "]}\n");
    uint8_t *input = malloc(OPERAND_BYTES);
    for (int i = 0; i < call->operand_count - 1; i++) {
        if ((call->operands[i].flags & OPD_OPERAND_ABSENT) == 0) {
            const opd_tensor *view = &call->operands[i].view;
            copy_elements(input, view);
            fwrite(input, opd_dtype_size(view->dtype), (size_t)opd_tensor_count(view), trial->file);
        }
    }
    for (int i = 0; i < count; i++) {
        fwrite(results + (size_t)i * OPERAND_BYTES, 1, bytes, trial->file);
    }
    free(input);
    free(results);
    trial->calls++;
}

static void run_case(struct trial *trial, const opd_op *op, const opd_call_wish *wish, const struct shape_case *shapes,
                     uint64_t seed)
{
    opd_call call;
    const opd_kernel *kernel = opd_kernel_find(op->domain, op->name);
    assert_non_null(kernel);
    if (opd_call_make(&call, op, wish) != OPD_OK) {
        fail_msg("%s: %s", op->name, opd_error_text());
    }
    opd_fill fill;
    assert_int_equal(opd_fill_parse(&fill, fills[seed % OPD_COUNT(fills)]), OPD_OK);
    place(trial, &call, shapes->is_strided, OPD_ROLE_IN);
    bool is_own = strcmp(op->name, "Where") == 0; /* its condition is 0 or 1 */
    assert_int_equal(opd_call_generate(&call, seed, is_own ? NULL : &fill), OPD_OK);
    place(trial, &call, shapes->is_strided, OPD_ROLE_OUT);
    run_variants(trial, kernel, &call);
}

static bool takes(const opd_op *op, opd_dtype dtype)
{
    opd_call call;
    const opd_call_wish wish = { .dtype = dtype };
    return opd_call_make(&call, op, &wish) == OPD_OK;
}

static int inputs_of(const opd_op *op)
{
    opd_call call;
    const opd_call_wish wish = { .dtype = OPD_DTYPE_NONE };
    assert_int_equal(opd_call_make(&call, op, &wish), OPD_OK);
    return strstr(op->signature, "+:") != NULL ? 0 : call.operand_count - 1;
}

static void run_shapes(struct trial *trial, const opd_op *op, opd_dtype dtype, const char *attributes)
{
    int inputs = inputs_of(op);
    bool is_same = strcmp(op->name, "GeluAddResidual") == 0;
    for (size_t s = 0; s < OPD_COUNT(shape_cases); s++) {
        const struct shape_case *shapes = &shape_cases[s];
        if (shapes->inputs != inputs || (is_same && s != 5 && s != 6)) {
            continue;
        }
        for (uint64_t fill = 0; fill < OPD_COUNT(fills); fill++) {
            opd_call_wish wish = { .dtype = dtype, .shapes = shapes->shapes, .attributes = attributes };
            run_case(trial, op, &wish, shapes, fill + OPD_COUNT(fills) * s);
        }
    }
}

static void judge(struct trial *trial, const char *path)
{
    assert_int_equal(fclose(trial->file), 0);
    FILE *answers = numpy_run(path, NULL);
    assert_non_null(answers);
    char line[4096] = "";
    long long results = -1;
    long long wrong = -1;
    while (fgets(line, sizeof line, answers) != NULL) {
        if (sscanf(line, "checked %lld wrong %lld", &results, &wrong) != 2) {
            print_error("%s", line);
        }
    }
    assert_int_equal(pclose(answers), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(results, trial->results);
    assert_int_equal(wrong, 0);
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        free(trial->memory[i]);
    }
}

static struct trial begin(char path[64])
{
    struct trial trial = { .file = numpy_file(path) };
    assert_non_null(trial.file);
    return trial;
}

static const char *const own_tests[] = { "Cast", "Pow", "Clip" };

static bool has_own_test(const char *name)
{
    for (size_t i = 0; i < OPD_COUNT(own_tests); i++) {
        if (strcmp(own_tests[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static const char *const operators[] = { "Abs",  "Neg",       "Add",        "Sub",   "Mul",  "Div",
                                         "Pow",  "Sqrt",      "Reciprocal", "Exp",   "Log",  "Erf",
                                         "Relu", "LeakyRelu", "Sigmoid",    "Tanh",  "Gelu", "HardSwish",
                                         "Clip", "Min",       "Max",        "Where", "Cast", "GeluAddResidual" };

static const opd_op *find(const char *name)
{
    const opd_op *op = opd_op_find("ai.onnx", name);
    op = op != NULL ? op : opd_op_find("opsdebug", name);
    if (op == NULL) {
        fail_msg("%s: %s", name, opd_error_text());
    }
    return op;
}

static void every_operator_and_dtype_agrees_with_numpy(void **state)
{
    (void)state;
    char path[64];
    struct trial trial = begin(path);
    for (size_t i = 0; i < OPD_COUNT(operators); i++) {
        const opd_op *op = find(operators[i]);
        for (size_t d = 0; d < OPD_COUNT(dtypes) && !has_own_test(operators[i]); d++) {
            if (takes(op, dtypes[d])) {
                run_shapes(&trial, op, dtypes[d], strcmp(op->name, "LeakyRelu") == 0 ? "alpha=0.3" : NULL);
            }
        }
        if (strstr(op->name, "Gelu") != NULL) {
            run_shapes(&trial, op, OPD_F32, "approximate=tanh");
            run_shapes(&trial, op, OPD_F16, "approximate=tanh");
            run_shapes(&trial, op, OPD_F64, "approximate=tanh");
        }
    }
    judge(&trial, path);
}

static void casts_between_all_dtypes_agree_with_numpy(void **state)
{
    (void)state;
    static const int targets[] = { 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16 };
    static const struct shape_case shapes = { 1, "[3,257]", false };
    char path[64];
    struct trial trial = begin(path);
    const opd_op *op = find("Cast");
    for (size_t d = 0; d < OPD_COUNT(dtypes); d++) {
        for (size_t t = 0; t < OPD_COUNT(targets) && takes(op, dtypes[d]); t++) {
            char attributes[16];
            snprintf(attributes, sizeof attributes, "to=%d", targets[t]);
            opd_call_wish wish = { .dtype = dtypes[d], .shapes = shapes.shapes, .attributes = attributes };
            for (uint64_t seed = 0; seed < OPD_COUNT(fills); seed++) {
                run_case(&trial, op, &wish, &shapes, seed);
            }
        }
    }
    assert_int_equal(trial.calls, 13 * 13 * (int)OPD_COUNT(fills));
    judge(&trial, path);
}

static void powers_of_mixed_dtypes_agree_with_numpy(void **state)
{
    (void)state;
    static const struct shape_case shapes = { 2, "", false };
    char path[64];
    struct trial trial = begin(path);
    const opd_op *op = find("Pow");
    for (size_t d = 0; d < OPD_COUNT(dtypes); d++) {
        for (size_t e = 0; e < OPD_COUNT(dtypes) && takes(op, dtypes[d]); e++) {
            if (dtypes[e] == OPD_BOOL || opd_dtype_is_complex(dtypes[e])) {
                continue;
            }
            char text[64];
            snprintf(text, sizeof text, "%s[31,1];%s[47]", opd_dtype_name(dtypes[d]), opd_dtype_name(dtypes[e]));
            opd_call_wish wish = { .shapes = text };
            for (uint64_t seed = 0; seed < OPD_COUNT(fills); seed++) {
                run_case(&trial, op, &wish, &shapes, seed);
            }
        }
    }
    judge(&trial, path);
}

static void clip_takes_any_of_its_bounds(void **state)
{
    (void)state;
    static const struct shape_case shapes[] = { { 1, "[3,257]", false },      { 1, "[3,257];[]", false },
                                                { 1, "[3,257];-;[]", false }, { 1, "[3,257];[];[]", false },
                                                { 1, "[];[];[]", false },     { 1, "[0];[];[]", false },
                                                { 1, "[5,7];[];[]", true } };
    char path[64];
    struct trial trial = begin(path);
    const opd_op *op = find("Clip");
    for (size_t d = 0; d < OPD_COUNT(dtypes); d++) {
        for (size_t s = 0; s < OPD_COUNT(shapes) && takes(op, dtypes[d]); s++) {
            opd_call_wish wish = { .dtype = dtypes[d], .shapes = shapes[s].shapes };
            for (uint64_t seed = 0; seed < 3 * OPD_COUNT(fills); seed++) {
                run_case(&trial, op, &wish, &shapes[s], seed);
            }
        }
    }
    judge(&trial, path);
}

static void f32_has_a_vector_variant_of_every_operator(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(operators); i++) {
        const opd_op *op = find(operators[i]);
        const opd_call_wish wish = { .dtype = OPD_F32 };
        const opd_variant *variant = NULL;
        opd_call call;
        assert_int_equal(opd_call_make(&call, op, &wish), OPD_OK);
        const opd_kernel *kernel = opd_kernel_find(op->domain, op->name);
        assert_int_equal(opd_kernel_choose(&variant, kernel, &call, "portable"), OPD_OK);
        if (opd_isa_missing("avx2 fma f16c") == NULL) {
            assert_int_equal(opd_kernel_choose(&variant, kernel, &call, "avx2"), OPD_OK);
        }
    }
}

int main(void)
{
    const struct CMUnitTest plain[] = { cmocka_unit_test(f32_has_a_vector_variant_of_every_operator) };
    if (!numpy_is_here()) {
        (void)cmocka_run_group_tests(plain, NULL, NULL);
        (void)fprintf(stderr, "skipped: /usr/bin/python3 has no numpy (apt install python3-numpy)\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_has_a_vector_variant_of_every_operator),
        cmocka_unit_test(every_operator_and_dtype_agrees_with_numpy),
        cmocka_unit_test(casts_between_all_dtypes_agree_with_numpy),
        cmocka_unit_test(powers_of_mixed_dtypes_agree_with_numpy),
        cmocka_unit_test(clip_takes_any_of_its_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
