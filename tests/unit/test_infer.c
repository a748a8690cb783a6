/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of a call without a contract: equal ones go together, in operands and in lists that say a shape. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/op.h>

static void set_view(opd_operand *operand, const char *name, int rank, const int64_t *shape, const int64_t *stride)
{
    memset(operand, 0, sizeof(*operand));
    snprintf(operand->name, sizeof(operand->name), "%s", name);
    operand->role = OPD_ROLE_IN;
    operand->view = (opd_tensor){ .dtype = OPD_F32, .rank = rank };
    memcpy(operand->view.shape, shape, (size_t)rank * sizeof(*shape));
    memcpy(operand->view.stride, stride, (size_t)rank * sizeof(*stride));
}

/* A batched product: self [3, 5, 6], batch1 [3, 5, 4] with its last two dimensions swapped in memory, batch2 expanded over the batch. */
static void make_call(opd_call *call)
{
    memset(call, 0, sizeof(*call));
    snprintf(call->domain, sizeof(call->domain), "%s", "aten");
    snprintf(call->name, sizeof(call->name), "%s", "baddbmm");
    call->operand_count = 4;
    set_view(&call->operands[0], "self", 3, (int64_t[]){ 3, 5, 6 }, (int64_t[]){ 30, 6, 1 });
    set_view(&call->operands[1], "batch1", 3, (int64_t[]){ 3, 5, 4 }, (int64_t[]){ 20, 1, 5 });
    set_view(&call->operands[2], "batch2", 3, (int64_t[]){ 3, 4, 6 }, (int64_t[]){ 0, 6, 1 });
    set_view(&call->operands[3], "generator", 1, (int64_t[]){ 6 }, (int64_t[]){ 1 });
    call->operands[3].flags = OPD_OPERAND_STATE;
    call->attr_count = 2;
    call->attrs[0] = (opd_value){ .name = "size", .kind = OPD_VALUE_INTS, .i = 2, .ints = { 6, 7 } };
    call->attrs[1] = (opd_value){ .name = "dim", .kind = OPD_VALUE_INTS, .i = 1, .ints = { 6 } };
    opd_call_infer(call);
}

static void every_size_has_a_symbol(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call);
    const int64_t sizes[] = { 3, 5, 6, 4 };
    assert_int_equal(call.symbol_count, 4);
    for (int i = 0; i < call.symbol_count; i++) {
        assert_int_equal(call.symbols[i].i, sizes[i]);
    }
    opd_call_infer(&call);
    assert_int_equal(call.symbol_count, 4);
}

static void equal_sizes_change_together(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call);
    assert_int_equal(opd_call_set(&call, "n2", 2), OPD_OK);
    assert_int_equal(call.operands[0].view.shape[2], 2);
    assert_int_equal(call.operands[2].view.shape[2], 2);
    assert_int_equal(call.operands[3].view.shape[0], 6); /* a state */
    assert_int_equal(call.attrs[0].ints[0], 2);
    assert_int_equal(call.attrs[0].ints[1], 7);
    assert_int_equal(call.attrs[1].ints[0], 6); /* a position */
    /* Two sizes that have become equal stay apart. */
    assert_int_equal(opd_call_set(&call, "n1", 2), OPD_OK);
    assert_int_equal(opd_call_set(&call, "n2", 1), OPD_OK);
    assert_int_equal(call.operands[0].view.shape[1], 2);
    assert_int_equal(call.operands[0].view.shape[2], 1);
    assert_int_equal(opd_call_bind(&call), OPD_OK);
    assert_int_equal(opd_call_set(&call, "n9", 1), OPD_E_INVALID);
    assert_int_equal(opd_call_set(&call, "n0", -1), OPD_E_INVALID);
}

static void order_in_memory_stays_and_gaps_close(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call);
    assert_int_equal(opd_call_set(&call, "n1", 3), OPD_OK);
    const int64_t swapped[] = { 12, 1, 3 };
    assert_memory_equal(call.operands[1].view.stride, swapped, sizeof(swapped));
    assert_int_equal(opd_call_set(&call, "n3", 8), OPD_OK);
    assert_int_equal(call.operands[2].view.stride[0], 0); /* goes on repeating */
    for (int i = 0; i < call.operand_count; i++) {
        assert_int_equal(opd_tensor_check(&call.operands[i].view), OPD_OK);
    }
    assert_int_equal(opd_call_compact(&call), OPD_OK);
    const int64_t plain[] = { 24, 8, 1 };
    assert_memory_equal(call.operands[1].view.stride, plain, sizeof(plain));
}

static void calls_of_others_are_left_alone(void **state)
{
    (void)state;
    opd_call call;
    make_call(&call);
    call.symbol_count = 0;
    snprintf(call.domain, sizeof(call.domain), "%s", "torch:mine");
    opd_call_infer(&call);
    assert_int_equal(call.symbol_count, 0);
    assert_false(opd_call_is_foreign(&call));
    assert_int_not_equal(opd_call_set(&call, "n0", 1), OPD_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_has_a_symbol),
        cmocka_unit_test(equal_sizes_change_together),
        cmocka_unit_test(order_in_memory_stays_and_gaps_close),
        cmocka_unit_test(calls_of_others_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
