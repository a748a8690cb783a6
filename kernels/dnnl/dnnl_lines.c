/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of what looks at many elements for one: softmax, pooling, normalizations.
 * source    oneDNN developer guide 2.6, "Softmax", "Pooling", "Batch Normalization", "Layer Normalization": the formulas.
 */
#include <math.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "dnnl_reference.h"

/* ------------------------------------------------------------------------------------------------------ softmax */

static bool softmax_forward(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at, int axis, bool is_log)
{
    int64_t index[DNNL_MAX_NDIMS];
    long double largest = -INFINITY;
    long double total = 0;
    memcpy(index, at, (size_t)of->wanted_rank * sizeof index[0]);
    for (index[axis] = 0; index[axis] < of->wanted_dims[axis]; index[axis]++) {
        largest = fmaxl(largest, opd_dnnl_read(&of->src, index));
    }
    for (index[axis] = 0; index[axis] < of->wanted_dims[axis]; index[axis]++) {
        total = opd_dnnl_round(of, total + opd_dnnl_round(of, expl(opd_dnnl_read(&of->src, index) - largest)));
    }
    long double x = opd_dnnl_read(&of->src, at) - largest;
    out->value = opd_dnnl_round(of, is_log ? x - logl(total) : expl(x) / total);
    out->gauge = is_log ? fabsl(x) + fabsl(logl(total)) + 1 : fabsl(out->value) * (1 + fabsl(x));
    return true;
}

static bool softmax_backward(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at, int axis, bool is_log)
{
    int64_t index[DNNL_MAX_NDIMS];
    opd_dnnl_sum sum = { 0, 0 };
    memcpy(index, at, (size_t)of->wanted_rank * sizeof index[0]);
    for (index[axis] = 0; index[axis] < of->wanted_dims[axis]; index[axis]++) {
        opd_dnnl_add(&sum, of, opd_dnnl_read(&of->diff_dst, index), is_log ? 1 : opd_dnnl_read(&of->dst, index));
    }
    long double y = opd_dnnl_read(&of->dst, at);
    long double gradient = opd_dnnl_read(&of->diff_dst, at);
    long double weight = is_log ? expl(y) : y;
    out->value = opd_dnnl_round(of, is_log ? gradient - weight * sum.value : weight * (gradient - sum.value));
    out->gauge = is_log ? fabsl(gradient) + fabsl(weight) * (1 + fabsl(y)) * sum.gauge
                        : fabsl(weight) * (fabsl(gradient) + sum.gauge);
    return true;
}

bool opd_dnnl_softmax_element(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at)
{
    int axis = (int)opd_call_int(of->call, "axis", -1);
    bool is_log = strncmp(of->call->name, "logsoftmax", 10) == 0 ||
                  strcmp(opd_call_text(of->call, "alg", ""), "softmax_log") == 0;
    if (axis < 0 || axis >= of->wanted_rank) {
        return false;
    }
    if (opd_dnnl_is_wanted(of, "dst")) {
        return of->src.data != NULL && softmax_forward(out, of, at, axis, is_log);
    }
    return of->dst.data != NULL && of->diff_dst.data != NULL && softmax_backward(out, of, at, axis, is_log);
}

/* ------------------------------------------------------------------------------------------------------ pooling */

/* Elements that a mean is divided by: those of the window that are there, or all. */
static int64_t divisor(const opd_dnnl_definition *of, const int64_t *sizes, const int64_t *result, bool is_all)
{
    int64_t kernel[3] = { 0 };
    int64_t image[3];
    int64_t count = 0;
    do {
        count += is_all || opd_dnnl_under(image, of, sizes, result, kernel);
    } while (opd_dnnl_next(kernel, of->kernel, of->spatial));
    return count;
}

