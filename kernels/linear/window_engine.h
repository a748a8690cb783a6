/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sliding windows by rows of the output: direct convolution, mean and maximum; and the mean of whole planes. One source
 * (window_template.h) compiled for each instruction set. Private to kernels/linear.
 */
#ifndef OPD_KERNELS_WINDOW_ENGINE_H
#define OPD_KERNELS_WINDOW_ENGINE_H

#include "linear_shapes.h"

typedef enum opd_window_kind {
    OPD_WINDOW_CONV,
    OPD_WINDOW_MEAN,
    OPD_WINDOW_MAX,
    OPD_WINDOW_PLANE_MEAN
} opd_window_kind;

typedef struct opd_window_job {
    opd_window_kind kind;
    opd_window window; /* PLANE_MEAN: input_count alone */
    opd_dtype dtype;
    const void *x, *weight, *bias; /* bias NULL = none */
    void *y;
    int64_t planes;                      /* of y */
    int64_t filters, channels, x_planes; /* CONV: planes of an image of y, of a group of x, of an image of x */
    int64_t per_group;                   /* CONV: filters of a group */
    bool counts_pad;                     /* MEAN */
} opd_window_job;

/* Scratch of each thread: two rows of the output as accumulator numbers. */
static inline size_t opd_window_scratch(const opd_window *window)
{
    int64_t width = window->rank > 0 ? window->output[window->rank - 1] : 0;
    size_t row = ((size_t)width * sizeof(double) + 63) / 64 * 64;
    return 2 * (row > 2048 ? row : 2048);
}

typedef void opd_window_run(const opd_window_job *job, const opd_workspace *workspace);
opd_window_run opd_window_run_avx2, opd_window_run_avx512, opd_window_run_portable;

/* Input positions under one dimension of the window for an output coordinate: inside the input, and the declared padding when it counts. */
static inline int64_t opd_window_count(const opd_window *window, int dimension, int64_t to, bool counts_pad)
{
    int64_t start = opd_window_input(window, dimension, to, 0);
    int64_t step = window->dilation[dimension];
    int64_t low = counts_pad ? start : 0;
    int64_t high = window->input[dimension] + (counts_pad ? window->pad_end[dimension] : 0);
    if (start >= low && start + (window->kernel[dimension] - 1) * step < high) {
        return window->kernel[dimension]; /* most are inside, and divisions are slow */
    }
    int64_t first = start >= low ? 0 : (low - start + step - 1) / step;
    int64_t last = high > start ? (high - 1 - start) / step : -1;
    last = last < window->kernel[dimension] - 1 ? last : window->kernel[dimension] - 1;
    return last >= first ? last - first + 1 : 0;
}

/* Output coordinates [*low, *high) of the last dimension whose input under kernel position `at` lies in the input. */
static inline void opd_window_reach(int64_t *low, int64_t *high, const opd_window *window, int64_t at)
{
    int last = window->rank - 1;
    int64_t start = opd_window_input(window, last, 0, at);
    int64_t step = window->stride[last];
    *low = start >= 0 ? 0 : (-start + step - 1) / step;
    *high = window->input[last] > start ? (window->input[last] - 1 - start) / step + 1 : 0;
    *high = *high < window->output[last] ? *high : window->output[last];
}

/* Flat position of the first element of the input row under output row `to` and kernel row `at` (all dimensions but the last); -1 in the padding. */
int64_t opd_window_row(const opd_window *window, int64_t to, int64_t at);

#endif
