/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong elementwise kernels: tails, strides, broadcasting, indices, rules of NaN and range. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "faulty.h"

const float *opd_faulty_at(const opd_call *call, int operand, int output, int64_t flat)
{
    const opd_tensor *from = &call->operands[operand].view;
    const opd_tensor *to = &call->operands[output].view;
    int64_t index[OPD_MAX_RANK];
    int64_t offset = 0;
    opd_tensor_unflatten(to, flat, index);
    for (int i = 0; i < from->rank; i++) {
        int64_t at = index[i + to->rank - from->rank];
        offset += from->shape[i] == 1 ? 0 : at * from->stride[i];
    }
    return (const float *)from->data + offset;
}

static float *output_at(const opd_call *call, int output, int64_t flat)
{
    const opd_tensor *view = &call->operands[output].view;
    int64_t index[OPD_MAX_RANK];
    opd_tensor_unflatten(view, flat, index);
    return (float *)((uint8_t *)view->data + opd_tensor_offset(view, index));
}

static float add(const opd_call *call, int64_t i)
{
    return *opd_faulty_at(call, 0, 2, i) + *opd_faulty_at(call, 1, 2, i);
}

/* The mask of the last vector is one lane short. */
opd_status opd_faulty_add_tail(const opd_call *call, const opd_workspace *workspace)
{
    int64_t count = opd_faulty_count(call, 2);
    int64_t tail = count % 8;
    (void)workspace;
    for (int64_t i = 0; i < count - (tail > 0); i++) {
        *output_at(call, 2, i) = add(call, i);
    }
    return OPD_OK;
}

/* The last vector is read whole. */
opd_status opd_faulty_add_tail_read(const opd_call *call, const opd_workspace *workspace)
{
    int64_t count = opd_faulty_count(call, 2);
    bool is_plain = opd_faulty_count(call, 0) == count;
    (void)workspace;
    for (int64_t i = 0; i < count; i++) {
        *output_at(call, 2, i) = add(call, i);
    }
    if (is_plain && count % 8 != 0) {
        volatile float last = opd_faulty_data(call, 0)[(count + 7) / 8 * 8 - 1];
        (void)last;
    }
    return OPD_OK;
}

/* B is taken round and round, which is broadcasting over leading dimensions only. */
opd_status opd_faulty_add_broadcast(const opd_call *call, const opd_workspace *workspace)
{
    int64_t period = opd_faulty_count(call, 1);
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 2); i++) {
        *output_at(call, 2, i) = *opd_faulty_at(call, 0, 2, i) + opd_faulty_data(call, 1)[i % period];
    }
    return OPD_OK;
}

/* One sign is wrong. */
opd_status opd_faulty_add_flip(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 2); i++) {
        *output_at(call, 2, i) = i == 17 ? -add(call, i) : add(call, i);
    }
    return OPD_OK;
}

/* A matrix is read by columns. */
opd_status opd_faulty_add_order(const opd_call *call, const opd_workspace *workspace)
{
    const opd_tensor *view = &call->operands[2].view;
    int64_t columns = opd_faulty_row(call, 2);
    int64_t rows = view->rank >= 2 ? view->shape[view->rank - 2] : 1;
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 2); i++) {
        int64_t base = i / (rows * columns) * rows * columns;
        int64_t row = i % (rows * columns) / columns;
        int64_t other = base + i % columns * rows + row;
        *output_at(call, 2, i) = *opd_faulty_at(call, 0, 2, other) + *opd_faulty_at(call, 1, 2, i);
    }
    return OPD_OK;
}

/* The index has 16 bits, as one of 32 bits fails at 2^31. */
opd_status opd_faulty_mul_index(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 2); i++) {
        int64_t short_index = (uint16_t)i;
        *output_at(call, 2, short_index) =
            *opd_faulty_at(call, 0, 2, short_index) * *opd_faulty_at(call, 1, 2, short_index);
    }
    return OPD_OK;
}

