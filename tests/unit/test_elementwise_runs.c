/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the contracts promise of elementwise runs: an element's bits depend neither on threads nor on where it stands nor on how much there is
 * beside it; an output may lie on the input that the contract names; what lies beside an output is left alone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>
#include <opsdebug/random.h>

enum { MARGIN = 64, STREAMED = (9 << 20) / 4, SEVERAL_PARTS = 200003, PIECE = 1711 };

static const char *const operators[] = { "Abs", "Add",     "Mul",  "Div",  "Pow",       "Sqrt", "Exp", "Log",
                                         "Erf", "Sigmoid", "Tanh", "Gelu", "HardSwish", "Clip", "Max", "Where" };

typedef uint8_t *block;

static const opd_kernel *kernel_of(const char *name)
{
    const opd_kernel *kernel = opd_kernel_find("ai.onnx", name);
    assert_non_null(kernel);
    return kernel;
}

/* A call of count elements whose operands lie in blocks, from element `first` of them on. */
static void make(opd_call *call, const char *name, opd_dtype dtype, long long count, int64_t first, block *blocks)
{
    char shapes[128];
    const opd_op *op = opd_op_find("ai.onnx", name);
    assert_non_null(op);
    opd_call_wish wish = { .dtype = dtype, .shapes = "[1]" };
    const char *form = opd_call_make(call, op, &wish) == OPD_OK ? "[%lld]" : "[%lld];[%lld]";
    form = strcmp(name, "Max") == 0 ? "[%lld];[%lld];[]" : strcmp(name, "Where") == 0 ? "[%lld];[%lld];[]" : form;
    form = strcmp(name, "Clip") == 0 ? "[%lld];[];[]" : form;
    (void)snprintf(shapes, sizeof shapes, form, count, count);
    wish.shapes = shapes;
    assert_int_equal(opd_call_make(call, op, &wish), OPD_OK);
    for (int i = 0; i < call->operand_count; i++) {
        opd_tensor *view = &call->operands[i].view;
        view->data = blocks[i] + (view->rank > 0 ? first : 0) * (int64_t)opd_dtype_size(view->dtype);
    }
}

static void run(const opd_call *call, const char *variant, int32_t threads)
{
    const opd_variant *chosen = NULL;
    const opd_workspace workspace = { .threads = threads };
    assert_int_equal(opd_kernel_choose(&chosen, kernel_of(call->name), call, variant), OPD_OK);
    assert_int_equal(opd_variant_run(chosen, call, &workspace), OPD_OK);
}

static void take_blocks(block *blocks, int64_t elements)
{
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        blocks[i] = i < 5 ? malloc((size_t)elements * 8) : NULL;
    }
}

static void free_blocks(block *blocks)
{
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        free(blocks[i]);
    }
}

static const char *variant_here(void)
{
    return opd_isa_missing("avx2 fma f16c") == NULL ? "avx2" : "portable";
}

static void require_same_bits(const opd_call *call, const uint8_t *want)
{
    const opd_tensor *view = &call->operands[call->operand_count - 1].view;
    if (memcmp(view->data, want, (size_t)opd_tensor_count(view) * opd_dtype_size(view->dtype)) != 0) {
        fail_msg("%s %s gives other bits", call->name, opd_dtype_name(call->dtype));
    }
}

static void an_element_depends_on_its_inputs_alone(void **state)
{
    (void)state;
    static const opd_dtype dtypes[] = { OPD_F32, OPD_F16, OPD_BF16 };
    block blocks[OPD_MAX_OPERANDS];
    take_blocks(blocks, SEVERAL_PARTS);
    uint8_t *want = malloc((size_t)SEVERAL_PARTS * 8);
    for (size_t o = 0; o < OPD_COUNT(operators); o++) {
        for (size_t d = 0; d < OPD_COUNT(dtypes); d++) {
            opd_call call;
            make(&call, operators[o], dtypes[d], SEVERAL_PARTS, 0, blocks);
            assert_int_equal(opd_call_generate(&call, o, NULL), OPD_OK);
            run(&call, variant_here(), 1);
            uint8_t *output = blocks[call.operand_count - 1];
            size_t size = opd_dtype_size(dtypes[d]);
            memcpy(want, output, (size_t)SEVERAL_PARTS * size);
            memset(output, 0xa5, (size_t)SEVERAL_PARTS * size);
            run(&call, variant_here(), 5);
            require_same_bits(&call, want);
            for (int64_t first = 1; first + PIECE < SEVERAL_PARTS; first += 40009) {
                make(&call, operators[o], dtypes[d], PIECE, first, blocks);
                memset(output, 0xa5, (size_t)SEVERAL_PARTS * size);
                run(&call, variant_here(), 2);
                require_same_bits(&call, want + (size_t)first * size);
                assert_int_equal(output[(size_t)first * size - 1], 0xa5);
                assert_int_equal(output[(size_t)(first + PIECE) * size], 0xa5);
            }
        }
    }
    free(want);
    free_blocks(blocks);
}

