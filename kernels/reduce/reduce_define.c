/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reductions, ArgMax, ArgMin, CumSum and TopK are: plain loops over the elements in row-major order, integers exactly, floats rounded
 * at each operation. Gauges: sum of absolute values for sums (numerics: classes reduce, cumsum), the result for L2.
 */
#include "reduce_define.h"

#include <math.h>
#include <stdlib.h>

#include <opsdebug/memory.h>

#include "../definition_range.h"
#include "../rows/mantissa_round.h"
#include "axes.h"
#include "integers.h"

enum { DATA, BESIDE, RESULT };

/* Position in the output of each element of data: the kept dimensions of its index, row-major. */
static int64_t place_of(const opd_array *data, const bool *reduced, int64_t flat)
{
    int64_t place = 0;
    int64_t step = 1;
    for (int d = data->rank - 1; d >= 0; d--) {
        int64_t at = flat % data->shape[d];
        flat /= data->shape[d];
        if (!reduced[d]) {
            place += at * step;
            step *= data->shape[d];
        }
    }
    return place;
}

static void reduce_floats(opd_definition_work *work, opd_reduction kind, const bool *reduced)
{
    const opd_array *data = &work->array[DATA];
    opd_array *out = &work->array[RESULT];
    for (int64_t i = 0; i < out->count; i++) {
        out->value[i] = kind == OPD_REDUCE_MAX ? -INFINITY : kind == OPD_REDUCE_MIN ? INFINITY : 0.0L;
    }
    for (int64_t i = 0; i < data->count; i++) {
        int64_t at = place_of(data, reduced, i);
        long double v = data->value[i];
        long double *acc = &out->value[at];
        switch (kind) {
        case OPD_REDUCE_MAX:
            *acc = isnan(v) || v > *acc ? v : *acc;
            break;
        case OPD_REDUCE_MIN:
            *acc = isnan(v) || v < *acc ? v : *acc;
            break;
        case OPD_REDUCE_L2:
            *acc = opd_round_mantissa(work, *acc + opd_round_mantissa(work, v * v));
            break;
        default:
            *acc = opd_round(work, *acc + v);
            break;
        }
        if (out->gauge != NULL) {
            out->gauge[at] += fabsl(v);
        }
    }
    int64_t count = out->count > 0 ? data->count / out->count : 0;
    long double terms = (long double)count;
    for (int64_t i = 0; i < out->count; i++) {
        if (kind == OPD_REDUCE_MEAN) {
            out->value[i] = opd_round(work, out->value[i] / terms);
        } else if (kind == OPD_REDUCE_L2) {
            out->value[i] = opd_round(work, sqrtl(out->value[i]));
        }
        if (out->gauge != NULL && kind == OPD_REDUCE_L2) {
            out->gauge[i] = out->value[i];
        } else if (out->gauge != NULL && kind == OPD_REDUCE_MEAN) {
            /* Where the sum leaves the range, the mean may become anything. */
            out->gauge[i] = opd_is_beyond_range(work, out->gauge[i]) ? (long double)INFINITY : out->gauge[i] / terms;
        }
    }
}

static opd_status reduce_integers(opd_definition_work *work, opd_reduction kind, const bool *reduced)
{
    const opd_array *data = &work->array[DATA];
    opd_array *out = &work->array[RESULT];
    opd_i128 *acc = NULL;
    opd_status status = opd_alloc_array((void **)&acc, (size_t)out->count, sizeof *acc);
    if (status != OPD_OK) {
        return status;
    }
    for (int64_t i = 0; i < out->count; i++) {
        acc[i] = opd_integer_begin(kind, data->dtype);
    }
    for (int64_t i = 0; i < data->count; i++) {
        int64_t at = place_of(data, reduced, i);
        acc[at] = opd_integer_step(kind, acc[at], (opd_i128)data->value[i]);
    }
    for (int64_t i = 0; i < out->count; i++) {
        out->value[i] = (long double)opd_integer_end(kind, data->dtype, acc[i], data->count / out->count);
    }
    opd_free(acc);
    return OPD_OK;
}

static opd_status reduce(opd_definition_work *work, opd_reduction kind)
{
    bool reduced[OPD_MAX_RANK];
    opd_status status = opd_axes_of(reduced, work->call);
    if (status != OPD_OK) {
        return status;
    }
    if (!opd_dtype_is_float(work->array[DATA].dtype)) {
        return reduce_integers(work, kind, reduced);
    }
    reduce_floats(work, kind, reduced);
    return OPD_OK;
}

opd_status opd_define_reduce_sum(opd_definition_work *work)
{
    return reduce(work, OPD_REDUCE_SUM);
}

opd_status opd_define_reduce_mean(opd_definition_work *work)
{
    return reduce(work, OPD_REDUCE_MEAN);
}

opd_status opd_define_reduce_max(opd_definition_work *work)
{
    return reduce(work, OPD_REDUCE_MAX);
}

opd_status opd_define_reduce_min(opd_definition_work *work)
{
    return reduce(work, OPD_REDUCE_MIN);
}