static bool pool(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at, bool is_max, bool is_all)
{
    int64_t kernel[3] = { 0 };
    int64_t index[DNNL_MAX_NDIMS] = { at[0], at[1] };
    long double best = -INFINITY;
    bool has_any = false;
    do {
        if (!opd_dnnl_under(index + 2, of, of->src.dims + 2, at + 2, kernel)) {
            continue;
        }
        long double x = opd_dnnl_read(&of->src, index);
        best = !has_any || x > best ? x : best;
        has_any = true;
        opd_dnnl_add(out, of, x, 1);
    } while (opd_dnnl_next(kernel, of->kernel, of->spatial));
    if (is_max) {
        out->value = best;
        out->gauge = fabsl(best);
        return has_any;
    }
    long double count = (long double)divisor(of, of->src.dims + 2, at + 2, is_all);
    out->value = opd_dnnl_round(of, out->value / count);
    out->gauge /= count;
    return count > 0;
}

/* Gradient: from all results whose window has the position; of a maximum, where the workspace says it was. */
static bool unpool(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at, bool is_max, bool is_all)
{
    int64_t kernel[3] = { 0 };
    int64_t result[DNNL_MAX_NDIMS] = { at[0], at[1] };
    int64_t number = -1;
    do {
        number++;
        if (!opd_dnnl_over(result + 2, of, of->diff_dst.dims + 2, at + 2, kernel)) {
            continue;
        }
        long double gradient = opd_dnnl_read(&of->diff_dst, result);
        if (!is_max) {
            int64_t count = divisor(of, of->wanted_dims + 2, result + 2, is_all);
            opd_dnnl_add(out, of, gradient / (long double)count, 1);
        } else if (opd_dnnl_read(&of->workspace, result) == (long double)number) {
            opd_dnnl_add(out, of, gradient, 1);
        }
    } while (opd_dnnl_next(kernel, of->kernel, of->spatial));
    return true;
}

bool opd_dnnl_pooling_element(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at)
{
    const char *alg = opd_call_text(of->call, "alg", "");
    bool is_max = strcmp(alg, "pooling_max") == 0;
    bool is_all = strcmp(alg, "pooling_avg_include_padding") == 0;
    if (opd_dnnl_is_wanted(of, "dst")) {
        return of->src.data != NULL && pool(out, of, at, is_max, is_all);
    }
    bool is_known =
        opd_dnnl_is_wanted(of, "diff_src") && of->diff_dst.data != NULL && (!is_max || of->workspace.data != NULL);
    return is_known && unpool(out, of, at, is_max, is_all);
}

/* -------------------------------------------------------------------------------------------------- normalization */

enum { MEAN, VARIANCE, MEAN_GAUGE, VARIANCE_GAUGE, SUM, SUM_SCALED, SUM_GAUGE, SUM_SCALED_GAUGE, STATISTICS };

/* Lines that share statistics: channels of a batch, rows of a layer. */
static bool is_batch(const opd_dnnl_definition *of)
{
    return opd_dnnl_kind(of->call) == dnnl_batch_normalization;
}

static int64_t line_count(const opd_dnnl_definition *of)
{
    int64_t count = 1;
    for (int d = 0; d < of->src.rank - 1 && !is_batch(of); d++) {
        count *= of->src.dims[d];
    }
    return is_batch(of) ? of->src.dims[1] : count;
}

static int64_t line_of(const opd_dnnl_definition *of, const int64_t *at)
{
    int64_t line = 0;
    for (int d = 0; d < of->src.rank - 1 && !is_batch(of); d++) {
        line = line * of->src.dims[d] + at[d];
    }
    return is_batch(of) ? at[1] : line;
}

static int64_t channel_of(const opd_dnnl_definition *of, const int64_t *at)
{
    return at[is_batch(of) ? 1 : of->src.rank - 1];
}

static bool has_given_statistics(const opd_dnnl_definition *of)
{
    bool is_training = strcmp(opd_call_text(of->call, "prop", ""), "forward_training") == 0;
    return of->mean.data != NULL && (!is_training || (opd_call_int(of->call, "flags", 0) & dnnl_use_global_stats) != 0);
}

/* The index that statistics of a line have in their own memory. */
static long double given(const opd_dnnl_source *source, const opd_dnnl_definition *of, const int64_t *at)
{
    return opd_dnnl_read(source, is_batch(of) ? at + 1 : at);
}

static long double scale_of(const opd_dnnl_definition *of, int64_t channel)
{
    const int64_t pair[2] = { 0, channel };
    if (of->scale_shift.data != NULL) {
        return opd_dnnl_read(&of->scale_shift, pair);
    }
    return of->scale.data != NULL ? opd_dnnl_read(&of->scale, &channel) : 1;
}

