/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What variants of reductions and norms promise beside their values: the same bits for any number of threads, on other instruction sets where they say
 * so, in place of an input where the contract allows it; nothing written beside the outputs; stages in the contract's order that agree
 * with the definition's; calls that cannot be are refused with a reason.
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

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

enum { GUARD = 256, MAX_STAGES = 8 };

static const struct subject {
    const char *domain, *name, *shapes, *attributes, *outputs;
    const char *in_place; /* output that is put on the first input; NULL = none */
} subjects[] = {
    { "ai.onnx", "ReduceSum", "[37,5,67];[1]", "", NULL, NULL },
    { "ai.onnx", "ReduceMean", "[37,5,67];[2]", "keepdims=0", NULL, NULL },
    { "ai.onnx", "ReduceMax", "[37,301]", "", NULL, NULL },
    { "ai.onnx", "ReduceMin", "[9,2,300];[1]", "", NULL, NULL },
    { "ai.onnx", "ReduceL2", "[3,5000];[1]", "", NULL, NULL },
    { "ai.onnx", "ArgMax", "[37,5,67]", "axis=1", NULL, NULL },
    { "ai.onnx", "ArgMin", "[37,335]", "axis=1", NULL, NULL },
    { "ai.onnx", "CumSum", "[37,5,67];[]", "", NULL, "y" },
    { "ai.onnx", "TopK", "[37,5,67];[1]", "axis=1", NULL, NULL },
    { "ai.onnx", "Softmax", "[37,335]", "", NULL, "output" },
    { "ai.onnx", "Softmax", "[7,5,300]", "axis=1", NULL, "output" },
    { "ai.onnx", "LogSoftmax", "[37,335]", "", NULL, "output" },
    { "ai.onnx", "LogSoftmax", "[7,5,300]", "axis=1", NULL, "output" },
    { "ai.onnx", "LpNormalization", "[37,335]", "p=1", NULL, "output" },
    { "ai.onnx", "LpNormalization", "[7,5,300]", "axis=1", NULL, "output" },
    { "ai.onnx", "LayerNormalization", "[37,5,67];[5,67];[5,67]", "axis=1", "*", "Y" },
    { "ai.onnx", "RMSNormalization", "[37,335];[335]", "", NULL, "Y" },
    { "ai.onnx", "GroupNormalization", "[5,12,9,7];[12];[12]", "num_groups=4", NULL, "Y" },
    { "ai.onnx", "InstanceNormalization", "[5,12,9,7];[12];[12]", "", NULL, "output" },
    { "ai.onnx", "BatchNormalization", "[5,12,9,7];[12];[12];[12];[12]", "", NULL, "Y" },
    { "ai.onnx", "BatchNormalization", "[35,300];[300];[300];[300];[300]", "", NULL, "Y" },
    { "ai.onnx", "BatchNormalization", "[5,12,63];[12];[12];[12];[12]", "training_mode=1", "*", "Y" },
    { "opsdebug", "LayerNormBias", "[37,335];[335];[335];[335]", "", NULL, "Y" },
    { "opsdebug", "AddLayerNorm", "[37,335];[37,335];[335];[335]", "", NULL, "Sum" },
    { "opsdebug", "WindowL2Normalization", "[3,5,9,300]", "", NULL, NULL },
};
static const opd_dtype dtypes[] = { OPD_F32, OPD_F64, OPD_F16, OPD_BF16 };

typedef struct sample {
    opd_call call;
    uint8_t *blocks[OPD_MAX_OPERANDS]; /* with guards around */
    size_t bytes[OPD_MAX_OPERANDS];
} sample;

static bool is_there(const opd_operand *operand)
{
    return (operand->flags & OPD_OPERAND_ABSENT) == 0;
}

static void give_memory(sample *s, opd_role role)
{
    for (int i = 0; i < s->call.operand_count; i++) {
        opd_operand *operand = &s->call.operands[i];
        if (operand->role == role && is_there(operand)) {
            s->bytes[i] = (size_t)opd_tensor_count(&operand->view) * opd_dtype_size(operand->view.dtype);
            assert_int_equal(opd_alloc((void **)&s->blocks[i], s->bytes[i] + 2 * GUARD), OPD_OK);
            memset(s->blocks[i], 0xa5, s->bytes[i] + 2 * GUARD);
            operand->view.data = s->blocks[i] + GUARD;
        }
    }
}

