/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of operands against the storage schemes of the BLAS manual, spelled out here element by element: offsets from the
 * pointer argument, and which elements exist.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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

static opd_call take(const char *name, uint32_t flags, const uint64_t *words, int count)
{
    opd_call call;
    assert_int_equal(opd_call_from_words(&call, opd_routine_find(name), flags, words, count), OPD_OK);
    return call;
}

/* Offset in elements from BASE of a view index. */
static int64_t offset(const opd_operand *operand, int64_t i, int64_t j)
{
    int64_t index[OPD_MAX_RANK] = { i, j };
    int64_t from = (int64_t)((uintptr_t)operand->view.data - BASE);
    return (from + opd_tensor_offset(&operand->view, index)) / (int64_t)opd_dtype_size(operand->view.dtype);
}

static bool exists(const opd_operand *operand, int64_t i, int64_t j)
{
    int64_t index[OPD_MAX_RANK] = { i, j };
    return opd_tensor_exists(&operand->view, index);
}

static void a_negative_increment_starts_at_the_far_end(void **state)
{
    (void)state;
    const uint64_t words[] = { 'C', 'N', 4, 3, real(1), BASE, 4, BASE, (uint64_t)-2, real(1), BASE, (uint64_t)-1 };
    opd_call call = take("dgemv", 0, words, 12);
    const opd_operand *x = opd_call_operand(&call, "x");
    const opd_operand *y = opd_call_operand(&call, "y");
    assert_int_equal(x->view.shape[0], 3);
    assert_int_equal(y->view.shape[0], 4);
    for (int64_t i = 0; i < 3; i++) {
        assert_int_equal(offset(x, i, 0), (2 - i) * 2);
    }
    for (int64_t i = 0; i < 4; i++) {
        assert_int_equal(offset(y, i, 0), 3 - i);
    }
}

static void dot_with_negative_increments_walks_backwards(void **state)
{
    (void)state;
    const uint64_t words[] = { 5, BASE, (uint64_t)-3, BASE, 2 };
    opd_call call = take("sdot", OPD_CALL_CBLAS, words, 5);
    assert_int_equal(offset(opd_call_operand(&call, "x"), 0, 0), 12);
    assert_int_equal(offset(opd_call_operand(&call, "x"), 4, 0), 0);
    assert_int_equal(offset(opd_call_operand(&call, "y"), 4, 0), 8);
}

static void scal_without_positive_increment_touches_nothing(void **state)
{
    (void)state;
    for (int inc = -2; inc <= 0; inc++) {
        const uint64_t words[] = { 5, real(2), BASE, (uint64_t)(int64_t)inc };
        opd_call call = take("dscal", 0, words, 4);
        assert_int_equal(opd_tensor_existing(&opd_call_operand(&call, "x")->view), 0);
        assert_int_equal(call.bad_arg, 0);
    }
    const uint64_t words[] = { (uint64_t)-5, real(2), BASE, 1 };
    opd_call call = take("dscal", 0, words, 4);
    assert_int_equal(opd_tensor_existing(&opd_call_operand(&call, "x")->view), 0);
}

static void an_increment_of_zero_repeats_one_element(void **state)
{
    (void)state;
    const uint64_t words[] = { 5, real(2), BASE, 0, BASE, 1 };
    opd_call call = take("daxpy", 0, words, 6);
    const opd_operand *x = opd_call_operand(&call, "x");
    assert_int_equal(x->view.shape[0], 5);
    assert_int_equal(offset(x, 4, 0), 0);
    assert_int_equal(call.bad_arg, 0);
}

/* Column-major: A(i, j) at AB(ku + i - j, j). Row-major: at row i, place kl + j - i. */
static void band_storage_follows_the_layout(void **state)
{
    (void)state;
    const int64_t m = 5, n = 7, kl = 1, ku = 2, ld = 6;
    for (int row = 0; row < 2; row++) {
        const uint64_t words[] = { row ? 'R' : 'C',
                                   'T',
                                   (uint64_t)m,
                                   (uint64_t)n,
                                   (uint64_t)kl,
                                   (uint64_t)ku,
                                   real(1),
                                   BASE,
                                   (uint64_t)ld,
                                   BASE,
                                   1,
                                   real(1),
                                   BASE,
                                   1 };
        opd_call call = take("dgbmv", OPD_CALL_CBLAS, words, 14);
        const opd_operand *a = opd_call_operand(&call, "A");
        assert_int_equal(opd_call_operand(&call, "x")->view.shape[0], m);
        assert_int_equal(opd_call_operand(&call, "y")->view.shape[0], n);
        int64_t found = 0;
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < n; j++) {
                if (i - j > kl || j - i > ku) {
                    continue;
                }
                int64_t first = row ? i : ku + i - j;
                int64_t second = row ? kl + j - i : j;
                assert_true(exists(a, first, second));
                assert_int_equal(offset(a, first, second), row ? i * ld + kl + j - i : ku + i - j + j * ld);
                found++;
            }
        }
        assert_int_equal(opd_tensor_existing(&a->view), found);
    }
}

