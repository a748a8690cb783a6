/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the scripts of linear_numpy.py cannot ask for: operands with strides, what is declined and why, workspaces, and the choice
 * of a variant.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

static void make(opd_call *call, const char *domain, const char *name, const opd_call_wish *wish)
{
    if (opd_call_make(call, opd_op_find(domain, name), wish) != OPD_OK) {
        fail_msg("%s", opd_error_text());
    }
}

static size_t workspace_of(const char *name, const char *variant, const char *shapes)
{
    static opd_call call;
    make(&call, "opsdebug", name, &(opd_call_wish){ .shapes = shapes });
    const opd_variant *chosen = NULL;
    assert_int_equal(opd_kernel_choose(&chosen, opd_kernel_find("opsdebug", name), &call, variant), OPD_OK);
    return chosen->workspace(&call, 2);
}

static void online_softmax_needs_no_memory_for_scores(void **state)
{
    (void)state;
    const char *few = "[1,8,64,64];[1,8,64,64];[1,8,64,64]";
    const char *many = "[1,8,4096,64];[1,8,4096,64];[1,8,4096,64]";
    assert_int_equal(workspace_of("FusedAttention", "portable", few), workspace_of("FusedAttention", "portable", many));
    assert_true(workspace_of("FusedAttention", "unfused", many) >= (size_t)8 * 4096 * 4096 * sizeof(float));
}

/* A [2, 3] by columns times B [3, 2] by rows. */
static void strided_operands_are_left_to_the_definition(void **state)
{
    (void)state;
    static opd_call call;
    float a[6] = { 1, 4, 2, 5, 3, 6 };
    float b[6] = { 7, 8, 9, 10, 11, 12 };
    float y[4] = { 0 };
    const float right[4] = { 58, 64, 139, 154 };
    make(&call, "ai.onnx", "MatMul", &(opd_call_wish){ .shapes = "[2,3];[3,2]" });
    call.operands[0].view.data = a;
    call.operands[0].view.stride[0] = 1;
    call.operands[0].view.stride[1] = 2;
    call.operands[1].view.data = b;
    call.operands[2].view.data = y;
    const opd_kernel *kernel = opd_kernel_find("ai.onnx", "MatMul");
    const opd_variant *variant = NULL;
    assert_int_equal(opd_kernel_choose(&variant, kernel, &call, "openblas"), OPD_E_DECLINED);
    assert_non_null(strstr(opd_error_text(), "not contiguous"));
    assert_int_equal(opd_kernel_choose(&variant, kernel, &call, NULL), OPD_OK);
    assert_string_equal(variant->name, "naive");
    assert_int_equal(opd_variant_run(variant, &call, NULL), OPD_OK);
    assert_memory_equal(y, right, sizeof right);
}

static const struct declined {
    const char *name, *shapes, *attributes, *outputs, *variant, *reason;
} declined[] = {
    { "MatMul", "i32[2,2];i32[2,2]", NULL, NULL, "openblas", "only f32 and f64" },
    { "MatMul", "i32[2,2];i32[2,2]", NULL, NULL, "avx2", "integers" },
    { "Gemm", "[2,2];[2,2]", "alpha=0", NULL, "openblas", "alpha = 0" },
    { "Conv", "[1,4,5,5];[4,2,3,3]", "group=2", NULL, "depthwise-avx2", "more than one input channel" },
    { "MaxPool", "[1,1,4,4]", NULL, "Indices", "avx2", "Indices" },
    { "Attention", "[1,1,2,4];[1,1,2,4];[1,1,2,4];-;[1,1,3,4];[1,1,3,4]", NULL, NULL, "unfused", "keys of the past" },
    { "Attention", "[1,1,2,4];[1,1,2,4];[1,1,2,4]", NULL, "qk_matmul_output", "avx2", "never there as a whole" },
    { "Attention", "[1,1,2,4];[1,1,2,4];[1,1,2,4]", "qk_matmul_output_mode=2", "qk_matmul_output", "unfused",
      "one pass" },
};

static void a_variant_says_why_it_declines(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(declined); i++) {
        static opd_call call;
        const struct declined *row = &declined[i];
        opd_call_wish wish = { .shapes = row->shapes, .attributes = row->attributes, .outputs = row->outputs };
        make(&call, "ai.onnx", row->name, &wish);
        const opd_variant *variant = NULL;
        const opd_kernel *kernel = opd_kernel_find("ai.onnx", row->name);
        if (opd_kernel_choose(&variant, kernel, &call, row->variant) != OPD_E_DECLINED) {
            fail_msg("%s does %s of %s", row->variant, row->name, row->shapes);
        }
        bool is_said = strstr(opd_error_text(), row->reason) != NULL || strstr(opd_error_text(), "CPU has no") != NULL;
        if (!is_said) {
            fail_msg("%s: %s", row->name, opd_error_text());
        }
        assert_int_equal(opd_kernel_choose(&variant, kernel, &call, NULL), OPD_OK);
    }
}