opd_status opd_define_reduce_l2(opd_definition_work *work)
{
    return reduce(work, OPD_REDUCE_L2);
}

/* ---------------------------------------------------------------------------------------- positions and order */

static opd_status arg_extreme(opd_definition_work *work, long double sign)
{
    const opd_array *data = &work->array[0];
    opd_axis axis;
    opd_status status = opd_axis_of(&axis, &work->call->operands[0].view, opd_call_int(work->call, "axis", 0));
    bool takes_last = opd_call_int(work->call, "select_last_index", 0) != 0;
    for (int64_t o = 0; status == OPD_OK && o < axis.outer * axis.inner; o++) {
        const long double *x = data->value + o / axis.inner * axis.size * axis.inner + o % axis.inner;
        int64_t best = 0;
        for (int64_t i = 1; i < axis.size; i++) {
            long double v = sign * x[i * axis.inner];
            long double b = sign * x[best * axis.inner];
            bool is_better = isnan(b) ? false : isnan(v) || v > b;
            bool is_equal = v == b || (isnan(v) && isnan(b));
            if (is_better || (takes_last && is_equal)) {
                best = i;
            }
        }
        work->array[1].value[o] = (long double)best;
    }
    return status;
}

opd_status opd_define_arg_max(opd_definition_work *work)
{
    return arg_extreme(work, 1.0L);
}

opd_status opd_define_arg_min(opd_definition_work *work)
{
    return arg_extreme(work, -1.0L);
}

static void sum_along(opd_definition_work *work, const opd_axis *axis, int64_t first, bool is_exclusive,
                      bool is_reverse)
{
    const long double *x = work->array[DATA].value + first;
    opd_array *y = &work->array[RESULT];
    opd_dtype dtype = work->array[DATA].dtype;
    long double sum = 0.0L;
    long double gauge = 0.0L;
    for (int64_t i = 0; i < axis->size; i++) {
        int64_t at = (is_reverse ? axis->size - 1 - i : i) * axis->inner;
        long double next = opd_dtype_is_float(dtype)
                               ? opd_round(work, sum + x[at])
                               : (long double)opd_integer_wrap(dtype, (opd_i128)sum + (opd_i128)x[at]);
        long double wider = gauge + fabsl(x[at]);
        y->value[first + at] = is_exclusive ? sum : next;
        if (y->gauge != NULL) {
            y->gauge[first + at] = is_exclusive ? gauge : wider;
        }
        sum = next;
        gauge = wider;
    }
}

opd_status opd_define_cumulative_sum(opd_definition_work *work)
{
    opd_axis axis;
    int64_t at = 0;
    opd_status status = opd_axis_number(&at, work->call, BESIDE, -1);
    if (status == OPD_OK) {
        status = opd_axis_of(&axis, &work->call->operands[DATA].view, at);
    }
    bool is_exclusive = opd_call_int(work->call, "exclusive", 0) != 0;
    bool is_reverse = opd_call_int(work->call, "reverse", 0) != 0;
    for (int64_t o = 0; status == OPD_OK && o < axis.outer * axis.inner; o++) {
        sum_along(work, &axis, o / axis.inner * axis.size * axis.inner + o % axis.inner, is_exclusive, is_reverse);
    }
    return status;
}

/* Does value a at index i come before value b at index j? NaN is above everything; equal values in order of index. */
static bool comes_before(long double a, int64_t i, long double b, int64_t j, bool is_largest)
{
    if (isnan(a) != isnan(b)) {
        return isnan(a) == is_largest;
    }
    if (a == b || isnan(a)) {
        return i < j;
    }
    return (a > b) == is_largest;
}

opd_status opd_define_top_k(opd_definition_work *work)
{
    const opd_call *call = work->call;
    opd_axis axis;
    opd_status status = opd_axis_of(&axis, &call->operands[DATA].view, opd_call_int(call, "axis", -1));
    opd_array *values = &work->array[RESULT];
    opd_array *indices = &work->array[RESULT + 1];
    bool is_largest = opd_call_int(call, "largest", 1) != 0;
    int64_t rows = status == OPD_OK ? axis.outer * axis.inner : 0;
    for (int64_t o = 0; o < rows; o++) {
        int64_t k = values->count / rows;
        int64_t inside = o % axis.inner;
        const long double *x = work->array[DATA].value + o / axis.inner * axis.size * axis.inner + inside;
        int64_t last = -1;
        for (int64_t n = 0; n < k; n++) {
            int64_t best = -1;
            for (int64_t i = 0; i < axis.size; i++) {
                long double v = x[i * axis.inner];
                bool is_left = last < 0 || comes_before(x[last * axis.inner], last, v, i, is_largest);
                if (is_left && (best < 0 || comes_before(v, i, x[best * axis.inner], best, is_largest))) {
                    best = i;
                }
            }
            int64_t to = (o / axis.inner * k + n) * axis.inner + inside;
            values->value[to] = x[best * axis.inner];
            indices->value[to] = (long double)best;
            last = best;
        }
    }
    return status;
}