static void make(sample *s, const struct subject *subject, opd_dtype dtype)
{
    memset(s, 0, sizeof *s);
    opd_call_wish wish = { .dtype = dtype, .shapes = subject->shapes, .attributes = subject->attributes };
    wish.outputs = subject->outputs;
    if (opd_call_make(&s->call, opd_op_find(subject->domain, subject->name), &wish) != OPD_OK) {
        fail_msg("%s", opd_error_text());
    }
    give_memory(s, OPD_ROLE_IN);
    if (opd_call_generate(&s->call, 7, NULL) != OPD_OK) {
        fail_msg("%s", opd_error_text());
    }
    give_memory(s, OPD_ROLE_OUT);
}

static void forget(sample *s)
{
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_free(s->blocks[i]);
    }
}

static void run(const sample *s, const opd_variant *variant, int32_t threads)
{
    opd_workspace workspace = { .threads = threads };
    workspace.size = variant->workspace != NULL ? variant->workspace(&s->call, threads) : 0;
    uint8_t *block = NULL;
    assert_int_equal(opd_alloc((void **)&block, workspace.size + 64 + GUARD), OPD_OK);
    uint8_t *start = block + (64 - (uintptr_t)block % 64) % 64;
    workspace.bytes = start;
    memset(start, 0x5a, workspace.size + GUARD);
    if (opd_variant_run(variant, &s->call, &workspace) != OPD_OK) {
        fail_msg("%s %s: %s", s->call.name, variant->name, opd_error_text());
    }
    for (size_t i = workspace.size; i < workspace.size + GUARD; i++) {
        assert_int_equal(start[i], 0x5a);
    }
    opd_free(block);
    for (int i = 0; i < s->call.operand_count; i++) {
        for (size_t g = 0; s->blocks[i] != NULL && g < GUARD; g++) {
            assert_int_equal(s->blocks[i][g], 0xa5);
            assert_int_equal(s->blocks[i][GUARD + s->bytes[i] + g], 0xa5);
        }
    }
}

/* The outputs' bytes, one after the other. */
static uint8_t *outputs_of(const sample *s, size_t *size)
{
    uint8_t *all = NULL;
    *size = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t at = 0;
        for (int i = 0; i < s->call.operand_count; i++) {
            if (s->call.operands[i].role == OPD_ROLE_OUT && is_there(&s->call.operands[i])) {
                if (pass == 1) {
                    memcpy(all + at, s->call.operands[i].view.data, s->bytes[i]);
                }
                at += s->bytes[i];
            }
        }
        if (pass == 0) {
            *size = at;
            assert_int_equal(opd_alloc((void **)&all, at), OPD_OK);
        }
    }
    return all;
}

static void clear_outputs(const sample *s)
{
    for (int i = 0; i < s->call.operand_count; i++) {
        if (s->call.operands[i].role == OPD_ROLE_OUT && is_there(&s->call.operands[i])) {
            memset(s->call.operands[i].view.data, 0xff, s->bytes[i]);
        }
    }
}

static bool is_tested(const opd_variant *variant, const opd_call *call)
{
    bool is_definition = strcmp(variant->name, "naive") == 0 || strcmp(variant->name, "high-precision") == 0;
    return opd_variant_is_choice(variant) && !is_definition && opd_isa_missing(variant->isa) == NULL &&
           (variant->declines == NULL || variant->declines(call) == NULL);
}

static void require_same(const sample *s, const opd_variant *variant, const uint8_t *expected, size_t size,
                         const char *when)
{
    size_t now_size = 0;
    uint8_t *now = outputs_of(s, &now_size);
    assert_int_equal(size, now_size);
    if (memcmp(expected, now, size) != 0) {
        fail_msg("%s %s: other bits %s", s->call.name, variant->name, when);
    }
    opd_free(now);
}

static void check_threads(const sample *s, const opd_variant *variant, uint8_t **bits, size_t *size)
{
    static const int32_t threads[] = { 1, 2, 3, 7 };
    for (size_t t = 0; t < OPD_COUNT(threads); t++) {
        clear_outputs(s);
        run(s, variant, threads[t]);
        if (t == 0) {
            *bits = outputs_of(s, size);
        } else {
            require_same(s, variant, *bits, *size, "with more threads");
        }
    }
}