/* Packed upper by columns: A(i, j) at i + j(j+1)/2; by rows: the lower triangle of the transpose by columns. */
static void packed_unit_triangle_follows_the_layout(void **state)
{
    (void)state;
    const int64_t n = 6;
    for (int form = 0; form < 4; form++) {
        bool row = form & 1;
        bool upper = form & 2;
        const uint64_t words[] = { row ? 'R' : 'C', upper ? 'U' : 'L', 'N', 'U', (uint64_t)n, BASE, BASE, 1 };
        opd_call call = take("dtpsv", OPD_CALL_CBLAS, words, 8);
        const opd_operand *a = opd_call_operand(&call, "AP");
        assert_int_equal(a->view.rank, 1);
        assert_int_equal(a->view.shape[0], n * (n + 1) / 2);
        bool seen[21] = { false };
        int64_t at = 0;
        for (int64_t outer = 0; outer < n; outer++) {
            for (int64_t inner = 0; inner < n; inner++) {
                int64_t i = row ? outer : inner;
                int64_t j = row ? inner : outer;
                if (upper ? i > j : i < j) {
                    continue;
                }
                assert_int_equal(exists(a, at, 0), i != j);
                seen[at++] = true;
            }
        }
        assert_int_equal(at, 21);
        assert_true(seen[20]);
        assert_int_equal(opd_tensor_existing(&a->view), n * (n - 1) / 2);
    }
}

static void symm_right_lower_row_major(void **state)
{
    (void)state;
    const int64_t m = 3, n = 4;
    const uint64_t words[] = { 'R', 'R', 'L', (uint64_t)m, (uint64_t)n, real(1), BASE, 5, BASE, 6, real(0), BASE, 7 };
    opd_call call = take("dsymm", OPD_CALL_CBLAS, words, 13);
    const opd_operand *a = opd_call_operand(&call, "A");
    const opd_operand *c = opd_call_operand(&call, "C");
    assert_int_equal(a->view.shape[0], n);
    assert_int_equal(a->view.shape[1], n);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            assert_int_equal(exists(a, i, j), i >= j);
            assert_int_equal(offset(a, i, j), i * 5 + j);
        }
    }
    assert_int_equal(offset(c, 2, 3), 2 * 7 + 3);
    assert_int_equal(c->flags & OPD_OPERAND_MUST_NOT_READ, OPD_OPERAND_MUST_NOT_READ);
    assert_int_equal(c->role, OPD_ROLE_INOUT);
    assert_int_equal(a->flags & OPD_OPERAND_MUST_NOT_READ, 0);
}

static void transposition_is_in_the_shape_not_in_the_strides(void **state)
{
    (void)state;
    const uint64_t words[] = { 'C', 'T', 'C', 2, 3, 4, real(1), real(0), BASE, 9, BASE, 8, real(0), real(0), BASE, 7 };
    opd_call call = take("zgemm", 0, words, 16);
    const opd_operand *a = opd_call_operand(&call, "A");
    const opd_operand *b = opd_call_operand(&call, "B");
    assert_int_equal(a->view.shape[0], 4);
    assert_int_equal(a->view.shape[1], 2);
    assert_int_equal(b->view.shape[0], 3);
    assert_int_equal(b->view.shape[1], 4);
    assert_int_equal(a->view.stride[0], 1);
    assert_int_equal(a->view.stride[1], 9);
    assert_int_equal(b->view.stride[1], 8);
}