opd_status opd_faulty_mul_scale(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 2); i++) {
        *output_at(call, 2, i) = *opd_faulty_at(call, 0, 2, i) * *opd_faulty_at(call, 1, 2, i) * (1.0F + 0x1p-12F);
    }
    return OPD_OK;
}

/* Clears its output before it reads its inputs, which may be the same memory. */
opd_status opd_faulty_mul_alias(const opd_call *call, const opd_workspace *workspace)
{
    float kept = 0;
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 2); i++) {
        *output_at(call, 2, i) = 0;
        kept = *opd_faulty_at(call, 0, 2, i) * *opd_faulty_at(call, 1, 2, i);
        *output_at(call, 2, i) = kept;
    }
    return OPD_OK;
}

opd_status opd_faulty_neg_stride(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 1); i++) {
        *output_at(call, 1, i) = -opd_faulty_data(call, 0)[i];
    }
    return OPD_OK;
}

/* Writes the whole span of a strided output. */
opd_status opd_faulty_neg_gap(const opd_call *call, const opd_workspace *workspace)
{
    int64_t low = 0;
    int64_t high = 0;
    (void)workspace;
    opd_tensor_span(&call->operands[1].view, &low, &high);
    memset((uint8_t *)call->operands[1].view.data + low, 0, (size_t)(high - low));
    for (int64_t i = 0; i < opd_faulty_count(call, 1); i++) {
        *output_at(call, 1, i) = -*opd_faulty_at(call, 0, 1, i);
    }
    return OPD_OK;
}

static float relu(float x)
{
    return x < 0 ? 0 : x;
}

/* The last vector is written whole. */
opd_status opd_faulty_relu_write(const opd_call *call, const opd_workspace *workspace)
{
    int64_t count = opd_faulty_count(call, 1);
    (void)workspace;
    for (int64_t i = 0; i < (count + 7) / 8 * 8; i++) {
        opd_faulty_data(call, 1)[i] = i < count ? relu(*opd_faulty_at(call, 0, 1, i)) : 0;
    }
    return OPD_OK;
}

/* x > 0 ? x : 0 makes NaN a zero. */
opd_status opd_faulty_relu_nan(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 1); i++) {
        float x = *opd_faulty_at(call, 0, 1, i);
        *output_at(call, 1, i) = x > 0 ? x : 0;
    }
    return OPD_OK;
}

/* Looks at the element before the first. */
opd_status opd_faulty_relu_front(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 1); i++) {
        volatile float before = opd_faulty_data(call, 0)[i - 1];
        (void)before;
        *output_at(call, 1, i) = relu(*opd_faulty_at(call, 0, 1, i));
    }
    return OPD_OK;
}

/* Starts where an aligned vector starts, which with most allocators is where the operand does. */
opd_status opd_faulty_relu_aligned(const opd_call *call, const opd_workspace *workspace)
{
    const float *in = opd_faulty_data(call, 0);
    (void)workspace;
    in -= (uintptr_t)in % 16 / sizeof *in;
    for (int64_t i = 0; i < opd_faulty_count(call, 1); i++) {
        *output_at(call, 1, i) = relu(in[i]);
    }
    return OPD_OK;
}

/* fmaxf gives the number where there is a NaN. */
opd_status opd_faulty_max_nan(const opd_call *call, const opd_workspace *workspace)
{
    int output = call->operand_count - 1;
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, output); i++) {
        float best = *opd_faulty_at(call, 0, output, i);
        for (int k = 1; k < output; k++) {
            best = fmaxf(best, *opd_faulty_at(call, k, output, i));
        }
        *output_at(call, output, i) = best;
    }
    return OPD_OK;
}

opd_status opd_faulty_abs_subnormal(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 1); i++) {
        float x = fabsf(*opd_faulty_at(call, 0, 1, i));
        *output_at(call, 1, i) = x < 0x1p-126F ? 0 : x;
    }
    return OPD_OK;
}