static void test_threads_and_instruction_sets_keep_the_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(subjects) * OPD_COUNT(dtypes); i++) {
        sample s;
        make(&s, &subjects[i / OPD_COUNT(dtypes)], dtypes[i % OPD_COUNT(dtypes)]);
        const opd_kernel *kernel = opd_kernel_find(s.call.domain, s.call.name);
        const opd_variant *variant = NULL;
        uint8_t *first = NULL;
        size_t first_size = 0;
        for (int v = 0; (variant = opd_kernel_variant(kernel, v)) != NULL; v++) {
            if (!is_tested(variant, &s.call)) {
                continue;
            }
            uint8_t *bits = NULL;
            size_t size = 0;
            check_threads(&s, variant, &bits, &size);
            if (variant->determinism == OPD_DETERMINISM_ISA && first != NULL) {
                require_same(&s, variant, first, first_size, "than a variant on another instruction set");
            }
            opd_free(first);
            first = bits;
            first_size = size;
        }
        assert_non_null(first);
        opd_free(first);
        forget(&s);
    }
}

static void test_outputs_may_lie_on_inputs(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(subjects) * OPD_COUNT(dtypes); i++) {
        const struct subject *subject = &subjects[i / OPD_COUNT(dtypes)];
        if (subject->in_place == NULL) {
            continue;
        }
        sample s;
        make(&s, subject, dtypes[i % OPD_COUNT(dtypes)]);
        assert_non_null(strstr(s.call.op->in_place, subject->in_place));
        const opd_kernel *kernel = opd_kernel_find(s.call.domain, s.call.name);
        const opd_variant *variant = NULL;
        for (int v = 0; (variant = opd_kernel_variant(kernel, v)) != NULL; v++) {
            if (!is_tested(variant, &s.call)) {
                continue;
            }
            run(&s, variant, 2);
            size_t size = 0;
            uint8_t *expected = outputs_of(&s, &size);
            sample on = s;
            opd_operand *output = opd_call_operand(&on.call, subject->in_place);
            uint8_t *kept = NULL;
            assert_int_equal(opd_alloc((void **)&kept, s.bytes[0]), OPD_OK);
            memcpy(kept, s.call.operands[0].view.data, s.bytes[0]);
            output->view.data = on.call.operands[0].view.data;
            run(&on, variant, 2);
            require_same(&on, variant, expected, size, "in place");
            memcpy(s.call.operands[0].view.data, kept, s.bytes[0]);
            opd_free(kept);
            opd_free(expected);
        }
        forget(&s);
    }
}

/* ----------------------------------------------------------------------------------------------------- stages */

typedef struct stage_log {
    int count;
    char name[MAX_STAGES][OPD_NAME];
    int64_t elements[MAX_STAGES];
    double *value[MAX_STAGES];
} stage_log;

static void keep_stage(void *context, const char *stage, const opd_tensor *view)
{
    stage_log *log = context;
    if (log->count < MAX_STAGES) {
        int at = log->count++;
        log->elements[at] = opd_tensor_count(view);
        (void)snprintf(log->name[at], OPD_NAME, "%s", stage);
        if (opd_alloc_array((void **)&log->value[at], (size_t)log->elements[at], sizeof(double)) == OPD_OK) {
            memcpy(log->value[at], view->data, (size_t)log->elements[at] * sizeof(double));
        }
    }
}

static void forget_log(stage_log *log)
{
    for (int i = 0; i < log->count; i++) {
        opd_free(log->value[i]);
    }
    memset(log, 0, sizeof *log);
}

static void require_alike(const sample *s, const char *variant, const stage_log *want, const stage_log *log)
{
    char names[256] = "";
    size_t at = 0;
    for (int i = 0; i < log->count; i++) {
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%s", i > 0 ? " " : "", log->name[i]);
    }
    assert_string_equal(names, s->call.op->checkpoints);
    assert_int_equal(want->count, log->count);
    for (int i = 0; i < log->count; i++) {
        assert_int_equal(want->elements[i], log->elements[i]);
        for (int64_t e = 0; e < log->elements[i]; e++) {
            double w = want->value[i][e];
            if (!(fabs(log->value[i][e] - w) <= 1e-4 * (1.0 + fabs(w)))) {
                fail_msg("%s %s: stage %s [%lld] is %g, not %g", s->call.name, variant, log->name[i], (long long)e,
                         log->value[i][e], w);
            }
        }
    }
}

