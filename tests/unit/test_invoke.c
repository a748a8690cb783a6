/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The foreign-function caller against functions with the real prototypes: 32 and 64-bit integers, enumerations, hidden
 * character lengths, scalars by value and by pointer, every kind of result.
 */
#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/op.h>

static char seen[512];

static opd_call call_of(const char *name, uint32_t flags)
{
    const opd_routine *routine = opd_routine_find(name);
    opd_call call;
    assert_int_equal(opd_call_init(&call, routine->op, routine->name, routine->dtype), OPD_OK);
    call.flags |= flags;
    for (int i = 0; i < call.symbol_count; i++) {
        assert_int_equal(opd_call_set(&call, call.symbols[i].name, i + 2), OPD_OK);
    }
    assert_int_equal(opd_call_compact(&call), OPD_OK);
    for (int i = 0; i < call.operand_count; i++) {
        call.operands[i].view.data = (void *)(uintptr_t)(0x1000U * (unsigned)(i + 1));
    }
    seen[0] = '\0';
    return call;
}

static void fake_zgemm_64(const char *ta, const char *tb, const int64_t *m, const int64_t *n, const int64_t *k,
                          const double *alpha, const void *a, const int64_t *lda, const void *b, const int64_t *ldb,
                          const double *beta, void *c, const int64_t *ldc, size_t length_a, size_t length_b)
{
    snprintf(seen, sizeof seen, "%c %c %lld %lld %lld %g%+gi %p %lld %p %lld %g%+gi %p %lld %zu %zu", *ta, *tb,
             (long long)*m, (long long)*n, (long long)*k, alpha[0], alpha[1], a, (long long)*lda, b, (long long)*ldb,
             beta[0], beta[1], c, (long long)*ldc, length_a, length_b);
}

static void fortran_ilp64_passes_everything_by_pointer(void **state)
{
    (void)state;
    opd_call call = call_of("zgemm", OPD_CALL_ILP64);
    opd_call_value(&call, "transb")->i = 'C';
    opd_call_value(&call, "alpha")->im = -2;
    opd_call_value(&call, "beta")->re = 0.5;
    opd_call_value(&call, "ldc")->i = INT64_C(1) << 33;
    assert_int_equal(opd_routine_call((opd_function *)fake_zgemm_64, &call), OPD_OK);
    assert_string_equal(seen, "N C 2 3 4 1-2i 0x1000 2 0x2000 4 0.5+0i 0x3000 8589934592 1 1");
}

static void fake_cblas_strmm(int order, int side, int uplo, int trans, int diag, int m, int n, float alpha,
                             const float *a, int lda, float *b, int ldb)
{
    snprintf(seen, sizeof seen, "%d %d %d %d %d %d %d %g %p %d %p %d", order, side, uplo, trans, diag, m, n,
             (double)alpha, (const void *)a, lda, (void *)b, ldb);
}

static void cblas_passes_enumerations_and_values(void **state)
{
    (void)state;
    opd_call call = call_of("strmm", OPD_CALL_CBLAS | OPD_CALL_ROW_MAJOR);
    opd_call_value(&call, "side")->i = 'R';
    opd_call_value(&call, "uplo")->i = 'L';
    opd_call_value(&call, "transa")->i = 'R';
    opd_call_value(&call, "diag")->i = 'U';
    opd_call_value(&call, "alpha")->re = -1.5;
    assert_int_equal(opd_call_compact(&call), OPD_OK);
    assert_int_equal(opd_routine_call((opd_function *)fake_cblas_strmm, &call), OPD_OK);
    assert_string_equal(seen, "101 142 122 114 132 2 3 -1.5 0x1000 3 0x2000 3");
}

static void fake_cblas_zher2k_64(int order, int uplo, int trans, int64_t n, int64_t k, const void *alpha, const void *a,
                                 int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc)
{
    const double *parts = alpha;
    snprintf(seen, sizeof seen, "%d %d %d %lld %lld %g%+gi %p %lld %p %lld %g %p %lld", order, uplo, trans,
             (long long)n, (long long)k, parts[0], parts[1], a, (long long)lda, b, (long long)ldb, beta, c,
             (long long)ldc);
}

