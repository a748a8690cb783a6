/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A caller of the 64-bit and prefixed names of stub_blas, of its slow routine, from the smallest stacks, and of the name
 * that no pattern knows.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef void gemm64(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, double alpha, const double *a,
                    int64_t lda, const double *b, int64_t ldb, double beta, double *c, int64_t ldc);
gemm64 cblas_dgemm64_, scipy_cblas_dgemm64_, cblas_dgemm_odd;
void dgemm_64_(const char *transa, const char *transb, const int64_t *m, const int64_t *n, const int64_t *k,
               const double *alpha, const double *a, const int64_t *lda, const double *b, const int64_t *ldb,
               const double *beta, double *c, const int64_t *ldc);
void dgemm_(const char *transa, const char *transb, const int64_t *m, const int64_t *n, const int64_t *k,
            const double *alpha, const double *a, const int64_t *lda, const double *b, const int64_t *ldb,
            const double *beta, double *c, const int64_t *ldc);
void cblas_dscal(int n, double alpha, double *x, int incx);

/*
 * Integers as a caller with 32-bit ones leaves them in registers and stack slots: the upper half is not its own.
 */
static void pass_garbage(const double *a, double *c)
{
    const int64_t garbage = (int64_t)0x5eed0000 << 32;
    cblas_dgemm64_(101, 111, 111, 2, 2, 2, 1, a, 2, a, 2, 0, c, 2);
    cblas_dgemm64_(101, 111, 111, garbage | 2, garbage | 2, garbage | 2, 1, a, garbage | 2, a, garbage | 2, 0, c,
                   garbage | 2);
}

static void *scale_in_thread(void *context)
{
    for (int i = 0; i < 5; i++) {
        cblas_dscal(2, 2.0, context, 1);
    }
    return NULL;
}

/* Eight threads, one after the other, with the smallest stack there is. */
static int use_small_stacks(double *x)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    int error = pthread_attr_setstacksize(&attributes, 16384);
    for (int i = 0; i < 8 && error == 0; i++) {
        error = pthread_create(&thread, &attributes, scale_in_thread, x);
        if (error == 0) {
            pthread_join(thread, NULL);
        }
    }
    return error;
}

int main(int count, char **arguments)
{
    double a[4] = { 1, 2, 3, 4 };
    double c[4] = { 0 };
    const int64_t two = 2;
    const double one = 1;
    const double zero = 0;
    const char *mode = count > 1 ? arguments[1] : "";
    if (strcmp(mode, "names") == 0) {
        cblas_dgemm64_(101, 111, 111, 2, 2, 2, 1, a, 2, a, 2, 0, c, 2);
        scipy_cblas_dgemm64_(101, 111, 111, 2, 2, 2, 1, a, 2, a, 2, 0, c, 2);
        dgemm_64_("N", "N", &two, &two, &two, &one, a, &two, a, &two, &zero, c, &two);
    } else if (strcmp(mode, "plain") == 0) {
        const int64_t none = 0;
        const int64_t wide = (int64_t)1 << 33; /* legal for the library, 0 to whoever reads 32 bits */
        dgemm_("N", "N", &two, &two, &two, &one, a, &two, a, &two, &zero, c, &two);
        dgemm_("N", "N", &none, &two, &two, &one, a, &wide, a, &two, &zero, c, &two);
    } else if (strcmp(mode, "garbage") == 0) {
        pass_garbage(a, c);
    } else if (strcmp(mode, "stacks") == 0) {
        printf("error %d\n", use_small_stacks(a));
    } else if (strcmp(mode, "odd") == 0) {
        cblas_dgemm_odd(101, 111, 111, 2, 2, 2, 1, a, 2, a, 2, 0, c, 2);
    } else {
        cblas_dscal(2, 2.0, a, 1);
        cblas_dscal(2, 12345.0, a, 1);
        cblas_dscal(2, 3.0, a, 1);
    }
    printf("%g %g %g %g %g\n", c[0], c[1], c[2], c[3], a[0]);
    return 0;
}
