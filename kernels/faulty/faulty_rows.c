/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong reductions, Softmax and norms: formulas, precision, scratch memory, state. */
#include <math.h>
#include <string.h>

#include "faulty.h"

/* The stages of a row, as the contract names them; sum: of the exponentials, as the variant has it. */
static void show_softmax(const float *in, int64_t count, float largest, double sum)
{
    double wide = (double)largest;
    opd_faulty_stage("max", &wide, 1);
    for (int64_t i = 0; i < count && opd_trace_enabled; i++) {
        double power = exp((double)(in[i] - largest));
        opd_faulty_stage("exp", &power, 1);
    }
    opd_faulty_stage("sum", &sum, 1);
}

static void softmax_row(float *out, const float *in, int64_t count, float largest)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += exp((double)(in[i] - largest));
    }
    show_softmax(in, count, largest, sum);
    for (int64_t i = 0; i < count; i++) {
        out[i] = (float)(exp((double)(in[i] - largest)) / sum);
    }
}

static float largest_of(const float *in, int64_t count)
{
    float largest = -INFINITY;
    for (int64_t i = 0; i < count; i++) {
        largest = in[i] > largest || in[i] != in[i] ? in[i] : largest;
    }
    return largest;
}

opd_status opd_faulty_softmax_no_max(const opd_call *call, const opd_workspace *workspace)
{
    int64_t count = opd_faulty_row(call, 0);
    (void)workspace;
    for (int64_t row = 0; row < opd_faulty_rows(call, 0); row++) {
        const float *in = opd_faulty_data(call, 0) + row * count;
        float *out = opd_faulty_data(call, 1) + row * count;
        float sum = 0;
        for (int64_t i = 0; i < count; i++) {
            out[i] = expf(in[i]);
            sum += out[i];
        }
        show_softmax(in, count, 0, (double)sum);
        for (int64_t i = 0; i < count; i++) {
            out[i] /= sum;
        }
    }
    return OPD_OK;
}

/* Along the dimension before the last. */
opd_status opd_faulty_softmax_axis(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *view = &call->operands[0].view;
    int64_t columns = opd_faulty_row(call, 0);
    int64_t rows = view->rank >= 2 ? view->shape[view->rank - 2] : 1;
    (void)workspace;
    for (int64_t at = 0; at < opd_faulty_count(call, 0); at += rows * columns) {
        for (int64_t k = 0; k < columns; k++) {
            const float *in = opd_faulty_data(call, 0) + at + k;
            float *out = opd_faulty_data(call, 1) + at + k;
            float largest = -INFINITY;
            double sum = 0;
            for (int64_t i = 0; i < rows; i++) {
                largest = in[i * columns] > largest ? in[i * columns] : largest;
            }
            for (int64_t i = 0; i < rows; i++) {
                sum += exp((double)(in[i * columns] - largest));
            }
            for (int64_t i = 0; i < rows; i++) {
                out[i * columns] = (float)(exp((double)(in[i * columns] - largest)) / sum);
            }
        }
    }
    return OPD_OK;
}

/* Declared a row, uses one element more. */
opd_status opd_faulty_softmax_overrun(const opd_call *call, const opd_workspace *workspace)
{
    int64_t count = opd_faulty_row(call, 0);
    float *scratch = workspace->bytes;
    for (int64_t row = 0; row < opd_faulty_rows(call, 0); row++) {
        const float *in = opd_faulty_data(call, 0) + row * count;
        float *out = opd_faulty_data(call, 1) + row * count;
        memcpy(scratch, in, (size_t)count * sizeof *scratch);
        scratch[workspace->size / sizeof *scratch] = 0;
        softmax_row(out, scratch, count, largest_of(scratch, count));
    }
    return OPD_OK;
}