static void cblas_passes_complex_scalars_by_pointer(void **state)
{
    (void)state;
    opd_call call = call_of("zher2k", OPD_CALL_CBLAS | OPD_CALL_ILP64);
    opd_call_value(&call, "alpha")->im = 3;
    opd_call_value(&call, "beta")->re = 0.25;
    assert_int_equal(opd_routine_call((opd_function *)fake_cblas_zher2k_64, &call), OPD_OK);
    assert_string_equal(seen, "102 121 111 2 3 1+3i 0x1000 2 0x2000 2 0.25 0x3000 2");
}

static void fake_somatcopy(const char *order, const char *trans, const int *rows, const int *cols, const float *alpha,
                           const float *a, const int *lda, float *b, const int *ldb, size_t length_order,
                           size_t length_trans)
{
    snprintf(seen, sizeof seen, "%c %c %d %d %g %p %d %p %d %zu %zu", *order, *trans, *rows, *cols, (double)*alpha,
             (const void *)a, *lda, (void *)b, *ldb, length_order, length_trans);
}

static void fortran_matcopy_passes_the_order(void **state)
{
    (void)state;
    opd_call call = call_of("somatcopy", OPD_CALL_ROW_MAJOR);
    assert_int_equal(opd_call_compact(&call), OPD_OK);
    assert_int_equal(opd_routine_call((opd_function *)fake_somatcopy, &call), OPD_OK);
    assert_string_equal(seen, "R N 2 3 1 0x1000 3 0x2000 3 1 1");
}

static float complex fake_cdotu(const int *n, const void *x, const int *incx, const void *y, const int *incy)
{
    snprintf(seen, sizeof seen, "%d %p %d %p %d", *n, x, *incx, y, *incy);
    return 1.5F - 2.5F * _Complex_I;
}

static double complex fake_zdotc(const int *n, const void *x, const int *incx, const void *y, const int *incy)
{
    snprintf(seen, sizeof seen, "%d %p %d %p %d", *n, x, *incx, y, *incy);
    return 3.5 + 4.5 * _Complex_I;
}

static void fake_cblas_zdotc_sub(int n, const void *x, int incx, const void *y, int incy, void *result)
{
    snprintf(seen, sizeof seen, "%d %p %d %p %d", n, x, incx, y, incy);
    ((double *)result)[0] = 5;
    ((double *)result)[1] = 6;
}

static double complex fake_cblas_zdotc(int n, const void *x, int incx, const void *y, int incy)
{
    snprintf(seen, sizeof seen, "%d %p %d %p %d", n, x, incx, y, incy);
    return 7 - 8 * _Complex_I;
}

static float complex fake_cblas_cdotu_64(int64_t n, const void *x, int64_t incx, const void *y, int64_t incy)
{
    snprintf(seen, sizeof seen, "%d %p %d %p %d", (int)n, x, (int)incx, y, (int)incy);
    return -9 + 10 * _Complex_I;
}

static void complex_results_come_back_in_every_form(void **state)
{
    (void)state;
    float single[2] = { 0 };
    double parts[2] = { 0 };
    opd_call call = call_of("cdotu", 0);
    call.operands[2].view.data = single;
    assert_int_equal(opd_routine_call((opd_function *)fake_cdotu, &call), OPD_OK);
    assert_true(single[0] == 1.5F && single[1] == -2.5F);
    assert_string_equal(seen, "2 0x1000 1 0x2000 1");
    call = call_of("zdotc", 0);
    call.operands[2].view.data = parts;
    assert_int_equal(opd_routine_call((opd_function *)fake_zdotc, &call), OPD_OK);
    assert_true(parts[0] == 3.5 && parts[1] == 4.5);
    call = call_of("zdotc", OPD_CALL_CBLAS);
    call.operands[2].view.data = parts;
    assert_int_equal(opd_routine_call((opd_function *)fake_cblas_zdotc_sub, &call), OPD_OK);
    assert_true(parts[0] == 5 && parts[1] == 6);
    assert_string_equal(seen, "2 0x1000 1 0x2000 1");
    seen[0] = '\0';
    call = call_of("zdotc", OPD_CALL_CBLAS | OPD_CALL_DIRECT);
    call.operands[2].view.data = parts;
    assert_int_equal(opd_routine_call((opd_function *)fake_cblas_zdotc, &call), OPD_OK);
    assert_true(parts[0] == 7 && parts[1] == -8);
    assert_string_equal(seen, "2 0x1000 1 0x2000 1");
    seen[0] = '\0';
    call = call_of("cdotu", OPD_CALL_CBLAS | OPD_CALL_DIRECT | OPD_CALL_ILP64);
    call.operands[2].view.data = single;
    assert_int_equal(opd_routine_call((opd_function *)fake_cblas_cdotu_64, &call), OPD_OK);
    assert_true(single[0] == -9 && single[1] == 10);
    assert_string_equal(seen, "2 0x1000 1 0x2000 1");
}

