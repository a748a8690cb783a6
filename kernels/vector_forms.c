/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of level 1 but the rotations, and the scaled matrix copies. */
#include <math.h>

#include "definition.h"

opd_status opd_form_scale_add(opd_work *work)
{
    opd_dense added = { .rows = 0 };
    opd_factor beta = opd_work_scalar(work, "beta", (work->traits & OPD_TRAIT_KEEPS) != 0 ? 1 : 0);
    opd_factor alpha = opd_work_scalar(work, "alpha", 1);
    opd_status status = opd_work_load(&added, work, work->left);
    if (status == OPD_OK) {
        status = opd_dense_transform(&added, opd_work_choice(work, "trans", 'N'));
    }
    if (status == OPD_OK) {
        status = opd_work_load(&work->result, work, work->wanted->name);
    }
    if (status != OPD_OK) {
        opd_dense_free(&added);
        return status;
    }
    bool is_kept = beta.value.re != 0 || beta.value.im != 0;
    bool is_skipped = is_kept && opd_number_size(alpha.value) == 0;
    opd_dense_scale(&work->result, beta, work->precision);
    long double size = opd_number_size(alpha.value);
    for (int64_t i = 0; i < added.rows && !is_skipped; i++) {
        for (int64_t j = 0; j < added.cols; j++) {
            int64_t at = i * added.cols + j;
            opd_number term = opd_factor_mul(alpha, opd_dense_at(&added, i, j), work->precision);
            if (is_kept) {
                term = opd_number_add(opd_dense_at(&work->result, i, j), term, work->precision);
            }
            opd_dense_put(&work->result, i, j, term, work->result.gauge[at] + size * added.gauge[at]);
        }
    }
    opd_dense_free(&added);
    return OPD_OK;
}

static opd_status load_exactly(opd_work *work, const char *name)
{
    opd_status status = opd_work_load(&work->result, work, name);
    for (int64_t i = 0; status == OPD_OK && i < work->result.rows; i++) {
        work->result.gauge[i] = 0;
    }
    return status;
}

opd_status opd_form_copy(opd_work *work)
{
    return load_exactly(work, work->left);
}

opd_status opd_form_swap(opd_work *work)
{
    return load_exactly(work, opd_work_wants(work, work->left) ? work->right : work->left);
}

/* Both vectors as one loads and turns them; the result 1 x 1. sdsdot and dsdot accumulate in f64. */
opd_status opd_form_dot(opd_work *work)
{
    opd_dense x = { .rows = 0 };
    opd_dense y = { .rows = 0 };
    bool is_f64 = opd_dtype_real(work->wanted->view.dtype) != opd_dtype_real(work->call.dtype) ||
                  opd_call_value(&work->call, "sb") != NULL;
    opd_precision precision = work->precision == OPD_PRECISION_F32 && is_f64 ? OPD_PRECISION_F64 : work->precision;
    opd_status status = opd_work_load(&x, work, work->left);
    if (status == OPD_OK) {
        status = opd_dense_transform(&x, (work->traits & OPD_TRAIT_CONJUGATE) != 0 ? 'C' : 'T');
    }
    if (status == OPD_OK) {
        status = opd_work_load(&y, work, work->right);
    }
    if (status == OPD_OK) {
        status = opd_dense_new(&work->result, 1, 1, x.im != NULL);
    }
    if (status == OPD_OK) {
        opd_number start = opd_work_scalar(work, "sb", 0).value;
        opd_dense_put(&work->result, 0, 0, start, opd_number_size(start));
        status = opd_dense_multiply_add(&work->result, (opd_factor){ { 1, 0 }, true }, &x, &y, precision);
    }
    if (status == OPD_OK && opd_dtype_real(work->wanted->view.dtype) == OPD_F32) {
        work->result.re[0] = opd_narrow(work->result.re[0], work->precision);
    }
    opd_dense_free(&x);
    opd_dense_free(&y);
    return status;
}

