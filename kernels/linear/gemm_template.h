/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix product for one accumulator type and one instruction set. The output is cut into tiles; a tile is one part of the work. For each block
 * of k, a block of rows of a and of columns of b are packed into panels, converted on the way, and multiplied into the tile's sums.
 */
#include "tile_vectors.h"

#include "row_template.h"

enum {
    NAME(COLUMNS) = OPD_GEMM_COLUMN_BYTES / sizeof(real),
    NAME(DEPTH) = OPD_GEMM_DEPTH_BYTES / sizeof(real),
};
#define COLUMNS NAME(COLUMNS)
#define DEPTH   NAME(DEPTH)

typedef struct NAME(scratch) {
    real *tile, *a, *b, *row;
} NAME(scratch);

static const void *NAME(element)(const opd_matrix *matrix, int64_t row, int64_t column)
{
    return NAME(element_at)(matrix->data, matrix->dtype, row * matrix->row + column * matrix->column);
}

/* rows of a, PANEL_ROWS to a panel, whose missing rows are zero. */
static void NAME(pack_a)(real *to, const opd_gemm *gemm, int64_t first, int64_t rows, int64_t k, int64_t depth)
{
    for (int64_t row = 0; row < rows; row += PANEL_ROWS) {
        real *panel = to + row * depth;
        for (int64_t i = 0; i < PANEL_ROWS; i++) {
            if (row + i < rows) {
                NAME(gather)
                (panel + i, PANEL_ROWS, gemm->a.dtype, NAME(element)(&gemm->a, first + row + i, k), gemm->a.column,
                 depth);
            } else {
                for (int64_t j = 0; j < depth; j++) {
                    panel[j * PANEL_ROWS + i] = 0;
                }
            }
        }
    }
}

/* Row k of b into row `at` of the panels. */
static void NAME(spread)(real *to, const real *row, int64_t at, int64_t depth, int64_t columns)
{
    int64_t first = 0;
    real *panel = to + at * PANEL;
    for (; first + PANEL <= columns; first += PANEL) {
        memcpy(panel, row + first, PANEL * sizeof(real));
        panel += depth * PANEL;
    }
    for (int64_t j = 0; j < PANEL && first < columns; j++) {
        panel[j] = first + j < columns ? row[first + j] : 0;
    }
}

/* Are a row's elements accumulator numbers side by side? */
static bool NAME(is_plain)(const opd_matrix *matrix)
{
    return matrix->column == 1 && opd_dtype_size(matrix->dtype) == sizeof(real);
}

static void NAME(pack_b)(const NAME(scratch) * scratch, const opd_gemm *gemm, int64_t first, int64_t columns, int64_t k,
                         int64_t depth)
{
    if (gemm->fill == NULL && gemm->b.column != 1) {
        for (int64_t j = 0; j < (columns + PANEL - 1) / PANEL * PANEL; j++) {
            real *panel = scratch->b + j / PANEL * PANEL * depth + j % PANEL;
            for (int64_t i = 0; i < depth && j >= columns; i++) {
                panel[i * PANEL] = 0;
            }
            if (j < columns) {
                NAME(gather)(panel, PANEL, gemm->b.dtype, NAME(element)(&gemm->b, k, first + j), gemm->b.row, depth);
            }
        }
        return;
    }
    for (int64_t i = 0; i < depth; i++) {
        const real *row = scratch->row;
        if (gemm->fill != NULL) {
            gemm->fill(scratch->row, gemm, k + i, first, columns);
        } else if (NAME(is_plain)(&gemm->b)) {
            row = NAME(element)(&gemm->b, k + i, first);
        } else {
            NAME(gather)(scratch->row, 1, gemm->b.dtype, NAME(element)(&gemm->b, k + i, first), 1, columns);
        }
        NAME(spread)(scratch->b, row, i, depth, columns);
    }
}

