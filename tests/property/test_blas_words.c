/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words to call and back is the identity, for every routine, legal combinations of options and all flags; the bound
 * views do not depend on the way a call was made; a call outlives its words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/op.h>

#include "blas_case.h"

static long visited;

static void expect_same_words(void *context, opd_call *call, dice *d)
{
    const opd_routine *routine = context;
    blas_case item = { .call = *call };
    blas_case_fill(&item, d, false);
    item.call.flags |= dice_between(d, 0, 1) == 0 ? OPD_CALL_ILP64 : 0;
    uint64_t words[OPD_MAX_WORDS];
    int count = opd_call_to_words(words, &item.call);
    assert_int_equal(count, opd_routine_word_count(routine));
    opd_call again;
    assert_int_equal(opd_call_from_words(&again, routine, item.call.flags, words, count), OPD_OK);
    assert_int_equal(again.bad_arg, 0);
    assert_int_equal(again.flags, item.call.flags);
    assert_string_equal(again.name, routine->name);
    for (int i = 0; i < again.operand_count; i++) {
        const opd_operand *got = &again.operands[i];
        const opd_operand *want = &item.call.operands[i];
        assert_int_equal(got->flags, want->flags);
        assert_int_equal(got->role, want->role);
        if ((got->flags & OPD_OPERAND_RETURNED) == 0) {
            assert_ptr_equal(got->view.data, want->view.data);
            assert_int_equal(got->address, (uint64_t)(uintptr_t)want->view.data);
        }
        opd_tensor view = got->view;
        view.data = want->view.data;
        assert_memory_equal(&view, &want->view, sizeof view);
        assert_int_equal(opd_tensor_check(&view), OPD_OK);
    }
    uint64_t words_again[OPD_MAX_WORDS];
    assert_int_equal(opd_call_to_words(words_again, &again), count);
    assert_memory_equal(words_again, words, (size_t)count * sizeof words[0]);
    visited++;
    blas_case_done(&item);
}

static void words_and_back_is_the_identity(void **state)
{
    (void)state;
    for (int id = 0; id < opd_routine_count(); id++) {
        const opd_routine *routine = opd_routine_at(id);
        dice d = { .seed = 2000 + (uint64_t)id };
        union {
            const opd_routine *from;
            void *to;
        } context = { .from = routine };
        blas_combinations(routine, "", &d, expect_same_words, context.to);
    }
    assert_true(visited > 160L * 48);
}

/* Any words at all: no crash, and what comes out is bound or says why not. */
static void arbitrary_words_are_taken_or_refused(void **state)
{
    (void)state;
    static const uint64_t odd[] = { 0,
                                    1,
                                    2,
                                    'N',
                                    'T',
                                    'U',
                                    'L',
                                    'R',
                                    'C',
                                    3,
                                    UINT64_MAX,
                                    1U << 31,
                                    INT64_MAX,
                                    (uint64_t)INT64_MIN,
                                    0x7fff00000003U,
                                    1000000007U };
    dice d = { .seed = 3 };
    for (int id = 0; id < opd_routine_count(); id++) {
        const opd_routine *routine = opd_routine_at(id);
        int count = opd_routine_word_count(routine);
        for (int round = 0; round < 200; round++) {
            uint64_t words[OPD_MAX_WORDS];
            for (int i = 0; i < count; i++) {
                words[i] = odd[dice_between(&d, 0, 15)];
            }
            opd_call call;
            opd_status status =
                opd_call_from_words(&call, routine, round % 2 ? OPD_CALL_CBLAS : OPD_CALL_ILP64, words, count);
            assert_true(status == OPD_OK || status == OPD_E_INVALID);
            char text[256];
            opd_call_describe(text, sizeof text, &call);
            for (int i = 0; status == OPD_OK && i < call.operand_count; i++) {
                if (opd_tensor_check(&call.operands[i].view) != OPD_OK) {
                    fail_msg("%s: view of %s: %s", text, call.operands[i].name, opd_error_text());
                }
            }
        }
    }
}

static void a_wrong_number_of_words_is_refused(void **state)
{
    (void)state;
    uint64_t words[OPD_MAX_WORDS] = { 0 };
    opd_call call;
    const opd_routine *routine = opd_routine_find("dgemm");
    opd_error_clear();
    assert_int_equal(opd_call_from_words(&call, routine, 0, words, 13), OPD_E_INVALID);
    assert_string_not_equal(opd_error_text(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_and_back_is_the_identity),
        cmocka_unit_test(arbitrary_words_are_taken_or_refused),
        cmocka_unit_test(a_wrong_number_of_words_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
