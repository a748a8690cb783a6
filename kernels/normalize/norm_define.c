/* SPDX-License-Identifier: Apache-2.0 */
/* What norms by moments are, and the fused operators of them. Gauges: normalize_contracts.c. */
#include <math.h>

#include <opsdebug/memory.h>

#include "../rows/mantissa_round.h"
#include "line_define.h"
#include "normalize_define.h"

enum { MEAN, VARIANCE, NORMALIZED, MEAN_SQUARE = 0, SQUARE_NORMALIZED = 1 }; /* stages; fused ones have one before */

/* What a line is made into: y = (x - mean) * inverse * scale + bias. */
typedef struct norm {
    opd_definition_work *work;
    const opd_stages *stages;
    int first_stage;
    const long double *x, *gauge; /* of what is normalized; gauge NULL: |x| */
    const opd_array *scale, *bias;
    int output;
} norm;

static double epsilon_of(const opd_call *call)
{
    return opd_call_real(call, "epsilon", 1e-5);
}

static bool is_there(const opd_array *array)
{
    return array != NULL && array->value != NULL;
}

/* Element at number i of the last `rank` dimensions of `of`, in an array that is broadcast to them. */
static long double broadcast_value(const opd_array *array, const opd_array *of, int64_t i)
{
    int64_t at = 0;
    int64_t step = 1;
    for (int d = 1; d <= array->rank; d++) {
        int64_t size = of->shape[of->rank - d];
        int64_t own = array->shape[array->rank - d];
        at += own == 1 ? 0 : i % size * step;
        step *= own;
        i /= size;
    }
    return array->value[at];
}

/* One element of a line: scale and bias are its own. */
static void put(const norm *n, const opd_moments *m, int64_t at, long double scale, long double bias)
{
    const opd_definition_work *work = n->work;
    opd_array *y = &n->work->array[n->output];
    long double z = opd_round(work, opd_round_mantissa(work, n->x[at] - m->mean) * m->inverse);
    opd_stage_put(n->stages, n->first_stage + NORMALIZED, at, (double)z);
    y->value[at] = opd_round(work, opd_round(work, z * scale) + bias);
    if (y->gauge != NULL) {
        long double size = n->gauge != NULL ? n->gauge[at] : fabsl(n->x[at]);
        long double terms = m->inverse * (size + m->mean_abs);
        /* Out of range before it is scaled, it may become anything. */
        y->gauge[at] = opd_is_beyond_range(work, terms)
                           ? (long double)INFINITY
                           : fabsl(scale) * terms + fabsl(bias) + opd_underflow_gauge(work, scale) +
                                 opd_underflow_gauge(work, scale * m->inverse);
    }
}

static void put_moments(const norm *n, const opd_moments *m, int64_t line)
{
    opd_stage_put(n->stages, n->first_stage + MEAN, line, (double)m->mean);
    opd_stage_put(n->stages, n->first_stage + VARIANCE, line, (double)m->variance);
}

static void put_statistic(const opd_array *statistic, int64_t line, long double value, long double gauge)
{
    if (statistic->value != NULL) {
        statistic->value[line] = value;
    }
    if (statistic->value != NULL && statistic->gauge != NULL) {
        statistic->gauge[line] = gauge;
    }
}

/* Lines of count elements, one after the other, scale and bias by the place in the line. */
static void norm_rows(const norm *n, int64_t lines, int64_t count)
{
    const opd_array *x = &n->work->array[0];
    for (int64_t l = 0; l < lines; l++) {
        opd_line line = { .first = l * count, .count = count, .inner = count, .stride = 0 };
        opd_moments m = opd_line_moments(n->work, &line, n->x, n->gauge, epsilon_of(n->work->call));
        put_moments(n, &m, l);
        for (int64_t i = 0; i < count; i++) {
            put(n, &m, line.first + i, is_there(n->scale) ? broadcast_value(n->scale, x, i) : 1.0L,
                is_there(n->bias) ? broadcast_value(n->bias, x, i) : 0.0L);
        }
        if (n->output == 3) {
            put_statistic(&n->work->array[4], l, m.mean, m.mean_abs);
            put_statistic(&n->work->array[5], l, m.inverse, m.inverse_gauge);
        }
    }
}

/* Elements from `axis` on, the last dimension by default. */
static int64_t trailing(const opd_definition_work *work)
{
    int64_t axis = opd_call_int(work->call, "axis", -1);
    int64_t count = 1;
    const opd_array *x = &work->array[0];
    for (int d = (int)(axis < 0 ? axis + x->rank : axis); d < x->rank; d++) {
        count *= x->shape[d];
    }
    return count;
}

