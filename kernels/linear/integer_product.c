/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product of integers by rows, modulo 2^32 or 2^64: as unsigned numbers, which gives the signed ones' bits too. */
#include "linear_variants.h"

#include <string.h>

#define DEFINE_ROW(type)                                                  \
    static void row_##type(const opd_gemm *gemm, int64_t i)               \
    {                                                                     \
        typedef type number;                                              \
        type alpha = (type)(int64_t)gemm->alpha;                          \
        type beta = (type)(int64_t)gemm->beta;                            \
        const type *a = (const type *)gemm->a.data + i * gemm->a.row;     \
        const type *b = gemm->b.data;                                     \
        const type *c = gemm->c.data;                                     \
        number *y = (number *)gemm->y + i * gemm->y_row;                  \
        memset(y, 0, (size_t)gemm->n * sizeof *y);                        \
        for (int64_t k = 0; k < gemm->k; k++) {                           \
            type factor = a[k * gemm->a.column] * alpha;                  \
            for (int64_t j = 0; j < gemm->n; j++) {                       \
                y[j] += factor * b[k * gemm->b.row + j * gemm->b.column]; \
            }                                                             \
        }                                                                 \
        for (int64_t j = 0; c != NULL && j < gemm->n; j++) {              \
            y[j] += beta * c[i * gemm->c.row + j * gemm->c.column];       \
        }                                                                 \
    }
DEFINE_ROW(uint32_t)
DEFINE_ROW(uint64_t)

static void do_row(void *at, int64_t part)
{
    const opd_gemm_job *job = at;
    opd_gemm gemm = job->gemm;
    if (job->place != NULL) {
        job->place(&gemm, job->context, part / gemm.m);
    }
    (opd_dtype_size(gemm.y_dtype) == 4 ? row_uint32_t : row_uint64_t)(&gemm, part % gemm.m);
}

void opd_gemm_run_integer(const opd_gemm_job *job, const opd_workspace *workspace)
{
    opd_gemm_job copy = *job;
    opd_parallel(workspace->threads, job->batches * job->gemm.m, do_row, &copy);
}
