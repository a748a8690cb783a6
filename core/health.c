/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health of elements: classes, extremes and mean.
 */
#include "health.h"

#include "dtype.h"

void opd_health_begin(opd_health_state *state, opd_health *out, opd_dtype dtype, bool is_full)
{
    *state = (opd_health_state){ .out = out, .dtype = dtype, .is_full = is_full };
    *out = (opd_health){ .first_nan = -1, .first_inf = -1 };
    if (is_full) {
        out->min = __builtin_inf();
        out->max = -__builtin_inf();
    }
}

/* Smallest normal number of a component. */
static double least_normal(const opd_dtype_info *info)
{
    int top = 1 << (info->exponent_bits - 1);
    double value = 1.0;
    for (int i = 2; i < top; i++) {
        value *= 0.5;
    }
    return value;
}

typedef struct element_class {
    bool is_nan, is_pos_inf, is_neg_inf, is_subnormal, is_zero;
} element_class;

static void see_component(opd_health_state *state, element_class *class, double value, double normal)
{
    double size = value < 0 ? -value : value;
    opd_health *out = state->out;
    size_t lane = state->components++ % OPD_HEALTH_LANES;
    if (value != value) {
        class->is_nan = true;
    } else if (size > 1.7976931348623157e308) {
        class->is_pos_inf = class->is_pos_inf || value > 0;
        class->is_neg_inf = class->is_neg_inf || value < 0;
    } else {
        class->is_subnormal = class->is_subnormal || (size > 0 && size < normal);
        state->finite++;
        state->sum[lane] += value;
        out->min = value < out->min ? value : out->min;
        out->max = value > out->max ? value : out->max;
    }
    class->is_zero = class->is_zero && size == 0;
}

void opd_health_update(opd_health_state *state, const void *elements, size_t count)
{
    const opd_dtype_info *info = opd_dtype_info_of(state->dtype);
    opd_health *out = state->out;
    const uint8_t *at = elements;
    double normal = info->kind == OPD_CLASS_FLOAT ? least_normal(info) : 0.0;
    for (size_t i = 0; i < count; i++, at += info->size) {
        element_class class = { .is_zero = true };
        double re;
        double im;
        opd_element_load(state->dtype, at, &re, &im);
        see_component(state, &class, re, normal);
        if (info->size != info->part) {
            see_component(state, &class, im, normal);
        }
        if (class.is_nan && out->nan++ == 0) {
            out->first_nan = (int64_t)out->count;
        }
        if ((class.is_pos_inf || class.is_neg_inf) && out->pos_inf + out->neg_inf == 0) {
            out->first_inf = (int64_t)out->count;
        }
        out->pos_inf += class.is_pos_inf;
        out->neg_inf += class.is_neg_inf;
        out->subnormal += class.is_subnormal;
        out->zero += class.is_zero;
        out->count++;
    }
}

void opd_health_end(opd_health_state *state)
{
    double sum = 0.0;
    for (int i = 0; i < OPD_HEALTH_LANES; i++) {
        sum += state->sum[i];
    }
    opd_health *out = state->out;
    out->mean = state->finite > 0 ? sum / (double)state->finite : 0.0;
    if (!state->is_full) {
        out->min = out->max = out->mean = 0.0;
        out->zero = out->subnormal = 0;
    }
}