static float fake_cblas_sdsdot(int n, float sb, const float *x, int incx, const float *y, int incy)
{
    snprintf(seen, sizeof seen, "%d %g %p %d %p %d", n, (double)sb, (const void *)x, incx, (const void *)y, incy);
    return 7.25F;
}

static int64_t fake_idamax_64(const int64_t *n, const double *x, const int64_t *incx)
{
    (void)x;
    return *n + *incx + (INT64_C(1) << 40);
}

static int32_t fake_idamax(const int32_t *n, const double *x, const int32_t *incx)
{
    (void)x;
    return *n + *incx;
}

static size_t fake_cblas_idamax(int n, const double *x, int incx)
{
    (void)x;
    return (size_t)(n + incx);
}

static void real_and_index_results_come_back(void **state)
{
    (void)state;
    float single = 0;
    int64_t index = -1;
    opd_call call = call_of("sdsdot", OPD_CALL_CBLAS);
    call.operands[2].view.data = &single;
    assert_int_equal(opd_routine_call((opd_function *)fake_cblas_sdsdot, &call), OPD_OK);
    assert_true(single == 7.25F);
    assert_string_equal(seen, "2 1 0x1000 1 0x2000 1");
    call = call_of("idamax", OPD_CALL_ILP64);
    call.operands[1].view.data = &index;
    assert_int_equal(opd_routine_call((opd_function *)fake_idamax_64, &call), OPD_OK);
    assert_int_equal(index, 3 + (INT64_C(1) << 40));
    call = call_of("idamax", 0);
    call.operands[1].view.data = &index;
    assert_int_equal(opd_routine_call((opd_function *)fake_idamax, &call), OPD_OK);
    assert_int_equal(index, 3);
    call = call_of("idamax", OPD_CALL_CBLAS);
    call.operands[1].view.data = NULL;
    assert_int_equal(opd_routine_call((opd_function *)fake_cblas_idamax, &call), OPD_OK);
    call.operands[1].view.data = &index;
    assert_int_equal(opd_routine_call((opd_function *)fake_cblas_idamax, &call), OPD_OK);
    assert_int_equal(index, 3);
}

static void fake_daxpy(const int *n, const double *alpha, const double *x, const int *incx, double *y, const int *incy)
{
    snprintf(seen, sizeof seen, "%d %g %p %d %p %d", *n, *alpha, (const void *)x, *incx, (void *)y, *incy);
}

static void negative_increments_pass_the_lowest_address(void **state)
{
    (void)state;
    opd_call call = call_of("daxpy", 0);
    assert_int_equal(opd_call_set(&call, "n", 3), OPD_OK);
    assert_int_equal(opd_call_set(&call, "incx", -2), OPD_OK);
    assert_int_equal(opd_routine_call((opd_function *)fake_daxpy, &call), OPD_OK);
    /* Element 0 at 0x1000 is the last in memory: 4 elements of 8 bytes below it lies the argument. */
    assert_string_equal(seen, "3 1 0xfe0 -2 0x2000 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fortran_ilp64_passes_everything_by_pointer),
        cmocka_unit_test(cblas_passes_enumerations_and_values),
        cmocka_unit_test(cblas_passes_complex_scalars_by_pointer),
        cmocka_unit_test(fortran_matcopy_passes_the_order),
        cmocka_unit_test(complex_results_come_back_in_every_form),
        cmocka_unit_test(real_and_index_results_come_back),
        cmocka_unit_test(negative_increments_pass_the_lowest_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