/* Large outputs are written past the cache, in whole lines: at any alignment, nothing beside them. */
static void large_outputs_hold_what_small_ones_do(void **state)
{
    (void)state;
    static const char *const some[] = { "Add", "Exp", "Max" };
    block blocks[OPD_MAX_OPERANDS];
    take_blocks(blocks, STREAMED + 2 * MARGIN);
    uint8_t *want = malloc((size_t)STREAMED * 4);
    for (size_t o = 0; o < OPD_COUNT(some); o++) {
        opd_call call;
        make(&call, some[o], OPD_F32, STREAMED, 3, blocks);
        assert_int_equal(opd_call_generate(&call, 9, NULL), OPD_OK);
        uint8_t *output = blocks[call.operand_count - 1];
        for (int64_t half = 0; half < 2; half++) {
            make(&call, some[o], OPD_F32, STREAMED / 2, 3 + half * (STREAMED / 2), blocks);
            run(&call, variant_here(), 2);
        }
        memcpy(want, output + 12, (size_t)STREAMED * 4);
        memset(output, 0xa5, ((size_t)STREAMED + MARGIN) * 4);
        make(&call, some[o], OPD_F32, STREAMED, 3, blocks);
        run(&call, variant_here(), 2);
        require_same_bits(&call, want);
        for (size_t i = 0; i < 12; i++) {
            assert_int_equal(output[i], 0xa5);
            assert_int_equal(output[12 + (size_t)STREAMED * 4 + i], 0xa5);
        }
    }
    free(want);
    free_blocks(blocks);
}

static void outputs_may_lie_on_the_input_that_the_contract_names(void **state)
{
    (void)state;
    block blocks[OPD_MAX_OPERANDS];
    take_blocks(blocks, SEVERAL_PARTS);
    uint8_t *want = malloc((size_t)SEVERAL_PARTS * 4);
    int tried = 0;
    for (size_t o = 0; o < OPD_COUNT(operators); o++) {
        opd_call call;
        make(&call, operators[o], OPD_F32, SEVERAL_PARTS, 0, blocks);
        if (call.op->in_place == NULL) {
            continue;
        }
        opd_operand *input = opd_call_operand(&call, strchr(call.op->in_place, '=') + 1);
        opd_operand *output = &call.operands[call.operand_count - 1];
        assert_int_equal(opd_call_generate(&call, o, NULL), OPD_OK);
        run(&call, variant_here(), 2);
        memcpy(want, output->view.data, (size_t)SEVERAL_PARTS * 4);
        output->view.data = input->view.data;
        run(&call, variant_here(), 2);
        require_same_bits(&call, want);
        tried++;
    }
    assert_in_range(tried, 10, (int)OPD_COUNT(operators));
    free(want);
    free_blocks(blocks);
}

/* The AVX2 and the portable loops of operators that promise it give the same bits. */
static void exact_operators_do_not_depend_on_the_instruction_set(void **state)
{
    (void)state;
    block blocks[OPD_MAX_OPERANDS];
    take_blocks(blocks, PIECE);
    uint8_t *want = malloc((size_t)PIECE * 4);
    for (size_t o = 0; o < OPD_COUNT(operators); o++) {
        opd_call call;
        make(&call, operators[o], OPD_F32, PIECE, 0, blocks);
        if (call.op->determinism != OPD_DETERMINISM_ISA) {
            continue;
        }
        assert_int_equal(opd_call_generate(&call, o, NULL), OPD_OK);
        run(&call, "portable", 1);
        memcpy(want, call.operands[call.operand_count - 1].view.data, (size_t)PIECE * 4);
        run(&call, variant_here(), 1);
        require_same_bits(&call, want);
    }
    free(want);
    free_blocks(blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_element_depends_on_its_inputs_alone),
        cmocka_unit_test(large_outputs_hold_what_small_ones_do),
        cmocka_unit_test(outputs_may_lie_on_the_input_that_the_contract_names),
        cmocka_unit_test(exact_operators_do_not_depend_on_the_instruction_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