/* Adds up in a scratch row that nobody has cleared. */
opd_status opd_faulty_softmax_scratch(const opd_call *call, const opd_workspace *workspace)
{
    int64_t count = opd_faulty_row(call, 0);
    float *scratch = workspace->bytes;
    for (int64_t row = 0; row < opd_faulty_rows(call, 0); row++) {
        const float *in = opd_faulty_data(call, 0) + row * count;
        for (int64_t i = 0; i < count; i++) {
            scratch[i] = scratch[i] * 0.0F + in[i];
        }
        softmax_row(opd_faulty_data(call, 1) + row * count, scratch, count, largest_of(scratch, count));
    }
    return OPD_OK;
}

/* Writes the exponentials, then reads the input again, which they may have replaced. */
opd_status opd_faulty_softmax_alias(const opd_call *call, const opd_workspace *workspace)
{
    int64_t count = opd_faulty_row(call, 0);
    (void)workspace;
    for (int64_t row = 0; row < opd_faulty_rows(call, 0); row++) {
        const float *in = opd_faulty_data(call, 0) + row * count;
        float *out = opd_faulty_data(call, 1) + row * count;
        float largest = largest_of(in, count);
        double sum = 0;
        for (int64_t i = 0; i < count; i++) {
            double power = exp((double)(in[i] - largest));
            sum += power;
            out[i] = (float)power;
        }
        for (int64_t i = 0; i < count; i++) {
            out[i] = (float)(exp((double)(in[i] - largest)) / sum);
        }
    }
    return OPD_OK;
}

/* The sum leaves out the last term. */
opd_status opd_faulty_softmax_last(const opd_call *call, const opd_workspace *workspace)
{
    int64_t count = opd_faulty_row(call, 0);
    (void)workspace;
    for (int64_t row = 0; row < opd_faulty_rows(call, 0); row++) {
        const float *in = opd_faulty_data(call, 0) + row * count;
        float *out = opd_faulty_data(call, 1) + row * count;
        float largest = largest_of(in, count);
        double sum = 0;
        for (int64_t i = 0; i + 1 < count || (i < count && count == 1); i++) {
            sum += exp((double)(in[i] - largest));
        }
        show_softmax(in, count, largest, sum);
        for (int64_t i = 0; i < count; i++) {
            out[i] = (float)(exp((double)(in[i] - largest)) / sum);
        }
    }
    return OPD_OK;
}

/* A maximum that outlives the call: after a NaN it is NaN for good. */
opd_status opd_faulty_softmax_state(const opd_call *call, const opd_workspace *workspace)
{
    static float poison;
    int64_t count = opd_faulty_row(call, 0);
    (void)workspace;
    for (int64_t row = 0; row < opd_faulty_rows(call, 0); row++) {
        const float *in = opd_faulty_data(call, 0) + row * count;
        for (int64_t i = 0; i < count; i++) {
            poison += in[i] - in[i]; /* 0, or NaN from then on */
        }
        softmax_row(opd_faulty_data(call, 1) + row * count, in, count, largest_of(in, count) + poison);
    }
    return OPD_OK;
}

/* ---------------------------------------------------------------------------------------------------- norms */

enum norm_fault { EPSILON_OUTSIDE, ONE_PASS, SAMPLE_VARIANCE, NULL_MEAN, STATIC_SCRATCH };

static float static_row[1 << 16];

