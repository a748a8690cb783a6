/* SPDX-License-Identifier: Apache-2.0 */
/* A CBLAS found at run time. Private to kernels/linear. */
#ifndef OPD_KERNELS_BLAS_PROVIDER_H
#define OPD_KERNELS_BLAS_PROVIDER_H

#include <stdint.h>

enum { OPD_CBLAS_ROW_MAJOR = 101, OPD_CBLAS_NO_TRANS = 111, OPD_CBLAS_TRANS = 112 };

typedef void opd_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                       const float *b, int ldb, float beta, float *c, int ldc);
typedef void opd_dgemm(int order, int trans_a, int trans_b, int m, int n, int k, double alpha, const double *a, int lda,
                       const double *b, int ldb, double beta, double *c, int ldc);

typedef struct opd_blas {
    opd_sgemm *sgemm;
    opd_dgemm *dgemm;
} opd_blas;

/*
 * The first library of the table that loads and has both products; NULL when there is none. It is looked for on the first call, not at start:
 * a process that already holds another BLAS must not get this one unasked.
 */
const opd_blas *opd_blas_find(void);
/* Another one, of which the variant is asked for by name: the one that opd_engine_use() names, else netlib's. NULL when there is none. */
const opd_blas *opd_blas_other(void);
/* Lets the library use that many threads, where it can be told (its setting is global). */
void opd_blas_set_threads(int32_t threads);

#endif