static void test_stages_agree_with_the_definition(void **state)
{
    (void)state;
    int compared = 0;
    for (size_t i = 0; i < OPD_COUNT(subjects) * OPD_COUNT(dtypes); i++) {
        sample s;
        make(&s, &subjects[i / OPD_COUNT(dtypes)], dtypes[i % OPD_COUNT(dtypes)]);
        const opd_kernel *kernel = opd_kernel_find(s.call.domain, s.call.name);
        const opd_variant *variant = NULL;
        if (s.call.op->checkpoints == NULL) {
            forget(&s);
            continue;
        }
        stage_log want = { .count = 0 };
        opd_trace_to(keep_stage, &want);
        assert_int_equal(opd_kernel_choose(&variant, kernel, &s.call, "high-precision"), OPD_OK);
        assert_int_equal(opd_variant_run(variant, &s.call, NULL), OPD_OK);
        for (int v = 0; (variant = opd_kernel_variant(kernel, v)) != NULL; v++) {
            if (is_tested(variant, &s.call)) {
                stage_log log = { .count = 0 };
                opd_trace_to(keep_stage, &log);
                run(&s, variant, 2);
                require_alike(&s, variant->name, &want, &log);
                forget_log(&log);
                compared++;
            }
        }
        opd_trace_to(NULL, NULL);
        forget_log(&want);
        forget(&s);
    }
    assert_true(compared > 100);
}

/* ------------------------------------------------------------------------------------- what is refused, and why */

static const struct refusal {
    const char *domain, *name, *shapes, *attributes, *why;
} refusals[] = {
    { "ai.onnx", "ArgMax", "[2,3]", "axis=2", "axis 2 is out of range for 2 dimensions" },
    { "ai.onnx", "ArgMin", "[2,0]", "axis=1", "axis 1 is empty" },
    { "ai.onnx", "TopK", "[2,3];[1]", "axis=-3", "axis -3 is out of range for 2 dimensions" },
    { "ai.onnx", "ReduceSum", "[2,3];[3]", "", "3 axes for 2 dimensions" },
    { "ai.onnx", "LpNormalization", "[2,3]", "p=3", "p is 3, it may be 1 or 2" },
    { "ai.onnx", "LayerNormalization", "[2,3];[3]", "stash_type=2", "stash_type is 2" },
    { "ai.onnx", "GroupNormalization", "[2,6,3];[6];[6]", "num_groups=4", "" },
    { "ai.onnx", "InstanceNormalization", "[2,6,3];[6];[5]", "", "" },
};

static void test_impossible_calls_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(refusals); i++) {
        const struct refusal *r = &refusals[i];
        opd_call call;
        opd_call_wish wish = { .dtype = OPD_F32, .shapes = r->shapes, .attributes = r->attributes };
        if (opd_call_make(&call, opd_op_find(r->domain, r->name), &wish) == OPD_OK) {
            fail_msg("%s %s %s was made", r->name, r->shapes, r->attributes);
        }
        if (strstr(opd_error_text(), r->why) == NULL) {
            fail_msg("%s %s: %s", r->name, r->attributes, opd_error_text());
        }
    }
}

static void bind_with(const char *name, const char *shapes, const int64_t *content, const char *why)
{
    sample s;
    const struct subject subject = { "ai.onnx", name, shapes, "", NULL, NULL };
    make(&s, &subject, OPD_F32);
    memcpy(s.call.operands[1].view.data, content, s.bytes[1]);
    assert_int_equal(opd_call_bind(&s.call), OPD_E_INVALID);
    if (strstr(opd_error_text(), why) == NULL) {
        fail_msg("%s: %s", name, opd_error_text());
    }
    forget(&s);
}

static void test_impossible_contents_are_refused(void **state)
{
    (void)state;
    bind_with("ReduceMax", "[2,3,4];[2]", (const int64_t[]){ 1, -2 }, "axis 1 is given twice");
    bind_with("ReduceL2", "[2,3];[1]", (const int64_t[]){ 2 }, "axis 2 is out of range for 2 dimensions");
    bind_with("TopK", "[2,3];[1]", (const int64_t[]){ 4 }, "K is 4, but axis 1 has 3 elements");
    bind_with("TopK", "[2,3];[1]", (const int64_t[]){ -1 }, "K is -1");
}

static void test_strided_operands_are_declined_not_misread(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(subjects); i++) {
        sample s;
        make(&s, &subjects[i], OPD_F32);
        s.call.operands[0].view.stride[0] += 1;
        const opd_kernel *kernel = opd_kernel_find(s.call.domain, s.call.name);
        const opd_variant *variant = NULL;
        assert_int_equal(opd_kernel_choose(&variant, kernel, &s.call, "portable"), OPD_E_DECLINED);
        assert_non_null(strstr(opd_error_text(), "not contiguous"));
        forget(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_and_instruction_sets_keep_the_bits),
        cmocka_unit_test(test_outputs_may_lie_on_inputs),
        cmocka_unit_test(test_stages_agree_with_the_definition),
        cmocka_unit_test(test_impossible_calls_are_refused),
        cmocka_unit_test(test_impossible_contents_are_refused),
        cmocka_unit_test(test_strided_operands_are_declined_not_misread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
