/* SPDX-License-Identifier: Apache-2.0 */
/* What WindowL2Normalization is: the mean of each 3 x 3 window inside the image, over the 2-norm of all channels' means at the place. */
#include <math.h>

#include <opsdebug/memory.h>

#include "../rows/mantissa_round.h"
#include "line_define.h"
#include "normalize_define.h"

enum { WINDOWED, NORM };

/* Mean of the window around (h, w) of an image, of those of its places that exist; and of their absolute values. Returns what
 * finite ones sum up to. */
static long double window_mean(const opd_definition_work *work, const long double *image, int64_t h, int64_t w,
                               long double *mean, long double *mean_abs)
{
    int64_t height = work->array[0].shape[2];
    int64_t width = work->array[0].shape[3];
    long double sum = 0.0L;
    long double sum_abs = 0.0L;
    long double finite = 0.0L;
    long double places = 0.0L;
    for (int64_t i = h > 0 ? h - 1 : 0; i <= h + 1 && i < height; i++) {
        for (int64_t j = w > 0 ? w - 1 : 0; j <= w + 1 && j < width; j++) {
            sum = opd_round(work, sum + image[i * width + j]);
            sum_abs += fabsl(image[i * width + j]);
            finite += opd_finite_size(image[i * width + j]);
            places += 1.0L;
        }
    }
    *mean = opd_round(work, sum / places);
    *mean_abs = sum_abs / places;
    return finite;
}

/* All channels at one place, which share a norm: what overflows in one may spoil all. means: two numbers for each channel. */
static void normalize_place(opd_definition_work *work, const opd_stages *stages, int64_t n, int64_t at,
                            long double *means)
{
    const opd_array *x = &work->array[0];
    opd_array *y = &work->array[1];
    int64_t channels = x->shape[1];
    int64_t size = x->shape[2] * x->shape[3];
    long double squares = 0.0L;
    long double reach = 0.0L; /* error of the squares, in terms of the windows' */
    bool may_overflow = false;
    for (int64_t c = 0; c < channels; c++) {
        long double *mean = &means[2 * c];
        long double terms =
            window_mean(work, x->value + (n * channels + c) * size, at / x->shape[3], at % x->shape[3], mean, mean + 1);
        opd_stage_put(stages, WINDOWED, (n * channels + c) * size + at, (double)mean[0]);
        squares = opd_round_mantissa(work, squares + opd_round_mantissa(work, mean[0] * mean[0]));
        reach += fabsl(mean[0]) * mean[1];
        may_overflow |= opd_is_beyond_range(work, terms);
    }
    long double norm = opd_round(work, sqrtl(squares));
    may_overflow |= opd_is_beyond_range(work, norm);
    opd_stage_put(stages, NORM, n * size + at, (double)norm);
    for (int64_t c = 0; c < channels; c++) {
        int64_t to = (n * channels + c) * size + at;
        y->value[to] = norm == 0.0L ? 0.0L : opd_round(work, means[2 * c] / norm);
        if (y->gauge != NULL) {
            y->gauge[to] =
                may_overflow ? (long double)INFINITY
                : norm == 0.0L
                    ? 0.0L
                    : means[2 * c + 1] / norm + fabsl(y->value[to]) * (1.0L + reach / (norm * norm)) +
                          opd_underflow_gauge(work, (1.0L + fabsl(y->value[to]) * (long double)channels) / norm);
        }
    }
}

opd_status opd_define_window_l2(opd_definition_work *work)
{
    const opd_array *x = &work->array[0];
    int64_t size = x->shape[2] * x->shape[3];
    long double *means = NULL;
    opd_stages stages;
    opd_status status = opd_alloc_array((void **)&means, (size_t)x->shape[1], 2 * sizeof *means);
    if (status == OPD_OK) {
        status = opd_define_stages(&stages, work, x->shape[0] * size, 1u << WINDOWED);
    }
    if (status == OPD_OK) {
        for (int64_t place = 0; place < x->shape[0] * size; place++) {
            normalize_place(work, &stages, place / size, place % size, means);
        }
        opd_define_stages_end(&stages);
    }
    opd_free(means);
    return status;
}
