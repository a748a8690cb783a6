/* SPDX-License-Identifier: Apache-2.0 */
/* Argument checks: positions and texts, increments that overflow, integers from the wrong interface. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/memory.h>
#include <opsdebug/op.h>

#define BASE 0x100000

static uint64_t real(double value)
{
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

struct expectation {
    const char *routine;
    uint32_t flags;
    uint64_t words[16];
    int count;
    int bad_arg;
    const char *text;
};

/* The words of the call are those it was made from, what is wrong with it included. */
static void expect_words(const struct expectation *e, const opd_call *call)
{
    uint64_t words[OPD_MAX_WORDS] = { 0 };
    assert_int_equal(opd_call_to_words(words, call), e->count);
    for (int i = 0; i < e->count; i++) {
        assert_int_equal(words[i], e->words[i]);
    }
}

static void expect(const struct expectation *e)
{
    opd_call call;
    assert_int_equal(opd_call_from_words(&call, opd_routine_find(e->routine), e->flags, e->words, e->count), OPD_OK);
    assert_int_equal(call.bad_arg, e->bad_arg);
    assert_int_equal((call.flags & OPD_CALL_BAD_ARGS) != 0, e->bad_arg != 0);
    char text[160];
    const opd_operand *overflow;
    assert_int_equal(opd_call_check(&call, text, sizeof text, &overflow), e->bad_arg == 0);
    assert_string_equal(text, e->text);
    assert_null(overflow);
    expect_words(e, &call);
    char name[OPD_NAME] = "";
    assert_int_equal(opd_call_bad_name(name, &call), e->bad_arg != 0);
    assert_true(strncmp(e->text, name, strlen(name)) == 0);
}

static void the_first_bad_argument_is_named(void **state)
{
    (void)state;
    const struct expectation cases[] = {
        { "dgemm",
          OPD_CALL_CBLAS,
          { 'R', 'N', 'N', 4, 4, 4, real(1), BASE, 4, BASE, 3, real(0), BASE, 4 },
          14,
          11,
          "ldb = 3 is less than max(1, n) = 4" },
        { "dgemm",
          0,
          { 'C', 'N', 'T', 4, 5, 6, real(1), BASE, 4, BASE, 4, real(0), BASE, 4 },
          14,
          10,
          "ldb = 4 is less than max(1, n) = 5" },
        { "dgemm",
          0,
          { 'C', 'N', 'Q', 4, 5, 6, real(1), BASE, 1, BASE, 1, real(0), BASE, 4 },
          14,
          2,
          "transb = Q is not one of NTCR" },
        { "dgemm",
          0,
          { 'C', 'N', 'N', (uint64_t)-4, 5, 6, real(1), BASE, 1, BASE, 1, real(0), BASE, 4 },
          14,
          3,
          "m = -4 is negative" },
        { "dgemm",
          OPD_CALL_CBLAS,
          { OPD_CHOICE_NUMBER + 7, 'N', 'N', 4, 5, 6, real(1), BASE, 4, BASE, 6, real(0), BASE, 4 },
          14,
          1,
          "order = 7 is neither 101 (row-major) nor 102 (column-major)" },
        { "dgemm",
          OPD_CALL_CBLAS,
          { 'R', 'N', OPD_CHOICE_NUMBER + 'N', 4, 5, 6, real(1), BASE, 6, BASE, 5, real(0), BASE, 5 },
          14,
          3,
          "transb = 78 is not one of NTCR" },
        { "domatcopy",
          0,
          { 'Q', 'N', 4, 5, real(1), BASE, 4, BASE, 4 },
          9,
          1,
          "order = Q is neither R (row-major) nor C (column-major)" },
        { "dgemv", 0, { 'C', 'N', 4, 5, real(1), BASE, 4, BASE, 0, real(0), BASE, 0 }, 12, 8, "incx = 0" },
        { "dgemv", 0, { 'C', 'N', 0, 0, real(1), 0, 1, 0, 1, real(0), 0, 1 }, 12, 0, "" },
        { "dgemv",
          0,
          { 'C', 'N', 0, 0, real(1), 0, 0, 0, 1, real(0), 0, 1 },
          12,
          6,
          "lda = 0 is less than max(1, m) = 1" },
        { "dgbmv",
          0,
          { 'C', 'N', 4, 5, 1, 2, real(1), BASE, 3, BASE, 1, real(0), BASE, 1 },
          14,
          8,
          "lda = 3 is less than 4, the diagonals of the band of A" },
        { "csyrk",
          0,
          { 'C', 'U', 'C', 4, 5, real(1), 0, BASE, 5, real(0), 0, BASE, 4 },
          13,
          2,
          "trans = C is not one of NT" },
        { "dsymm",
          0,
          { 'C', 'R', 'U', 4, 5, real(1), BASE, 4, BASE, 4, real(0), BASE, 4 },
          13,
          7,
          "lda = 4 is less than max(1, n) = 5" },
        { "daxpy", 0, { (uint64_t)-3, real(1), 0, 0, 0, 0 }, 6, 0, "" },
    };
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        expect(&cases[i]);
    }
}

