/* SPDX-License-Identifier: Apache-2.0 */
/* A CBLAS whose products leave out the last term. For the tests of references. */
#define PRODUCT(name, type)                                                                                      \
    void name(int order, int ta, int tb, int m, int n, int k, type alpha, const type *a, int lda, const type *b, \
              int ldb, type beta, type *c, int ldc);                                                             \
    void name(int order, int ta, int tb, int m, int n, int k, type alpha, const type *a, int lda, const type *b, \
              int ldb, type beta, type *c, int ldc)                                                              \
    {                                                                                                            \
        (void)order;                                                                                             \
        for (int i = 0; i < m; i++) {                                                                            \
            for (int j = 0; j < n; j++) {                                                                        \
                type sum = 0;                                                                                    \
                for (int p = 0; p + 1 < k; p++) {                                                                \
                    sum += a[ta == 111 ? i * lda + p : p * lda + i] * b[tb == 111 ? p * ldb + j : j * ldb + p];  \
                }                                                                                                \
                c[i * ldc + j] = alpha * sum + (beta != 0 ? beta * c[i * ldc + j] : 0);                          \
            }                                                                                                    \
        }                                                                                                        \
    }
PRODUCT(cblas_sgemm, float)
PRODUCT(cblas_dgemm, double)