static void NAME(write_row)(const NAME(scratch) * scratch, const opd_gemm *gemm, int64_t row, int64_t first,
                            int64_t columns, real *sums)
{
    if (gemm->alpha != 1) {
        for (int64_t j = 0; j < columns; j++) {
            sums[j] *= (real)gemm->alpha;
        }
    }
    if (gemm->watch != NULL) {
        gemm->watch(gemm->watch_context, false, row, first, sums, columns);
    }
    if (gemm->c.data != NULL) {
        NAME(gather)(scratch->row, 1, gemm->c.dtype, NAME(element)(&gemm->c, row, first), gemm->c.column, columns);
        for (int64_t j = 0; j < columns; j++) {
            sums[j] += gemm->beta == 1 ? scratch->row[j] : (real)gemm->beta * scratch->row[j];
        }
    }
    if (gemm->watch != NULL) {
        gemm->watch(gemm->watch_context, true, row, first, sums, columns);
    }
    if (gemm->finish != NULL) {
        gemm->finish(sums, columns);
    }
    if (gemm->slices == NULL) {
        int64_t at = row * gemm->y_row + first;
        NAME(scatter)(gemm->y_dtype, NAME(element_out)(gemm->y, gemm->y_dtype, at), sums, columns);
    }
    for (int i = 0; gemm->slices != NULL && i < gemm->slice_count; i++) {
        const opd_gemm_slice *slice = &gemm->slices[i];
        int64_t from = first > slice->first ? first : slice->first;
        int64_t end = first + columns < slice->first + slice->count ? first + columns : slice->first + slice->count;
        if (from < end) {
            int64_t at = row * slice->count + from - slice->first;
            NAME(scatter)
            (gemm->y_dtype, NAME(element_out)(slice->y, gemm->y_dtype, at), sums + from - first, end - from);
        }
    }
}

static void NAME(do_tile)(const NAME(scratch) * scratch, const opd_gemm *gemm, int64_t row, int64_t column)
{
    int64_t rows = gemm->m - row < OPD_GEMM_ROWS ? gemm->m - row : OPD_GEMM_ROWS;
    int64_t columns = gemm->n - column < COLUMNS ? gemm->n - column : COLUMNS;
    memset(scratch->tile, 0, (size_t)((rows + PANEL_ROWS - 1) / PANEL_ROWS * PANEL_ROWS * COLUMNS) * sizeof(real));
    for (int64_t k = 0; k < gemm->k; k += DEPTH) {
        int64_t depth = gemm->k - k < DEPTH ? gemm->k - k : DEPTH;
        /* Whole panels of rows that need no conversion are read where they are, unless all rows fall on the same cache sets. */
        bool is_spread = gemm->a.row * (int64_t)sizeof(real) % 4096 != 0;
        int64_t in_place = NAME(is_plain)(&gemm->a) && is_spread ? rows / PANEL_ROWS * PANEL_ROWS : 0;
        NAME(pack_a)(scratch->a, gemm, row + in_place, rows - in_place, k, depth);
        NAME(pack_b)(scratch, gemm, column, columns, k, depth);
        for (int64_t j = 0; j < columns; j += PANEL) {
            real *tile = scratch->tile + j;
            for (int64_t i = 0; i < in_place; i += PANEL_ROWS) {
                NAME(multiply_rows)
                (PANEL_ROWS, depth, NAME(element)(&gemm->a, row + i, k), 1, gemm->a.row, scratch->b + j * depth,
                 tile + i * COLUMNS, COLUMNS, 1);
            }
            for (int64_t i = in_place; i < rows; i += PANEL_ROWS) {
                NAME(multiply_rows)
                (PANEL_ROWS, depth, scratch->a + (i - in_place) * depth, PANEL_ROWS, 1, scratch->b + j * depth,
                 tile + i * COLUMNS, COLUMNS, 1);
            }
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        NAME(write_row)(scratch, gemm, row + i, column, columns, scratch->tile + i * COLUMNS);
    }
}

static void NAME(do_part)(const opd_gemm_job *job, void *bytes, int64_t part)
{
    char *at = bytes;
    NAME(scratch)
    scratch = { .tile = (real *)(void *)at,
                .a = (real *)(void *)(at + OPD_GEMM_TILE_BYTES),
                .b = (real *)(void *)(at + OPD_GEMM_TILE_BYTES + OPD_GEMM_A_BYTES),
                .row = (real *)(void *)(at + OPD_GEMM_SCRATCH - OPD_GEMM_COLUMN_BYTES) };
    int64_t down = (job->gemm.m + OPD_GEMM_ROWS - 1) / OPD_GEMM_ROWS;
    int64_t across = (job->gemm.n + COLUMNS - 1) / COLUMNS;
    opd_gemm gemm = job->gemm;
    if (job->place != NULL) {
        job->place(&gemm, job->context, part / (down * across));
    }
    NAME(do_tile)(&scratch, &gemm, part / across % down * OPD_GEMM_ROWS, part % across * COLUMNS);
}

static int64_t NAME(part_count)(const opd_gemm_job *job)
{
    return job->batches * ((job->gemm.m + OPD_GEMM_ROWS - 1) / OPD_GEMM_ROWS) * ((job->gemm.n + COLUMNS - 1) / COLUMNS);
}

#include "tile_done.h"
