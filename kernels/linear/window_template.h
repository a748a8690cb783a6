/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sliding windows for one accumulator type and one instruction set. An output row is made in memory of the accumulator's type, one kernel
 * position after the other in row-major order, as the definition does it.
 */
#include "tile_vectors.h"

#include "row_template.h"

/* sums[i] += weight * x[i] */
static void NAME(add_weighted)(real *sums, const real *x, real weight, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        vec_at *to = (vec_at *)(sums + i);
        *to = NAME(multiply_add)(NAME(splat)(weight), *(const vec_at *)(x + i), *to);
    }
    for (; i < count; i++) {
        sums[i] = NAME(multiply_add)((vec){ weight }, (vec){ x[i] }, (vec){ sums[i] })[0];
    }
}

static void NAME(add)(real *sums, const real *x, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        *(vec_at *)(sums + i) += *(const vec_at *)(x + i);
    }
    for (; i < count; i++) {
        sums[i] += x[i];
    }
}

/* A NaN is larger than any number. */
static void NAME(keep_larger)(real *largest, const real *x, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        vec old = *(vec_at *)(largest + i);
        vec now = *(const vec_at *)(x + i);
        NAME(vec_bits) is_kept = ~((now > old) | (now != now));
        *(vec_at *)(largest + i) = (vec)(((NAME(vec_bits))old & is_kept) | ((NAME(vec_bits))now & ~is_kept));
    }
    for (; i < count; i++) {
        largest[i] = x[i] > largest[i] || x[i] != x[i] ? x[i] : largest[i];
    }
}

/* count elements from x[from], step apart, as accumulator numbers: in place where they are that already. */
static const real *NAME(source)(real *row, opd_dtype dtype, const void *x, int64_t from, int64_t step, int64_t count)
{
    const void *at = (const char *)x + from * (int64_t)opd_dtype_size(dtype);
    if (step == 1 && opd_dtype_size(dtype) == sizeof(real)) {
        return at;
    }
    NAME(gather)(row, 1, dtype, at, step, count);
    return row;
}

static void NAME(slide)(const opd_window_job *job, real *sums, real *row, const void *x, int64_t from, int64_t weights)
{
    int last = job->window.rank - 1;
    for (int64_t at = 0; at < job->window.kernel[last]; at++) {
        int64_t low = 0;
        int64_t high = 0;
        opd_window_reach(&low, &high, &job->window, at);
        if (low >= high) {
            continue;
        }
        int64_t first = from + opd_window_input(&job->window, last, low, at);
        const real *values = NAME(source)(row, job->dtype, x, first, job->window.stride[last], high - low);
        if (job->kind == OPD_WINDOW_MAX) {
            NAME(keep_larger)(sums + low, values, high - low);
        } else if (job->kind == OPD_WINDOW_MEAN) {
            NAME(add)(sums + low, values, high - low);
        } else {
            real weight;
            NAME(gather)(&weight, 1, job->dtype, NAME(element_at)(job->weight, job->dtype, weights + at), 1, 1);
            NAME(add_weighted)(sums + low, values, weight, high - low);
        }
    }
}

/* What is done to a row after its last kernel position. */
static void NAME(finish_row)(const opd_window_job *job, real *sums, int64_t plane, int64_t to)
{
    const opd_window *window = &job->window;
    int last = window->rank - 1;
    if (job->kind == OPD_WINDOW_CONV && job->bias != NULL) {
        real bias;
        NAME(gather)(&bias, 1, job->dtype, NAME(element_at)(job->bias, job->dtype, plane % job->filters), 1, 1);
        for (int64_t i = 0; i < window->output[last]; i++) {
            sums[i] += bias;
        }
    }
    if (job->kind == OPD_WINDOW_MEAN) {
        int64_t count = 1;
        for (int i = last - 1; i >= 0; i--) {
            count *= opd_window_count(window, i, to % window->output[i], job->counts_pad);
            to /= window->output[i];
        }
        for (int64_t i = 0; i < window->output[last]; i++) {
            sums[i] /= (real)(count * opd_window_count(window, last, i, job->counts_pad));
        }
    }
}

static void NAME(do_row)(const opd_window_job *job, real *scratch, int64_t plane, int64_t to)
{
    const opd_window *window = &job->window;
    int64_t width = window->output[window->rank - 1];
    int64_t depth = window->kernel[window->rank - 1];
    real *row = scratch + opd_window_scratch(window) / 2 / sizeof(real);
    bool is_conv = job->kind == OPD_WINDOW_CONV;
    int64_t channels = is_conv ? job->channels : 1;
    int64_t from =
        is_conv ? plane / job->filters * job->x_planes + plane % job->filters / job->per_group * channels : plane;
    for (int64_t i = 0; i < width; i++) {
        scratch[i] = job->kind == OPD_WINDOW_MAX ? -(real)INFINITY : 0;
    }
    for (int64_t i = 0; i < channels * (window->kernel_count / depth); i++) {
        int64_t at = opd_window_row(window, to, i % (window->kernel_count / depth));
        if (at >= 0) {
            int64_t channel = i / (window->kernel_count / depth);
            int64_t weights =
                (plane % (is_conv ? job->filters : 1) * channels * (window->kernel_count / depth) + i) * depth;
            NAME(slide)(job, scratch, row, job->x, (from + channel) * window->input_count + at, weights);
        }
    }
    NAME(finish_row)(job, scratch, plane, to);
    NAME(scatter)
    (job->dtype, NAME(element_out)(job->y, job->dtype, plane * window->output_count + to * width), scratch, width);
}

/* Sum of a plane in blocks: lanes first, then the blocks in order. */
static void NAME(do_plane)(const opd_window_job *job, real *scratch, int64_t plane)
{
    enum { BLOCK = 256 };
    real sum = 0;
    for (int64_t from = 0; from < job->window.input_count; from += BLOCK) {
        int64_t count = job->window.input_count - from < BLOCK ? job->window.input_count - from : BLOCK;
        const real *x = NAME(source)(scratch, job->dtype, job->x, plane * job->window.input_count + from, 1, count);
        vec sums = { 0 };
        int64_t i = 0;
        for (; i + LANES <= count; i += LANES) {
            sums += *(const vec_at *)(x + i);
        }
        real block = 0;
        for (int lane = 0; lane < LANES; lane++) {
            block += sums[lane];
        }
        for (; i < count; i++) {
            block += x[i];
        }
        sum += block;
    }
    sum /= (real)job->window.input_count;
    NAME(scatter)(job->dtype, NAME(element_out)(job->y, job->dtype, plane), &sum, 1);
}

static void NAME(do_part)(const opd_window_job *job, void *scratch, int64_t part)
{
    if (job->kind == OPD_WINDOW_PLANE_MEAN) {
        NAME(do_plane)(job, scratch, part);
        return;
    }
    int64_t rows = job->window.output_count / job->window.output[job->window.rank - 1];
    int64_t blocks = (rows + OPD_WINDOW_ROWS - 1) / OPD_WINDOW_ROWS;
    int64_t first = part % blocks * OPD_WINDOW_ROWS;
    for (int64_t to = first; to < rows && to < first + OPD_WINDOW_ROWS; to++) {
        NAME(do_row)(job, scratch, part / blocks, to);
    }
}

#include "tile_done.h"
