/* SPDX-License-Identifier: Apache-2.0 */
/* Error of one element against a reference, after its class. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "component.h"

double opd_component_narrow(opd_dtype dtype, long double value)
{
    uint8_t element[16];
    double re = 0;
    double im = 0;
    opd_dtype part = opd_dtype_real(dtype);
    opd_element_store_wide(part, element, value);
    opd_element_load(part, element, &re, &im);
    return re;
}

opd_bound opd_component_bound(const opd_judge *judge)
{
    opd_bound bound = { .kind = OPD_BOUND_GAUGE };
    if (judge->is_exact) {
        return (opd_bound){ .kind = OPD_BOUND_BITS };
    }
    if (judge->call->op != NULL) {
        bound = judge->call->op->bound;
    }
    if (judge->growth > 0) {
        bound.limit = (bound.limit > 0 ? bound.limit : (float)OPD_PASS_RATIO) * (float)judge->growth;
        bound.narrow_limit *= (float)judge->growth;
    }
    return bound;
}

double opd_component_underflows(const opd_judge *judge)
{
    return judge->cap - OPD_PASS_RATIO;
}

bool opd_component_load(opd_component *item, const opd_judge *judge, int operand, int64_t flat)
{
    const opd_tensor *view = &judge->call->operands[operand].view;
    item->operand = &judge->call->operands[operand];
    item->number = operand;
    opd_tensor_unflatten(view, flat, item->index);
    if (!opd_tensor_exists(view, item->index)) {
        return false;
    }
    item->element = (const uint8_t *)view->data + opd_tensor_offset(view, item->index);
    item->parts = opd_dtype_is_complex(view->dtype) ? 2 : 1;
    item->part[1] = 0;
    opd_element_load(view->dtype, item->element, &item->part[0], &item->part[1]);
    item->exact = opd_element_load_wide(view->dtype, item->element);
    item->bound = opd_component_bound(judge);
    item->underflows = opd_component_underflows(judge);
    return true;
}

static bool is_flushed(uint32_t mxcsr)
{
    return (mxcsr & (OPD_MXCSR_FTZ | OPD_MXCSR_DAZ)) != 0;
}

/* The smallest normal number under flush-to-zero or denormals-are-zero, else the smallest subnormal. */
static double ignored_error(uint32_t mxcsr, opd_dtype part)
{
    return is_flushed(mxcsr) ? (part == OPD_F64 ? DBL_MIN : (double)FLT_MIN) : opd_dtype_ulp(part, 0);
}

bool opd_same_class(double got, double want)
{
    if (isnan(want) || isnan(got)) {
        return isnan(want) && isnan(got);
    }
    return isinf(want) || isinf(got) ? got == want : true;
}

/* In units of what the kind of the bound counts: eps * gauge, units in the last place. */
static double limit_of(const opd_component *item)
{
    opd_dtype dtype = item->operand->view.dtype;
    bool is_narrow = dtype == OPD_F16 || dtype == OPD_BF16;
    if (item->bound.kind == OPD_BOUND_ULP && is_narrow && item->bound.narrow_limit > 0) {
        return (double)item->bound.narrow_limit;
    }
    return item->bound.limit > 0 ? (double)item->bound.limit : OPD_PASS_RATIO;
}

/* Units in the last place of what is right, scaled. */
static double ulp_ratio(const opd_component *item, long double want)
{
    long double error = fabsl(item->exact - want) / (long double)opd_dtype_ulp(item->operand->view.dtype, (double)want);
    return (double)(error * OPD_PASS_RATIO / (long double)limit_of(item));
}

/* eps of the accumulator: short floats are summed in f32 and rounded once. */
static long double accumulator_epsilon(opd_dtype dtype)
{
    opd_dtype part = opd_dtype_real(dtype);
    return (long double)opd_dtype_epsilon(part == OPD_F64 ? OPD_F64 : OPD_F32);
}

/* fl(a b) = a b (1 + d) + e, |e| up to half the least subnormal: the gauge knows of d only. Source: Demmel 1984, "Underflow and the reliability of
 * numerical software". */