static void norm_row(const opd_call *call, int64_t row, enum norm_fault fault)
{
    int64_t count = opd_faulty_row(call, 0);
    const float *in = opd_faulty_data(call, 0) + row * count;
    const float *scale = opd_faulty_data(call, 1);
    const float *bias = opd_faulty_data(call, 2);
    float *out = opd_faulty_data(call, 3) + row * count;
    float *mean_out = opd_faulty_data(call, 4);
    double epsilon = opd_call_real(call, "epsilon", 1e-5);
    if (fault == STATIC_SCRATCH && count <= (int64_t)(sizeof static_row / sizeof static_row[0])) {
        memcpy(static_row, in, (size_t)count * sizeof *in);
        in = static_row;
    }
    double mean = 0;
    double variance = 0;
    for (int64_t i = 0; i < count; i++) {
        mean += (double)in[i];
    }
    mean /= (double)count;
    if (fault == ONE_PASS) {
        float square = 0;
        for (int64_t i = 0; i < count; i++) {
            square += in[i] * in[i] / (float)count;
        }
        variance = (double)square - mean * mean;
    } else {
        for (int64_t i = 0; i < count; i++) {
            variance += ((double)in[i] - mean) * ((double)in[i] - mean);
        }
        variance /= (double)(fault == SAMPLE_VARIANCE && count > 1 ? count - 1 : count);
    }
    double inverse = fault == EPSILON_OUTSIDE ? 1 / (sqrt(variance) + epsilon) : 1 / sqrt(variance + epsilon);
    opd_faulty_stage("mean", &mean, 1);
    opd_faulty_stage("variance", &variance, 1);
    for (int64_t i = 0; i < count; i++) {
        double value = ((double)in[i] - mean) * inverse;
        opd_faulty_stage("normalized", &value, 1);
        out[i] = (float)(value * (double)scale[i] + (bias != NULL ? (double)bias[i] : 0));
    }
    if (mean_out != NULL || fault == NULL_MEAN) {
        mean_out[row] = (float)mean;
    }
    float *inverse_out = opd_faulty_data(call, 5);
    if (inverse_out != NULL) {
        inverse_out[row] = (float)inverse;
    }
}

static opd_status norm(const opd_call *call, enum norm_fault fault)
{
    for (int64_t row = 0; row < opd_faulty_rows(call, 0); row++) {
        norm_row(call, row, fault);
    }
    return OPD_OK;
}

#define NORM(name, fault)                                                              \
    opd_status opd_faulty_##name(const opd_call *call, const opd_workspace *workspace) \
    {                                                                                  \
        (void)workspace;                                                               \
        return norm(call, fault);                                                      \
    }
NORM(norm_epsilon, EPSILON_OUTSIDE)
NORM(norm_one_pass, ONE_PASS)
NORM(norm_sample, SAMPLE_VARIANCE)
NORM(norm_null, NULL_MEAN)
NORM(norm_race, STATIC_SCRATCH)

/* epsilon is left out. */
opd_status opd_faulty_rms_epsilon(const opd_call *call, const opd_workspace *workspace)
{
    int64_t count = opd_faulty_row(call, 0);
    (void)workspace;
    for (int64_t row = 0; row < opd_faulty_rows(call, 0); row++) {
        const float *in = opd_faulty_data(call, 0) + row * count;
        float *out = opd_faulty_data(call, 2) + row * count;
        double square = 0;
        for (int64_t i = 0; i < count; i++) {
            square += (double)in[i] * (double)in[i];
        }
        double mean_square = square / (double)count;
        opd_faulty_stage("mean_square", &mean_square, 1);
        for (int64_t i = 0; i < count; i++) {
            double value = (double)in[i] / sqrt(mean_square);
            opd_faulty_stage("normalized", &value, 1);
            out[i] = (float)(value * (double)opd_faulty_data(call, 1)[i]);
        }
    }
    return OPD_OK;
}

/* ------------------------------------------------------------------------------------------------ reductions */

static float half(float value)
{
    uint16_t bits = 0;
    double back = 0;
    double unused = 0;
    opd_element_store(OPD_F16, &bits, (double)value, 0);
    opd_element_load(OPD_F16, &bits, &back, &unused);
    return (float)back;
}

/* All of it, the only case these know. */
static float sum_of(const opd_call *call, int64_t from, int64_t to)
{
    double sum = 0;
    for (int64_t i = from; i < to; i++) {
        sum += (double)opd_faulty_data(call, 0)[i];
    }
    return (float)sum;
}

/* The sum is kept in half precision. */
opd_status opd_faulty_sum_half(const opd_call *call, const opd_workspace *workspace)
{
    float sum = 0;
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 0); i++) {
        sum = half(sum + half(opd_faulty_data(call, 0)[i]));
    }
    opd_faulty_data(call, 2)[0] = sum;
    return OPD_OK;
}