static int64_t lines_in(const opd_array *x, int64_t count)
{
    return count > 0 ? x->count / count : 0;
}

opd_status opd_define_layer_normalization(opd_definition_work *work)
{
    int64_t count = trailing(work);
    int64_t lines = lines_in(&work->array[0], count);
    opd_stages stages;
    opd_status status = opd_define_stages(&stages, work, lines, 1u << NORMALIZED);
    if (status == OPD_OK) {
        norm n = { .work = work, .stages = &stages, .x = work->array[0].value, .output = 3 };
        n.scale = &work->array[1];
        n.bias = &work->array[2];
        norm_rows(&n, lines, count);
        opd_define_stages_end(&stages);
    }
    return status;
}

opd_status opd_define_rms_normalization(opd_definition_work *work)
{
    const opd_array *x = &work->array[0];
    opd_array *y = &work->array[2];
    int64_t count = trailing(work);
    int64_t lines = lines_in(x, count);
    opd_stages stages;
    opd_status status = opd_define_stages(&stages, work, lines, 1u << SQUARE_NORMALIZED);
    for (int64_t l = 0; status == OPD_OK && l < lines; l++) {
        long double sum = 0.0L;
        for (int64_t i = l * count; i < (l + 1) * count; i++) {
            sum = opd_round_mantissa(work, sum + opd_round_mantissa(work, x->value[i] * x->value[i]));
        }
        long double mean = opd_round_mantissa(work, sum / (long double)count);
        long double inverse = opd_round_mantissa(
            work, 1.0L / opd_round_mantissa(work, sqrtl(opd_round_mantissa(work, mean + epsilon_of(work->call)))));
        opd_stage_put(&stages, MEAN_SQUARE, l, (double)mean);
        for (int64_t i = l * count; i < (l + 1) * count; i++) {
            long double z = opd_round(work, x->value[i] * inverse);
            opd_stage_put(&stages, SQUARE_NORMALIZED, i, (double)z);
            long double scale = broadcast_value(&work->array[1], x, i % count);
            y->value[i] = opd_round(work, z * scale);
            if (y->gauge != NULL) {
                y->gauge[i] = opd_is_beyond_range(work, z) ? (long double)INFINITY
                                                           : fabsl(y->value[i]) + opd_underflow_gauge(work, scale);
            }
        }
    }
    if (status == OPD_OK) {
        opd_define_stages_end(&stages);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------- by channel */

static int64_t spatial_of(const opd_array *x)
{
    int64_t count = 1;
    for (int d = 2; d < x->rank; d++) {
        count *= x->shape[d];
    }
    return count;
}

/* N x C x spatial in `groups` lines for each image. */
static opd_status norm_groups(opd_definition_work *work, int64_t groups)
{
    const opd_array *x = &work->array[0];
    int64_t spatial = spatial_of(x);
    int64_t channels = x->shape[1];
    int64_t count = groups > 0 ? channels / groups * spatial : 0;
    int64_t lines = lines_in(x, count);
    opd_stages stages;
    opd_status status = opd_define_stages(&stages, work, lines, 1u << NORMALIZED);
    if (status != OPD_OK) {
        return status;
    }
    norm n = { .work = work, .stages = &stages, .x = x->value, .output = 3 };
    for (int64_t l = 0; l < lines; l++) {
        opd_line line = { .first = l * count, .count = count, .inner = count, .stride = 0 };
        opd_moments m = opd_line_moments(work, &line, x->value, NULL, epsilon_of(work->call));
        put_moments(&n, &m, l);
        for (int64_t at = line.first; at < line.first + count; at++) {
            int64_t channel = at / spatial % channels;
            put(&n, &m, at, work->array[1].value[channel], work->array[2].value[channel]);
        }
    }
    opd_define_stages_end(&stages);
    return OPD_OK;
}

opd_status opd_define_group_normalization(opd_definition_work *work)
{
    return norm_groups(work, opd_call_int(work->call, "num_groups", 1));
}

opd_status opd_define_instance_normalization(opd_definition_work *work)
{
    return norm_groups(work, work->array[0].shape[1]);
}

static void set_running(opd_definition_work *work, int output, int64_t channel, long double made, long double gauge)
{
    opd_array *running = &work->array[output];
    if (running->value == NULL) {
        return;
    }
    long double momentum = opd_call_real(work->call, "momentum", 0.9);
    long double given = work->array[output - 3].value[channel];
    running->value[channel] =
        opd_round(work, opd_round(work, given * momentum) + opd_round(work, made * (1.0L - momentum)));
    if (running->gauge != NULL) {
        running->gauge[channel] = fabsl(given * momentum) + fabsl(1.0L - momentum) * gauge;
    }
}

opd_status opd_define_batch_normalization(opd_definition_work *work)
{
    enum { SCALE = 1, BIAS, GIVEN_MEAN, GIVEN_VARIANCE, Y, RUNNING_MEAN, RUNNING_VARIANCE };
    const opd_array *x = &work->array[0];
    int64_t channels = x->shape[1];
    int64_t spatial = spatial_of(x);
    bool is_training = opd_call_int(work->call, "training_mode", 0) != 0;
    opd_stages stages;
    opd_status status = opd_define_stages(&stages, work, channels, 1u << NORMALIZED);
    if (status != OPD_OK) {
        return status;
    }
    norm n = { .work = work, .stages = &stages, .x = x->value, .output = Y };
    for (int64_t c = 0; c < channels; c++) {
        opd_line line = { .first = c * spatial, .inner = spatial, .stride = channels * spatial };
        line.count = x->shape[0] * spatial;
        opd_moments m;
        if (is_training) {
            m = opd_line_moments(work, &line, x->value, NULL, epsilon_of(work->call));
            set_running(work, RUNNING_MEAN, c, m.mean, m.mean_abs);
            set_running(work, RUNNING_VARIANCE, c, m.variance, m.variance_gauge);
        } else {
            m.mean = work->array[GIVEN_MEAN].value[c];
            m.mean_abs = fabsl(m.mean);
            m.variance = work->array[GIVEN_VARIANCE].value[c];
            m.inverse =
                opd_round(work, 1.0L / opd_round(work, sqrtl(opd_round(work, m.variance + epsilon_of(work->call)))));
        }
        put_moments(&n, &m, c);
        for (int64_t i = 0; i < line.count; i++) {
            put(&n, &m, opd_line_at(&line, i), work->array[SCALE].value[c], work->array[BIAS].value[c]);
        }
    }
    opd_define_stages_end(&stages);
    return OPD_OK;
}

/* ---------------------------------------------------------------------------------------------------- fused */

/* Where the sums that are normalized may leave the range of their type, the mean does too, and anything may come of the whole line. */
static void widen_gauges(opd_array *y, const opd_array *x, const long double *sum_gauge, int64_t count)
{
    long double most = opd_dtype_largest(x->dtype);
    for (int64_t first = 0; y->gauge != NULL && count > 0 && first < x->count; first += count) {
        bool may_overflow = false;
        for (int64_t i = first; i < first + count; i++) {
            may_overflow |= isfinite(sum_gauge[i]) && sum_gauge[i] > most;
        }
        for (int64_t i = first; i < first + count && may_overflow; i++) {
            y->gauge[i] = (long double)INFINITY;
        }
    }
}

/* Layer norm of X + operand 1 (a row or as large as X). sum_output: operand that gets the sum; -1 = none. */
static opd_status add_and_norm(opd_definition_work *work, int output, int sum_output)
{
    const opd_array *x = &work->array[0];
    const opd_array *other = &work->array[1];
    int64_t count = x->rank > 0 ? x->shape[x->rank - 1] : 1;
    int64_t lines = lines_in(x, count);
    long double *sum = NULL;
    opd_stages stages;
    opd_status status = opd_alloc_array((void **)&sum, (size_t)x->count, 2 * sizeof *sum);
    if (status == OPD_OK) {
        status = opd_define_stages(&stages, work, lines, 1u | 1u << (1 + NORMALIZED));
    }
    if (status != OPD_OK) {
        goto out;
    }
    long double *gauge = sum + x->count;
    for (int64_t i = 0; i < x->count; i++) {
        long double added = other->value[other->count == x->count ? i : i % count];
        sum[i] = opd_round(work, x->value[i] + added);
        gauge[i] = fabsl(x->value[i]) + fabsl(added);
        opd_stage_put(&stages, 0, i, (double)sum[i]);
        if (sum_output >= 0) {
            work->array[sum_output].value[i] = sum[i];
        }
        if (sum_output >= 0 && work->array[sum_output].gauge != NULL) {
            work->array[sum_output].gauge[i] = gauge[i];
        }
    }
    norm n = { .work = work, .stages = &stages, .first_stage = 1, .x = sum, .gauge = gauge, .output = output };
    n.scale = &work->array[2];
    n.bias = &work->array[3];
    norm_rows(&n, lines, count);
    widen_gauges(&work->array[output], x, gauge, count);
    opd_define_stages_end(&stages);
out:
    opd_free(sum);
    return status;
}

opd_status opd_define_layer_norm_bias(opd_definition_work *work)
{
    return add_and_norm(work, 4, -1);
}

opd_status opd_define_add_layer_norm(opd_definition_work *work)
{
    return add_and_norm(work, 4, 5);
}