static double lost_error(const opd_component *item)
{
    opd_dtype part = opd_dtype_real(item->operand->view.dtype);
    return item->underflows * opd_dtype_ulp(part == OPD_F64 ? OPD_F64 : OPD_F32, 0);
}

double opd_component_epsilon(const opd_component *item)
{
    opd_dtype dtype = item->operand->view.dtype;
    if (!opd_dtype_is_float(dtype) || item->bound.kind == OPD_BOUND_BITS) {
        return 0;
    }
    return item->bound.kind == OPD_BOUND_ULP ? opd_dtype_epsilon(dtype) : (double)accumulator_epsilon(dtype);
}

double opd_component_limit(const opd_component *item)
{
    bool is_float = opd_dtype_is_float(item->operand->view.dtype);
    return is_float && item->bound.kind == OPD_BOUND_ULP ? limit_of(item) : 0;
}

double opd_component_allowed(const opd_component *item, double want, long double gauge)
{
    opd_dtype dtype = item->operand->view.dtype;
    double ulp = opd_dtype_ulp(opd_dtype_real(dtype), want);
    if (!opd_dtype_is_float(dtype) || item->bound.kind == OPD_BOUND_BITS) {
        return 0;
    }
    if (item->bound.kind == OPD_BOUND_ULP) {
        return limit_of(item) * ulp;
    }
    return limit_of(item) * (double)(accumulator_epsilon(dtype) * gauge) + 0.5 * ulp + lost_error(item);
}

static double gauge_ratio(const opd_component *item, const long double *want, long double gauge, uint32_t mxcsr)
{
    opd_dtype dtype = item->operand->view.dtype;
    opd_dtype part = opd_dtype_real(dtype);
    double scale = OPD_PASS_RATIO / limit_of(item);
    double worst = 0;
    for (int k = 0; k < item->parts; k++) {
        long double error = fabsl((long double)item->part[k] - want[k]);
        error -= 0.5L * (long double)opd_dtype_ulp(part, (double)want[k]) +
                 (long double)(ignored_error(mxcsr, part) + lost_error(item));
        if (error > 0) {
            double ratio = gauge == 0 ? (double)INFINITY : (double)(error / (accumulator_epsilon(dtype) * gauge));
            worst = isnan(ratio) || ratio > worst ? ratio : worst;
        }
    }
    return worst * scale;
}

double opd_component_ratio(const opd_component *item, const long double *want, long double gauge, uint32_t mxcsr)
{
    opd_dtype dtype = item->operand->view.dtype;
    opd_dtype part = opd_dtype_real(dtype);
    if (!opd_dtype_is_float(dtype)) {
        return item->exact == want[0] ? 0 : (double)INFINITY;
    }
    if (item->bound.kind == OPD_BOUND_GAUGE && gauge > (long double)opd_dtype_largest(part)) {
        return 0; /* partial sums may overflow on the way: any class is legal */
    }
    bool is_special = false;
    bool is_got_special = false;
    bool is_same = true;
    bool is_equal = true;
    for (int k = 0; k < item->parts; k++) {
        double rounded = opd_component_narrow(dtype, want[k]);
        is_special |= !isfinite(rounded);
        is_got_special |= !isfinite(item->part[k]);
        is_same &= opd_same_class(item->part[k], rounded);
        is_equal &= item->part[k] == rounded;
    }
    /* Complex products with Inf or NaN have no one right pair of classes. */
    if (is_special || is_got_special) {
        bool is_right = item->parts == 2 ? is_special && is_got_special : is_same;
        return is_right ? 0 : (double)INFINITY;
    }
    /* No terms but zeros are exact too. */
    bool is_exact =
        item->bound.kind == OPD_BOUND_BITS || (item->bound.kind == OPD_BOUND_GAUGE && gauge == 0 && !is_flushed(mxcsr));
    if (is_exact || is_equal) {
        return is_equal ? 0 : (double)INFINITY;
    }
    return item->bound.kind == OPD_BOUND_ULP ? ulp_ratio(item, want[0]) : gauge_ratio(item, want, gauge, mxcsr);
}
