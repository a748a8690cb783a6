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
    if (part == OPD_F64) {
        return (double)value;
    }
    opd_element_store(part, element, (double)value, 0);
    opd_element_load(part, element, &re, &im);
    return re;
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
    return true;
}

static double largest_of(opd_dtype part)
{
    return part == OPD_F32 || part == OPD_BF16 ? (double)FLT_MAX : part == OPD_F16 ? 65504.0 : DBL_MAX;
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

/* Error of one element in units of eps * gauge; INFINITY when the classes differ. */
double opd_component_ratio(const opd_component *item, const long double *want, long double gauge, uint32_t mxcsr)
{
    opd_dtype dtype = item->operand->view.dtype;
    opd_dtype part = opd_dtype_real(dtype);
    double worst = 0;
    if (!opd_dtype_is_float(dtype)) {
        return (long double)item->part[0] == want[0] ? 0 : (double)INFINITY;
    }
    if (gauge > (long double)largest_of(part)) {
        return 0; /* partial sums may overflow on the way: any class is legal */
    }
    bool is_special = false;
    bool is_got_special = false;
    bool is_same = true;
    for (int k = 0; k < item->parts; k++) {
        double rounded = opd_component_narrow(dtype, want[k]);
        is_special |= !isfinite(rounded);
        is_got_special |= !isfinite(item->part[k]);
        is_same &= opd_same_class(item->part[k], rounded);
    }
    /* Complex products with Inf or NaN have no one right pair of classes. */
    if (is_special || is_got_special) {
        bool is_right = item->parts == 2 ? is_special && is_got_special : is_same;
        return is_right ? 0 : (double)INFINITY;
    }
    if (gauge == 0 && !is_flushed(mxcsr)) { /* no terms but zeros: exact */
        bool is_exact = item->part[0] == (double)want[0] && (item->parts < 2 || item->part[1] == (double)want[1]);
        return is_exact ? 0 : (double)INFINITY;
    }
    for (int k = 0; k < item->parts; k++) {
        long double error = fabsl((long double)item->part[k] - want[k]);
        error -= 0.5L * (long double)opd_dtype_ulp(part, (double)want[k]) + (long double)ignored_error(mxcsr, part);
        if (error > 0) {
            double ratio =
                gauge == 0 ? (double)INFINITY : (double)(error / ((long double)opd_dtype_epsilon(dtype) * gauge));
            worst = isnan(ratio) || ratio > worst ? ratio : worst;
        }
    }
    return worst;
}