/* Every variant asks for what it writes into: run with exactly that, between canaries. */
static void no_variant_leaves_its_workspace(void **state)
{
    (void)state;
    static const char *const names[] = { "MatMul",   "Gemm", "Conv", "AveragePool", "MaxPool", "GlobalAveragePool",
                                         "Attention" };
    for (size_t n = 0; n < OPD_COUNT(names); n++) {
        static opd_call call;
        make(&call, "ai.onnx", names[n], &(opd_call_wish){ .shapes = NULL });
        for (int i = 0; i < call.operand_count; i++) {
            size_t size =
                (size_t)opd_tensor_count(&call.operands[i].view) * opd_dtype_size(call.operands[i].view.dtype);
            call.operands[i].view.data = (call.operands[i].flags & OPD_OPERAND_ABSENT) == 0 ? calloc(1, size) : NULL;
        }
        const opd_kernel *kernel = opd_kernel_find("ai.onnx", names[n]);
        for (int v = 0; v < kernel->variant_count; v++) {
            const opd_variant *variant = NULL;
            if (opd_kernel_choose(&variant, kernel, &call, kernel->variants[v].name) != OPD_OK) {
                continue;
            }
            enum { GUARD = 4096 };
            size_t size = variant->workspace != NULL ? variant->workspace(&call, 2) : 0;
            unsigned char *block = aligned_alloc(64, (size + 63) / 64 * 64 + 2 * GUARD);
            memset(block, 0xa5, size + 2 * GUARD);
            opd_workspace workspace = { .bytes = block + GUARD, .size = size, .threads = 2 };
            assert_int_equal(opd_variant_run(variant, &call, &workspace), OPD_OK);
            for (size_t i = 0; i < GUARD; i++) {
                assert_int_equal(block[i], 0xa5);
                assert_int_equal(block[GUARD + size + i], 0xa5);
            }
            free(block);
        }
        for (int i = 0; i < call.operand_count; i++) {
            free(call.operands[i].view.data);
        }
    }
}

/* Stages of a run, by name, as f64. */
static struct stages {
    char name[4][OPD_NAME];
    double value[4][64];
    int64_t elements[4];
    int count;
} stages;

static void keep_stage(void *context, const char *stage, const opd_tensor *view)
{
    (void)context;
    int at = stages.count++;
    stages.elements[at] = opd_tensor_count(view);
    snprintf(stages.name[at], OPD_NAME, "%s", stage);
    assert_true(stages.elements[at] <= 64);
    for (int64_t i = 0; i < stages.elements[at]; i++) {
        double im = 0;
        const char *element = (const char *)view->data + i * (int64_t)opd_dtype_size(view->dtype);
        opd_element_load(view->dtype, element, &stages.value[at][i], &im);
    }
}

static void run_traced(const opd_call *call, const char *variant)
{
    const opd_variant *chosen = NULL;
    memset(&stages, 0, sizeof stages);
    assert_int_equal(opd_kernel_choose(&chosen, opd_kernel_find(call->domain, call->name), call, variant), OPD_OK);
    opd_trace_to(keep_stage, NULL);
    assert_int_equal(opd_variant_run(chosen, call, NULL), OPD_OK);
    opd_trace_to(NULL, NULL);
}

static void the_chain_and_the_definition_report_the_same_stages(void **state)
{
    (void)state;
    static const char *const ops[] = { "MatMulBiasGelu", "FusedAttention" };
    static const char *const shapes[] = { "[3,4];[4,5];[5]", "[1,2,3,4];[1,1,5,4];[1,1,5,6];[3,5]" };
    static float memory[OPD_MAX_OPERANDS][64];
    for (size_t n = 0; n < OPD_COUNT(ops); n++) {
        static opd_call call;
        make(&call, "opsdebug", ops[n], &(opd_call_wish){ .shapes = shapes[n] });
        for (int i = 0; i < call.operand_count; i++) {
            call.operands[i].view.data = memory[i];
        }
        assert_int_equal(opd_call_generate(&call, 7, NULL), OPD_OK);
        run_traced(&call, "high-precision");
        struct stages right = stages;
        run_traced(&call, "unfused");
        assert_int_equal(right.count, 2);
        assert_int_equal(stages.count, 2);
        for (int at = 0; at < 2; at++) {
            assert_string_equal(stages.name[at], right.name[at]);
            assert_non_null(strstr(call.op->checkpoints, right.name[at]));
            assert_int_equal(stages.elements[at], right.elements[at]);
            for (int64_t i = 0; i < right.elements[at]; i++) {
                assert_true(fabs(stages.value[at][i] - right.value[at][i]) < 1e-5);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(online_softmax_needs_no_memory_for_scores),
        cmocka_unit_test(strided_operands_are_left_to_the_definition),
        cmocka_unit_test(a_variant_says_why_it_declines),
        cmocka_unit_test(no_variant_leaves_its_workspace),
        cmocka_unit_test(the_chain_and_the_definition_report_the_same_stages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