/* Loads x and makes a 1 x 1 result. */
static opd_status begin_reduction(opd_dense *x, opd_work *work)
{
    opd_status status = opd_work_load(x, work, work->left);
    if (status == OPD_OK) {
        status = opd_dense_new(&work->result, 1, 1, false);
    }
    if (status != OPD_OK) {
        opd_dense_free(x);
    }
    return status;
}

/* One step of the scaled sum of squares: scale^2 * sum holds the squares so far. */
static void add_square(long double *scale, long double *sum, long double part, opd_precision precision)
{
    long double size = fabsl(part);
    if (size == 0) {
        return;
    }
    if (*scale < size) {
        long double ratio = opd_narrow(*scale / size, precision);
        *sum = opd_narrow(1 + opd_narrow(*sum * opd_narrow(ratio * ratio, precision), precision), precision);
        *scale = size;
    } else {
        long double ratio = opd_narrow(size / *scale, precision);
        *sum = opd_narrow(*sum + opd_narrow(ratio * ratio, precision), precision);
    }
}

/* NaN and Inf skip the scaling, where Inf / Inf would turn an Inf into a NaN. */
opd_status opd_form_norm2(opd_work *work)
{
    opd_dense x = { .rows = 0 };
    opd_status status = begin_reduction(&x, work);
    if (status != OPD_OK) {
        return status;
    }
    long double scale = 0;
    long double sum = 1;
    long double special = 0;
    for (int64_t i = 0; i < x.rows; i++) {
        opd_number value = opd_dense_at(&x, i, 0);
        if (!isfinite(value.re) || !isfinite(value.im)) {
            special += fabsl(value.re) + fabsl(value.im);
            continue;
        }
        add_square(&scale, &sum, value.re, work->precision);
        add_square(&scale, &sum, value.im, work->precision);
    }
    long double norm = opd_narrow(scale * opd_narrow(sqrtl(sum), work->precision), work->precision);
    norm = special != 0 ? special : norm;
    opd_dense_put(&work->result, 0, 0, (opd_number){ norm, 0 }, norm);
    opd_dense_free(&x);
    return OPD_OK;
}

opd_status opd_form_abs_sum(opd_work *work)
{
    opd_dense x = { .rows = 0 };
    opd_status status = begin_reduction(&x, work);
    if (status != OPD_OK) {
        return status;
    }
    long double sum = 0;
    for (int64_t i = 0; i < x.rows; i++) {
        opd_number value = opd_dense_at(&x, i, 0);
        long double size = opd_narrow(fabsl(value.re) + fabsl(value.im), work->precision);
        sum = opd_narrow(sum + size, work->precision);
    }
    opd_dense_put(&work->result, 0, 0, (opd_number){ sum, 0 }, sum);
    opd_dense_free(&x);
    return OPD_OK;
}

/*
 * Sizes are compared in the call's own precision, where sums that differ in long double may tie; the first of equals
 * wins. Where a NaN stands decides nothing that implementations agree on.
 */
opd_status opd_form_abs_max(opd_work *work)
{
    opd_dense x = { .rows = 0 };
    opd_status status = begin_reduction(&x, work);
    if (status != OPD_OK) {
        return status;
    }
    opd_precision own = opd_dtype_real(work->call.dtype) == OPD_F32 ? OPD_PRECISION_F32 : OPD_PRECISION_F64;
    long double largest = -1;
    int64_t position = -1;
    for (int64_t i = 0; i < x.rows; i++) {
        opd_number value = opd_dense_at(&x, i, 0);
        long double size = opd_narrow(fabsl(value.re) + fabsl(value.im), own);
        if (isnan(size)) {
            status = opd_fail(OPD_E_DECLINED, "the position of the largest element is unspecified when x has a NaN");
            break;
        }
        if (size > largest) {
            largest = size;
            position = i;
        }
    }
    /* Without elements both forms return 0. */
    bool is_cblas = (work->call.flags & OPD_CALL_CBLAS) != 0;
    int64_t index = position < 0 || is_cblas ? position : position + 1;
    opd_dense_put(&work->result, 0, 0, (opd_number){ (long double)(index < 0 ? 0 : index), 0 }, 0);
    opd_dense_free(&x);
    return status;
}