/* One partial sum for each thread, in single precision: the result depends on their number. */
opd_status opd_faulty_sum_threads(const opd_call *call, const opd_workspace *workspace)
{
    int64_t count = opd_faulty_count(call, 0);
    float sum = 0;
    for (int64_t i = 0; i < workspace->threads; i++) {
        float part = 0;
        for (int64_t k = count * i / workspace->threads; k < count * (i + 1) / workspace->threads; k++) {
            part += opd_faulty_data(call, 0)[k];
        }
        sum += part;
    }
    opd_faulty_data(call, 2)[0] = sum;
    return OPD_OK;
}

/* Whichever part is ready first is added first. */
opd_status opd_faulty_sum_unstable(const opd_call *call, const opd_workspace *workspace)
{
    static uint32_t turn;
    int64_t count = opd_faulty_count(call, 0);
    int64_t first = count > 0 ? (int64_t)(turn++ * 7919U) % count : 0;
    float sum = 0;
    (void)workspace;
    for (int64_t i = 0; i < count; i++) {
        sum += opd_faulty_data(call, 0)[(first + i) % count];
    }
    opd_faulty_data(call, 2)[0] = sum;
    return OPD_OK;
}

/* Divides by at least one, so that the mean of nothing is 0. */
opd_status opd_faulty_mean_empty(const opd_call *call, const opd_workspace *workspace)
{
    int64_t count = opd_faulty_count(call, 0);
    (void)workspace;
    opd_faulty_data(call, 2)[0] = sum_of(call, 0, count) / (float)(count > 0 ? count : 1);
    return OPD_OK;
}

/* Of equal values the last, where the first is asked for. */
opd_status opd_faulty_argmax_ties(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *view = &call->operands[0].view;
    int64_t axis = opd_call_int(call, "axis", 0);
    int64_t *out = call->operands[1].view.data;
    int64_t inner = 1;
    (void)workspace;
    axis += axis < 0 ? view->rank : 0;
    for (int64_t i = axis + 1; i < view->rank; i++) {
        inner *= view->shape[i];
    }
    for (int64_t at = 0; at < opd_faulty_count(call, 1); at++) {
        const float *in = opd_faulty_data(call, 0) + at / inner * inner * view->shape[axis] + at % inner;
        int64_t best = 0;
        for (int64_t i = 1; i < view->shape[axis]; i++) {
            best = in[i * inner] >= in[best * inner] || in[i * inner] != in[i * inner] ? i : best;
        }
        out[at] = best;
    }
    return OPD_OK;
}

/* The norm is taken over the window's channels summed, not over the channels of the mean. */
opd_status opd_faulty_window_channels(const opd_call *call, const opd_workspace *workspace)
{
    const int64_t *shape = call->operands[0].view.shape;
    int64_t plane = shape[2] * shape[3];
    (void)workspace;
    for (int64_t at = 0; at < opd_faulty_count(call, 0); at++) {
        int64_t x = at % shape[3];
        int64_t y = at / shape[3] % shape[2];
        int64_t base = at / (plane * shape[1]) * plane * shape[1];
        double norm = 0;
        double own = 0;
        for (int64_t c = 0; c < shape[1]; c++) {
            double sum = 0;
            double squares = 0;
            int64_t inside = 0;
            for (int64_t i = -1; i <= 1; i++) {
                for (int64_t k = -1; k <= 1; k++) {
                    if (y + i >= 0 && y + i < shape[2] && x + k >= 0 && x + k < shape[3]) {
                        double value = (double)opd_faulty_data(call, 0)[base + c * plane + (y + i) * shape[3] + x + k];
                        sum += value;
                        squares += value * value;
                        inside++;
                    }
                }
            }
            norm += squares / (double)inside;
            own = c == at / plane % shape[1] ? sum / (double)inside : own;
        }
        opd_faulty_data(call, 1)[at] = norm > 0 ? (float)(own / sqrt(norm)) : 0;
    }
    return OPD_OK;
}