/* Beyond the range of i8 the low bits are kept. */
opd_status opd_faulty_cast_wrap(const opd_call *call, const opd_workspace *workspace)
{
    int8_t *out = call->operands[1].view.data;
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 1); i++) {
        float x = *opd_faulty_at(call, 0, 1, i);
        out[i] = (int8_t)(uint8_t)(x == x && fabsf(x) < 0x1p62F ? (uint64_t)(int64_t)x : 0);
    }
    return OPD_OK;
}

/* The tanh form where the erf form is asked for. */
opd_status opd_faulty_gelu_form(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 1); i++) {
        double x = (double)*opd_faulty_at(call, 0, 1, i);
        *output_at(call, 1, i) = (float)(0.5 * x * (1 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))));
    }
    return OPD_OK;
}

opd_status opd_faulty_gelu_allocates(const opd_call *call, const opd_workspace *workspace)
{
    int64_t count = opd_faulty_count(call, 1);
    void *scratch = NULL;
    (void)workspace;
    opd_status status = opd_alloc_array(&scratch, (size_t)count, sizeof(double));
    if (status != OPD_OK) {
        return status;
    }
    double *row = scratch;
    for (int64_t i = 0; i < count; i++) {
        double x = (double)*opd_faulty_at(call, 0, 1, i);
        row[i] = 0.5 * x * erfc(-x * 0.70710678118654752);
    }
    for (int64_t i = 0; i < count; i++) {
        *output_at(call, 1, i) = (float)row[i];
    }
    opd_free(scratch);
    return OPD_OK;
}

/* Arguments are cut at 80, though e^88 is a float. */
opd_status opd_faulty_exp_range(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 1); i++) {
        double x = (double)*opd_faulty_at(call, 0, 1, i);
        *output_at(call, 1, i) = (float)exp(x > 80 ? 80 : x);
    }
    return OPD_OK;
}

/* Reduces its argument by steps that large numbers do not notice. */
opd_status opd_faulty_exp_hangs(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 1); i++) {
        volatile float x = *opd_faulty_at(call, 0, 1, i);
        double factor = 1;
        while (x > 1.0F && factor < HUGE_VAL) {
            x = x - 1.0F;
            factor = x > 0x1p25F ? factor : factor * 2.718281828459045;
        }
        *output_at(call, 1, i) = (float)(factor * exp((double)x));
    }
    return OPD_OK;
}

/* Takes a negative argument for a mistake of the caller. */
opd_status opd_faulty_log_aborts(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 1); i++) {
        double x = (double)*opd_faulty_at(call, 0, 1, i);
        if (x < 0) {
            (void)raise(SIGABRT);
        }
        *output_at(call, 1, i) = (float)log(x);
    }
    return OPD_OK;
}

/* Uses its input for what lies between. */
opd_status opd_faulty_sqrt_mutates(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 1); i++) {
        float root = sqrtf(*opd_faulty_at(call, 0, 1, i));
        opd_faulty_data(call, 0)[i] = root;
        *output_at(call, 1, i) = root;
    }
    return OPD_OK;
}

/* The first call uses a table that is not filled yet. */
opd_status opd_faulty_tanh_first(const opd_call *call, const opd_workspace *workspace)
{
    static bool is_ready;
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 1); i++) {
        double x = (double)*opd_faulty_at(call, 0, 1, i);
        *output_at(call, 1, i) = is_ready ? (float)tanh(x) : (float)(x / (1 + fabs(x)));
    }
    is_ready = true;
    return OPD_OK;
}

/* e^x / (1 + e^x) is NaN where e^x is infinite. */
opd_status opd_faulty_sigmoid_range(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 1); i++) {
        float power = expf(*opd_faulty_at(call, 0, 1, i));
        *output_at(call, 1, i) = (float)((double)power / (1 + (double)power));
    }
    return OPD_OK;
}
