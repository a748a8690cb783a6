/* SPDX-License-Identifier: Apache-2.0 */
/* What counts as the same failure. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <opsdebug/replay.h>

static bool same(opd_failure expected, opd_failure observed)
{
    return opd_failure_same(&expected, &observed);
}

#define FAILURE(...) ((opd_failure){ __VA_ARGS__ })

static void class_and_operand_decide(void **state)
{
    (void)state;
    assert_true(same(FAILURE(.outcome = OPD_OUTCOME_NAN_BORN, .operand = "C"),
                     FAILURE(.outcome = OPD_OUTCOME_NAN_BORN, .operand = "C")));
    assert_false(same(FAILURE(.outcome = OPD_OUTCOME_NAN_BORN, .operand = "C"),
                      FAILURE(.outcome = OPD_OUTCOME_NAN_BORN, .operand = "x")));
    assert_false(same(FAILURE(.outcome = OPD_OUTCOME_NAN_BORN, .operand = "C"),
                      FAILURE(.outcome = OPD_OUTCOME_INF_BORN, .operand = "C")));
    assert_false(same(FAILURE(.outcome = OPD_OUTCOME_NAN_BORN, .operand = "C"), FAILURE(.outcome = OPD_OUTCOME_OK)));
    /* An operand that was not known is no contradiction. */
    assert_true(same(FAILURE(.outcome = OPD_OUTCOME_CRASH, .signal = SIGSEGV),
                     FAILURE(.outcome = OPD_OUTCOME_CRASH, .signal = SIGSEGV, .operand = "x")));
}

static void guards_explain_crashes(void **state)
{
    (void)state;
    assert_true(same(FAILURE(.outcome = OPD_OUTCOME_CRASH, .signal = SIGSEGV),
                     FAILURE(.outcome = OPD_OUTCOME_OOB_READ, .operand = "x")));
    assert_true(same(FAILURE(.outcome = OPD_OUTCOME_CRASH, .signal = SIGBUS),
                     FAILURE(.outcome = OPD_OUTCOME_OOB_WRITE, .operand = "x")));
    assert_true(same(FAILURE(.outcome = OPD_OUTCOME_OOB_READ, .operand = "x"),
                     FAILURE(.outcome = OPD_OUTCOME_CRASH, .signal = SIGSEGV)));
    assert_false(
        same(FAILURE(.outcome = OPD_OUTCOME_CRASH, .signal = SIGABRT), FAILURE(.outcome = OPD_OUTCOME_OOB_READ)));
    assert_false(same(FAILURE(.outcome = OPD_OUTCOME_CRASH, .signal = SIGFPE),
                      FAILURE(.outcome = OPD_OUTCOME_CRASH, .signal = SIGSEGV)));
    assert_false(same(FAILURE(.outcome = OPD_OUTCOME_OOB_READ), FAILURE(.outcome = OPD_OUTCOME_OOB_WRITE)));
    assert_false(same(FAILURE(.outcome = OPD_OUTCOME_CRASH, .signal = SIGSEGV), FAILURE(.outcome = OPD_OUTCOME_HANG)));
}

static void no_failure_never_comes_back(void **state)
{
    static const opd_outcome none[] = { OPD_OUTCOME_OK, OPD_OUTCOME_REQUESTED, OPD_OUTCOME_HARNESS,
                                        OPD_OUTCOME_UNSUPPORTED, (opd_outcome)1000 };
    (void)state;
    for (size_t i = 0; i < OPD_COUNT(none); i++) {
        assert_false(same(FAILURE(.outcome = none[i]), FAILURE(.outcome = none[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(class_and_operand_decide),
        cmocka_unit_test(guards_explain_crashes),
        cmocka_unit_test(no_failure_never_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