/* A stride of -1073741825 over 3 elements: (3 - 1) * stride leaves int32, which the library computes in. */
static void an_increment_that_overflows_int32_is_found(void **state)
{
    (void)state;
    const uint64_t words[] = { 'C', 3, 3, real(1), (uint64_t)1 << 40, (uint64_t)-1073741825, BASE, 1, BASE, 3 };
    char text[160];
    const opd_operand *overflow;
    opd_call call;
    assert_int_equal(opd_call_from_words(&call, opd_routine_find("dger"), 0, words, 10), OPD_OK);
    assert_true(opd_call_check(&call, text, sizeof text, &overflow));
    assert_ptr_equal(overflow, opd_call_operand(&call, "x"));
    int64_t low;
    int64_t high;
    opd_tensor_span(&overflow->view, &low, &high);
    assert_int_equal(high - low, 2 * (int64_t)1073741825 * 8 + 8);
    /* With 64-bit integers it is a legal call. */
    assert_int_equal(opd_call_from_words(&call, opd_routine_find("dger"), OPD_CALL_ILP64, words, 10), OPD_OK);
    assert_true(opd_call_check(&call, text, sizeof text, &overflow));
    assert_null(overflow);
}

static void junk_in_the_high_half_of_an_integer_is_suspected(void **state)
{
    (void)state;
    uint64_t words[] = { 'C', 'U', 'N', 3, 75, real(1), BASE, 0x7fff00000003, real(0), BASE, 3 };
    opd_call call;
    assert_int_equal(opd_call_from_words(&call, opd_routine_find("dsyrk"), OPD_CALL_ILP64, words, 11), OPD_OK);
    assert_true((call.flags & OPD_CALL_ABI_SUSPECT) != 0);
    words[7] = 3;
    assert_int_equal(opd_call_from_words(&call, opd_routine_find("dsyrk"), OPD_CALL_ILP64, words, 11), OPD_OK);
    assert_int_equal(call.flags & OPD_CALL_ABI_SUSPECT, 0);
    /* A leading dimension of exactly 2^32, and one of 3 * 10^9, are large but honest. */
    words[7] = (uint64_t)1 << 32;
    assert_int_equal(opd_call_from_words(&call, opd_routine_find("dsyrk"), OPD_CALL_ILP64, words, 11), OPD_OK);
    assert_int_equal(call.flags & OPD_CALL_ABI_SUSPECT, 0);
    words[7] = 3000000000U;
    assert_int_equal(opd_call_from_words(&call, opd_routine_find("dsyrk"), OPD_CALL_ILP64, words, 11), OPD_OK);
    assert_int_equal(call.flags & OPD_CALL_ABI_SUSPECT, 0);
}

static void a_span_beyond_64_bits_leaves_nothing_to_touch(void **state)
{
    (void)state;
    const uint64_t words[] = { INT64_MAX, BASE, INT64_MAX, BASE, 1 };
    opd_call call;
    assert_int_equal(opd_call_from_words(&call, opd_routine_find("ddot"), OPD_CALL_ILP64, words, 5), OPD_OK);
    assert_true((opd_call_operand(&call, "x")->flags & OPD_OPERAND_UNREADABLE) != 0);
    assert_int_equal(opd_call_bind(&call), OPD_E_INVALID);
    assert_int_equal(opd_tensor_existing(&opd_call_operand(&call, "x")->view), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_bad_argument_is_named),
        cmocka_unit_test(an_increment_that_overflows_int32_is_found),
        cmocka_unit_test(junk_in_the_high_half_of_an_integer_is_suspected),
        cmocka_unit_test(a_span_beyond_64_bits_leaves_nothing_to_touch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