static long double shift_of(const opd_dnnl_definition *of, int64_t channel)
{
    const int64_t pair[2] = { 1, channel };
    if (of->scale_shift.data != NULL) {
        return opd_dnnl_read(&of->scale_shift, pair);
    }
    return of->shift.data != NULL ? opd_dnnl_read(&of->shift, &channel) : 0;
}

/* The gradient that arrives: none where a fused ReLU let nothing through. */
static long double gradient_at(const opd_dnnl_definition *of, const int64_t *at)
{
    return of->diff_dst.data != NULL ? opd_dnnl_read(&of->diff_dst, at) : 0;
}

static void sum_up(opd_dnnl_definition *of, int pass, long double count)
{
    int64_t at[DNNL_MAX_NDIMS] = { 0 };
    do {
        long double *line = of->statistics + line_of(of, at) * STATISTICS;
        long double x = opd_dnnl_read(&of->src, at);
        long double off = x - line[MEAN];
        if (pass == 0) {
            line[MEAN] += x / count;
            line[MEAN_GAUGE] += fabsl(x) / count;
        } else if (pass == 1) {
            line[VARIANCE] += off * off / count;
            line[VARIANCE_GAUGE] += (fabsl(x) + fabsl(line[MEAN])) * fabsl(off) / count;
        } else {
            long double gradient = gradient_at(of, at) * (is_batch(of) ? 1 : scale_of(of, channel_of(of, at)));
            line[SUM] += gradient;
            line[SUM_GAUGE] += fabsl(gradient);
            line[SUM_SCALED] += gradient * off;
            line[SUM_SCALED_GAUGE] += fabsl(gradient) * (fabsl(x) + fabsl(line[MEAN]));
        }
    } while (opd_dnnl_next(at, of->src.dims, of->src.rank));
}

opd_status opd_dnnl_norm_prepare(opd_dnnl_definition *of)
{
    void *block = NULL;
    int64_t lines = of->src.data != NULL ? line_count(of) : 0;
    double elements = 1;
    if (lines == 0 || (opd_call_int(of->call, "flags", 0) & dnnl_fuse_norm_relu) != 0) {
        return opd_fail(OPD_E_DECLINED, "there is no reference for %s with a fused ReLU", of->call->name);
    }
    for (int d = 0; d < of->src.rank; d++) {
        elements *= (double)of->src.dims[d];
    }
    opd_status status = elements > 0 ? opd_alloc_array(&block, (size_t)lines * STATISTICS, sizeof(long double))
                                     : opd_fail(OPD_E_DECLINED, "%s of nothing", of->call->name);
    if (status != OPD_OK) {
        return status;
    }
    of->statistics = block;
    long double count = (long double)elements / (long double)lines;
    bool is_given = has_given_statistics(of);
    for (int64_t line = 0, rest; line < lines && is_given; line++) {
        int64_t at[DNNL_MAX_NDIMS] = { 0 };
        rest = line;
        for (int d = of->src.rank - 2; d >= 0 && !is_batch(of); d--) {
            at[d] = rest % of->src.dims[d];
            rest /= of->src.dims[d];
        }
        at[1] = is_batch(of) ? line : at[1];
        of->statistics[line * STATISTICS + MEAN] = given(&of->mean, of, at);
        of->statistics[line * STATISTICS + VARIANCE] = given(&of->variance, of, at);
    }
    for (int pass = is_given ? 2 : 0; pass < 3; pass++) {
        sum_up(of, pass, count);
    }
    return OPD_OK;
}

static long double inverse_deviation(const opd_dnnl_definition *of, const long double *line)
{
    return 1 / sqrtl(line[VARIANCE] + (long double)opd_call_real(of->call, "epsilon", 0));
}

static void normalize(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at, const long double *line)
{
    int64_t channel = channel_of(of, at);
    long double inverse = inverse_deviation(of, line);
    long double x = opd_dnnl_read(&of->src, at);
    long double scale = scale_of(of, channel);
    out->value = opd_dnnl_round(of, scale * (x - line[MEAN]) * inverse + shift_of(of, channel));
    out->gauge = fabsl(scale) * (fabsl(x) + fabsl(line[MEAN]) + line[MEAN_GAUGE]) * inverse *
                     (1 + line[VARIANCE_GAUGE] * inverse * inverse) +
                 fabsl(shift_of(of, channel));
}

