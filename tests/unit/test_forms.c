/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of calls: what comes back is what went in; no number leads outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "forms.h"

static bool populate(void *start, uint64_t bytes)
{
    (void)start;
    (void)bytes;
    return true;
}

static bool refuse(void *start, uint64_t bytes)
{
    (void)start;
    (void)bytes;
    return false;
}

static int make_process(void **state)
{
    *state = aligned_alloc(_Alignof(opd_process), sizeof(opd_process)); /* without slots: forms use none */
    if (*state == NULL) {
        return -1;
    }
    memset(*state, 0, sizeof(opd_process));
    return 0;
}

static int free_process(void **state)
{
    free(*state);
    return 0;
}

static void make_call(opd_call *call, int64_t size)
{
    memset(call, 0, sizeof(*call));
    snprintf(call->domain, sizeof(call->domain), "%s", "aten");
    snprintf(call->name, sizeof(call->name), "%s", "baddbmm.out");
    snprintf(call->symbol, sizeof(call->symbol), "%s", "baddbmm.out");
    call->dtype = OPD_F32;
    call->attr_count = 3;
    call->attrs[0] = (opd_value){ .name = "beta", .kind = OPD_VALUE_REAL, .re = 0.5 };
    call->attrs[1] = (opd_value){ .name = "size", .kind = OPD_VALUE_INTS, .i = 2, .ints = { size, 3 } };
    call->attrs[2] = (opd_value){ .name = "mode", .kind = OPD_VALUE_TEXT, .text = "torch.strided" };
    call->operand_count = 2;
    call->operands[0] = (opd_operand){ .name = "self", .role = OPD_ROLE_IN };
    call->operands[0].view = (opd_tensor){ .dtype = OPD_F32, .rank = 2, .shape = { size, 3 }, .stride = { 1, size } };
    call->operands[1] = (opd_operand){ .name = "result", .role = OPD_ROLE_OUT, .flags = OPD_OPERAND_FRESH };
    call->operands[1].view = (opd_tensor){ .dtype = OPD_I64, .rank = 0 };
}

static void form_comes_back_with_words_of_a_call(void **state)
{
    opd_process *process = *state;
    opd_call call;
    opd_call back;
    make_call(&call, 7);
    assert_int_equal(opd_form_words(&call), 3);
    uint32_t form = opd_form_add(process, &call, populate);
    assert_int_equal(form, 1);
    make_call(&call, 8);
    assert_int_equal(opd_form_add(process, &call, populate), 2);
    assert_true(opd_form_read(&back, process, form));
    assert_string_equal(back.domain, "aten");
    assert_string_equal(back.symbol, "baddbmm.out");
    assert_int_equal(back.attrs[1].ints[0], 7);
    assert_string_equal(back.attrs[2].text, "torch.strided");
    assert_int_equal(back.operands[0].view.stride[1], 7);
    assert_int_equal(back.operands[1].flags, OPD_OPERAND_FRESH);
    double beta = -0.25;
    uint64_t words[3] = { 4096, 8192, 0 };
    memcpy(&words[2], &beta, sizeof(beta));
    opd_form_fill(&back, words);
    assert_int_equal(back.operands[1].address, 8192);
    assert_true(back.attrs[0].re == -0.25);
}

static void no_number_leads_outside(void **state)
{
    opd_process *process = *state;
    opd_call back;
    const uint64_t bad[] = { 0, 1, OPD_FORM_COUNT, OPD_FORM_COUNT + 1, UINT64_MAX };
    for (size_t i = 0; i < OPD_COUNT(bad); i++) {
        assert_false(opd_form_read(&back, process, bad[i]));
    }
    memset(process->form_bytes, 0xff, sizeof(process->form_bytes)); /* counts and ranks that cannot be */
    const uint32_t places[] = { 1, OPD_FORM_BYTES - 8, OPD_FORM_BYTES, UINT32_MAX };
    for (size_t i = 0; i < OPD_COUNT(places); i++) {
        atomic_store(&process->forms.places[0], places[i]);
        assert_false(opd_form_read(&back, process, 1));
    }
}

static void full_table_and_want_of_memory_give_no_form(void **state)
{
    opd_process *process = *state;
    opd_call call;
    make_call(&call, 7);
    assert_int_equal(opd_form_add(process, &call, refuse), 0);
    uint32_t last = 0;
    uint32_t made = 0;
    for (uint32_t form; (form = opd_form_add(process, &call, populate)) != 0; made++) {
        assert_true(form > last);
        last = form;
    }
    assert_true(made > 500);
    assert_int_equal(opd_form_add(process, &call, populate), 0);
    call.symbol_count = 1; /* of a call with symbols there is no form */
    assert_int_equal(opd_form_add(process, &call, populate), 0);
}

static void numbers_stay_good_in_a_copy(void **state)
{
    opd_process *process = *state;
    void *child = NULL;
    opd_call call;
    opd_call back;
    make_process(&child);
    make_call(&call, 9);
    uint32_t form = opd_form_add(process, &call, populate);
    opd_forms_copy(child, process, populate);
    assert_true(opd_form_read(&back, child, form) && back.attrs[1].ints[0] == 9);
    make_call(&call, 10);
    uint32_t next = opd_form_add(child, &call, populate);
    assert_true(next > form && opd_form_read(&back, child, next) && back.attrs[1].ints[0] == 10);
    free_process(&child);
    make_process(&child);
    opd_forms_copy(child, process, refuse); /* no memory: the parent's numbers never mean anything else */
    assert_int_equal(opd_form_add(child, &call, populate), 0);
    free_process(&child);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(form_comes_back_with_words_of_a_call, make_process, free_process),
        cmocka_unit_test_setup_teardown(no_number_leads_outside, make_process, free_process),
        cmocka_unit_test_setup_teardown(full_table_and_want_of_memory_give_no_form, make_process, free_process),
        cmocka_unit_test_setup_teardown(numbers_stay_good_in_a_copy, make_process, free_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