/* Which operands must not be read, by the text of the BLAS documentation. */
static void operands_that_must_not_be_read_are_marked(void **state)
{
    (void)state;
    static const struct {
        const char *routine;
        const char *set[3];
        int64_t value[3];
        const char *marked;
    } cases[] = {
        { "dgemm", { NULL }, { 0 }, "" },
        { "dgemm", { "alpha" }, { 0 }, "A B" },
        { "dgemm", { "beta" }, { 0 }, "C" },
        { "dgemm", { "alpha", "beta" }, { 0, 0 }, "A B C" },
        { "dgemv", { "alpha", "beta" }, { 0, 0 }, "A x y" },
        { "zhemm", { "alpha" }, { 0 }, "A B" },
        { "csyrk", { "alpha", "beta" }, { 0, 1 }, "A" },
        { "zher2k", { "beta" }, { 0 }, "C" },
        { "dtrsm", { "alpha" }, { 0 }, "A B" },
        { "strmm", { "alpha" }, { 2 }, "" },
        { "dger", { "alpha" }, { 0 }, "x y" },
        { "cher", { "alpha" }, { 0 }, "x" },
        { "dspr2", { "alpha" }, { 0 }, "x y" },
        { "daxpy", { "alpha" }, { 0 }, "x" },
        { "daxpby", { "alpha", "beta" }, { 0, 0 }, "x y" },
        { "dscal", { "alpha" }, { 0 }, "" },
        { "dsbmv", { "alpha" }, { 0 }, "A x" },
        { "zhpmv", { "alpha" }, { 0 }, "AP x" },
        { "domatcopy", { "alpha" }, { 0 }, "A" },
        { "dgemm", { "n", "alpha" }, { 0, 1 }, "A" },
        { "dgemv", { "n", "beta" }, { 0, 0 }, "x" },
    };
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        const opd_routine *routine = opd_routine_find(cases[i].routine);
        opd_call call;
        assert_int_equal(opd_call_init(&call, routine->op, routine->name, routine->dtype), OPD_OK);
        for (int k = 0; k < 3 && cases[i].set[k] != NULL; k++) {
            assert_int_equal(opd_call_set(&call, cases[i].set[k], cases[i].value[k]), OPD_OK);
        }
        char marked[64] = "";
        size_t used = 0;
        for (int k = 0; k < call.operand_count; k++) {
            if ((call.operands[k].flags & OPD_OPERAND_MUST_NOT_READ) != 0) {
                used += (size_t)snprintf(marked + used, sizeof marked - used, "%s%s", used > 0 ? " " : "",
                                         call.operands[k].name);
            }
        }
        assert_string_equal(marked, cases[i].marked);
    }
}

static void imatcopy_writes_over_its_operand(void **state)
{
    (void)state;
    const uint64_t words[] = { 'R', 'T', 2, 3, real(1), BASE, 3, 2 };
    opd_call call = take("dimatcopy", OPD_CALL_CBLAS, words, 8);
    const opd_operand *b = opd_call_operand(&call, "B");
    assert_int_equal(b->role, OPD_ROLE_OUT);
    assert_int_equal(b->view.shape[0], 3);
    assert_int_equal(b->view.shape[1], 2);
    assert_ptr_equal(b->view.data, opd_call_operand(&call, "A")->view.data);
}

static void a_bound_call_survives_more_binds(void **state)
{
    (void)state;
    const uint64_t words[] = { 5, BASE, (uint64_t)-3, BASE, 2 };
    opd_call call = take("ddot", 0, words, 5);
    opd_call again = call;
    assert_int_equal(opd_call_bind(&again), OPD_OK);
    assert_memory_equal(&again, &call, sizeof call);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_negative_increment_starts_at_the_far_end),
        cmocka_unit_test(dot_with_negative_increments_walks_backwards),
        cmocka_unit_test(scal_without_positive_increment_touches_nothing),
        cmocka_unit_test(an_increment_of_zero_repeats_one_element),
        cmocka_unit_test(band_storage_follows_the_layout),
        cmocka_unit_test(packed_unit_triangle_follows_the_layout),
        cmocka_unit_test(symm_right_lower_row_major),
        cmocka_unit_test(transposition_is_in_the_shape_not_in_the_strides),
        cmocka_unit_test(operands_that_must_not_be_read_are_marked),
        cmocka_unit_test(imatcopy_writes_over_its_operand),
        cmocka_unit_test(a_bound_call_survives_more_binds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
