/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The matrix product of this folder: y = finish(alpha a b + beta c) for a batch of matrices, f32, f64, and f16, bf16 in f32. One source
 * (gemm_template.h) compiled for each instruction set. Private to kernels/linear.
 *
 * Every output is summed in blocks of k of fixed length, each block in order, the blocks in order: its bits depend neither on where it
 * lies, nor on m, n, batch or threads.
 */
#ifndef OPD_KERNELS_GEMM_H
#define OPD_KERNELS_GEMM_H

#include <opsdebug/kernel.h>

typedef struct opd_matrix {
    const void *data; /* NULL: there is none */
    opd_dtype dtype;
    int64_t row, column; /* strides in elements */
} opd_matrix;

struct opd_gemm;
/* count elements of row k of b from column `first`, as accumulator numbers (double for f64, else float). */
typedef void opd_gemm_fill(void *row, const struct opd_gemm *gemm, int64_t k, int64_t first, int64_t count);
/* Changes count elements of a row of y before they are narrowed: accumulator numbers. */
typedef void opd_gemm_finish(void *row, int64_t count);

/* Sees count numbers of a row on their way to y, while stages are traced: the product, then with c added. */
typedef void opd_gemm_watch(const void *context, bool is_added, int64_t row, int64_t first, const void *numbers,
                            int64_t count);

/* Columns of the product from `first` go to y, whose rows are `count` elements apart. */
typedef struct opd_gemm_slice {
    int64_t first, count;
    void *y;
} opd_gemm_slice;

typedef struct opd_gemm {
    int64_t m, n, k;
    opd_matrix a, b, c; /* c: what is added, strides 0 where it is broadcast */
    double alpha, beta;
    void *y;
    opd_dtype y_dtype; /* f64 or not: the accumulator's type, and that of all matrices */
    int64_t y_row;
    opd_gemm_fill *fill; /* makes the rows of b; NULL: they are in memory */
    const void *fill_context;
    opd_gemm_finish *finish;      /* NULL = none */
    const opd_gemm_slice *slices; /* the columns of the product cut into outputs, instead of y; NULL = not */
    int slice_count;
    opd_gemm_watch *watch; /* NULL = nobody looks */
    const void *watch_context;
} opd_gemm;

/* Points a copy of the job's gemm at one product of the batch. */
typedef void opd_gemm_place(opd_gemm *gemm, const void *context, int64_t batch);

typedef struct opd_gemm_job {
    opd_gemm gemm;
    int64_t batches;
    opd_gemm_place *place; /* NULL: a batch of one */
    const void *context;
} opd_gemm_job;

/* Scratch bytes of each thread: an output tile of accumulators, packed blocks of a and b, one row. */
enum {
    OPD_GEMM_ROWS = 144,
    OPD_GEMM_COLUMN_BYTES = 768,
    OPD_GEMM_DEPTH_BYTES = 1024,
    OPD_GEMM_TILE_BYTES = OPD_GEMM_ROWS * OPD_GEMM_COLUMN_BYTES,
    OPD_GEMM_A_BYTES = OPD_GEMM_ROWS * OPD_GEMM_DEPTH_BYTES,
    OPD_GEMM_B_BYTES = OPD_GEMM_DEPTH_BYTES / 4 * OPD_GEMM_COLUMN_BYTES,
    OPD_GEMM_SCRATCH = OPD_GEMM_TILE_BYTES + OPD_GEMM_A_BYTES + OPD_GEMM_B_BYTES + OPD_GEMM_COLUMN_BYTES,
};

static inline size_t opd_gemm_workspace(int32_t threads)
{
    return (size_t)threads * OPD_GEMM_SCRATCH;
}

/* workspace holds opd_gemm_workspace(workspace->threads) bytes. */
typedef void opd_gemm_run(const opd_gemm_job *job, const opd_workspace *workspace);
opd_gemm_run opd_gemm_run_avx2, opd_gemm_run_avx512, opd_gemm_run_portable;

#endif