/* Sums over all lines of a layer for one channel, or those of the channel of a batch. */
static void sum_channel(opd_dnnl_sum *scale, opd_dnnl_sum *shift, const opd_dnnl_definition *of, int64_t channel)
{
    int64_t at[DNNL_MAX_NDIMS] = { 0 };
    do {
        if (channel_of(of, at) != channel) {
            continue;
        }
        const long double *line = of->statistics + line_of(of, at) * STATISTICS;
        long double gradient = gradient_at(of, at);
        long double x = opd_dnnl_read(&of->src, at);
        long double inverse = inverse_deviation(of, line);
        scale->value += gradient * (x - line[MEAN]) * inverse;
        scale->gauge += fabsl(gradient) * (fabsl(x) + fabsl(line[MEAN])) * inverse;
        shift->value += gradient;
        shift->gauge += fabsl(gradient);
    } while (opd_dnnl_next(at, of->src.dims, of->src.rank));
}

static void gradient_of_source(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at,
                               const long double *line)
{
    int64_t channel = channel_of(of, at);
    long double inverse = inverse_deviation(of, line);
    long double off = opd_dnnl_read(&of->src, at) - line[MEAN];
    long double scale = scale_of(of, channel);
    long double count = (long double)(is_batch(of) ? 1 : of->src.dims[of->src.rank - 1]);
    for (int d = 0; d < of->src.rank && is_batch(of); d++) {
        count *= d == 1 ? 1 : (long double)of->src.dims[d];
    }
    bool is_constant = (opd_call_int(of->call, "flags", 0) & dnnl_use_global_stats) != 0;
    long double own = gradient_at(of, at) * (is_batch(of) ? 1 : scale);
    long double outer = is_batch(of) ? scale : 1;
    long double spread = inverse * inverse / count;
    long double value = own - (is_constant ? 0 : line[SUM] / count + off * spread * line[SUM_SCALED]);
    long double gauge =
        fabsl(own) + (is_constant ? 0 : line[SUM_GAUGE] / count + fabsl(off) * spread * line[SUM_SCALED_GAUGE]);
    out->value = opd_dnnl_round(of, outer * inverse * value);
    out->gauge = fabsl(outer) * inverse * gauge;
}

bool opd_dnnl_norm_element(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at)
{
    opd_dnnl_sum scale = { 0, 0 };
    opd_dnnl_sum shift = { 0, 0 };
    int64_t whole[DNNL_MAX_NDIMS] = { 0 };
    if (opd_dnnl_is_wanted(of, "mean") || opd_dnnl_is_wanted(of, "variance")) {
        memcpy(whole + (is_batch(of) ? 1 : 0), at, (size_t)of->wanted_rank * sizeof whole[0]);
        const long double *line = of->statistics + line_of(of, whole) * STATISTICS;
        bool is_mean = opd_dnnl_is_wanted(of, "mean");
        out->value = opd_dnnl_round(of, line[is_mean ? MEAN : VARIANCE]);
        out->gauge = line[is_mean ? MEAN_GAUGE : VARIANCE_GAUGE];
        return true;
    }
    bool is_pair = opd_dnnl_is_wanted(of, "diff_scale_shift");
    if (is_pair || opd_dnnl_is_wanted(of, "diff_scale") || opd_dnnl_is_wanted(of, "diff_shift")) {
        sum_channel(&scale, &shift, of, at[is_pair ? 1 : 0]);
        *out = opd_dnnl_is_wanted(of, "diff_shift") || (is_pair && at[0] == 1) ? shift : scale;
        return true;
    }
    const long double *line = of->statistics + line_of(of, at) * STATISTICS;
    if (opd_dnnl_is_wanted(of, "dst")) {
        normalize(out, of, at, line);
    } else {
        gradient_of_source(out, of, at, line);
    }
    return opd_dnnl_is_wanted(of, "dst") || opd_dnnl_is_wanted(of, "diff_src");
}
