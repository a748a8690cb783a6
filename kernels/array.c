/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions run: a call's inputs loaded as dense arrays of long double, the outputs made of what the definition leaves in
 * them. Results that the output's dtype cannot hold become what a store would make of them.
 */
#include <math.h>
#include <string.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#include "fence.h"
#include "quad/quad.h"

/* ---------------------------------------------------------------------------------------------------- loading */

/* Types whose elements C converts by itself. */
#define NATIVE_TYPES(X)  \
    X(OPD_F32, float)    \
    X(OPD_F64, double)   \
    X(OPD_I8, int8_t)    \
    X(OPD_I16, int16_t)  \
    X(OPD_I32, int32_t)  \
    X(OPD_I64, int64_t)  \
    X(OPD_U8, uint8_t)   \
    X(OPD_U16, uint16_t) \
    X(OPD_U32, uint32_t) \
    X(OPD_U64, uint64_t)

/* count elements, step bytes apart, at any alignment. */
static void load_row(long double *out, opd_dtype dtype, const uint8_t *from, int64_t count, int64_t step)
{
    switch (dtype) {
#define OPD_X(code, type)                                  \
    case code:                                             \
        for (int64_t i = 0; i < count; i++) {              \
            type value;                                    \
            memcpy(&value, from + i * step, sizeof value); \
            out[i] = (long double)value;                   \
        }                                                  \
        break;
        NATIVE_TYPES(OPD_X)
#undef OPD_X
    default:
        for (int64_t i = 0; i < count; i++) {
            out[i] = opd_element_load_wide(dtype, from + i * step);
        }
        break;
    }
}

/* Row by row over the last dimension. */
static void load(long double *out, const opd_tensor *view)
{
    int64_t count = opd_tensor_count(view);
    int64_t row = view->rank > 0 ? view->shape[view->rank - 1] : 1;
    int64_t step = (view->rank > 0 ? view->stride[view->rank - 1] : 1) * (int64_t)opd_dtype_size(view->dtype);
    for (int64_t at = 0; at < count; at += row) {
        int64_t index[OPD_MAX_RANK];
        opd_tensor_unflatten(view, at, index);
        load_row(out + at, view->dtype, (const uint8_t *)view->data + opd_tensor_offset(view, index), row, step);
    }
}

/* -------------------------------------------------------------------------------------------------- finishing */

static const struct range {
    opd_dtype dtype;
    int bits;
    bool is_signed;
} ranges[] = {
    { OPD_I8, 8, true },  { OPD_I16, 16, true },  { OPD_I32, 32, true },  { OPD_I64, 64, true },
    { OPD_U8, 8, false }, { OPD_U16, 16, false }, { OPD_U32, 32, false }, { OPD_U64, 64, false },
};

/* A whole number in the range of the type; NaN becomes 0. */
static long double confine(long double value, const struct range *range, opd_overflow overflow)
{
    long double span = ldexpl(1.0L, range->bits);
    long double low = range->is_signed ? -span / 2 : 0;
    long double high = low + span - 1;
    value = isnan(value) ? 0 : truncl(value);
    if (value >= low && value <= high) {
        return value;
    }
    if (overflow == OPD_OVERFLOW_SATURATE || isinf(value)) {
        return value < low ? low : high;
    }
    value = fmodl(value, span);
    return value < low ? value + span : value > high ? value - span : value;
}

static void round_float(long double *value, int64_t count, opd_dtype dtype)
{
    for (int64_t i = 0; i < count && dtype == OPD_F32; i++) {
        value[i] = (long double)(float)value[i];
    }
    for (int64_t i = 0; i < count && dtype == OPD_F64; i++) {
        value[i] = (long double)(double)value[i];
    }
    bool is_narrow = dtype != OPD_F32 && dtype != OPD_F64;
    for (int64_t i = 0; i < count && is_narrow; i++) {
        uint64_t element = 0;
        opd_element_store_wide(dtype, &element, value[i]);
        value[i] = opd_element_load_wide(dtype, &element);
    }
}

/* Results as the output's dtype holds them; floats of the wide precision stay as they are. */
static void finish(const opd_array *array, const opd_call *call, bool is_wide)
{
    for (size_t r = 0; r < OPD_COUNT(ranges); r++) {
        for (int64_t i = 0; ranges[r].dtype == array->dtype && i < array->count; i++) {
            array->value[i] = confine(array->value[i], &ranges[r], call->op->overflow);
        }
    }
    for (int64_t i = 0; array->dtype == OPD_BOOL && i < array->count; i++) {
        array->value[i] = array->value[i] != 0;
    }
    if (!is_wide && opd_dtype_is_float(array->dtype)) {
        round_float(array->value, array->count, array->dtype);
    }
}

/* ---------------------------------------------------------------------------------------------------- the run */

static opd_status prepare(opd_array *array, const opd_operand *operand, bool wants_gauge)
{
    const opd_tensor *view = &operand->view;
    if ((operand->flags & OPD_OPERAND_ABSENT) != 0) {
        return OPD_OK;
    }
    if (opd_dtype_is_complex(view->dtype)) {
        return opd_fail(OPD_E_DECLINED, "%s is %s: definitions are of real types", operand->name,
                        opd_dtype_name(view->dtype));
    }
    array->dtype = view->dtype;
    array->rank = view->rank;
    memcpy(array->shape, view->shape, sizeof array->shape);
    array->count = opd_tensor_count(view);
    void *block = NULL;
    opd_status status = opd_alloc_array(&block, (size_t)array->count, sizeof *array->value);
    if (status != OPD_OK) {
        return status;
    }
    array->value = block;
    bool is_read = (operand->role & OPD_ROLE_IN) != 0 && (operand->flags & OPD_OPERAND_MUST_NOT_READ) == 0;
    if (is_read && array->count > 0 && view->data == NULL) {
        return opd_fail(OPD_E_INVALID, "%s has no data", operand->name);
    }
    if (is_read && array->count > 0) {
        load(array->value, view);
    }
    if (wants_gauge && (operand->role & OPD_ROLE_OUT) != 0) {
        status = opd_alloc_array(&block, (size_t)array->count, sizeof *array->gauge);
        array->gauge = status == OPD_OK ? block : NULL;
    }
    return status;
}

static opd_rounding rounding_of(opd_dtype dtype)
{
    switch (dtype) {
    case OPD_F16:
    case OPD_BF16:
    case OPD_F32:
        return OPD_ROUNDING_F32;
    case OPD_F64:
        return OPD_ROUNDING_F64;
    default:
        return OPD_ROUNDING_WIDE;
    }
}

/* Definitions rely on what the contract says of shapes: a call from a bundle may be anything. */
static opd_status check(const opd_call *call)
{
    opd_call copy = *call;
    char text[400];
    const opd_operand *unused = NULL;
    return opd_call_check(&copy, text, sizeof text, &unused) ? OPD_OK : opd_fail(OPD_E_INVALID, "%s", text);
}

/* The newest one: a user's library may bring a definition of its own, or variants alone. */
static opd_definition *find_definition(const opd_call *call)
{
    const opd_kernel *kernel = NULL;
    for (int i = 0; call->op != NULL && (kernel = opd_kernel_at(i)) != NULL; i++) {
        if (kernel->define != NULL && strcmp(kernel->name, call->name) == 0 &&
            strcmp(kernel->domain, call->domain) == 0) {
            return kernel->define;
        }
    }
    return NULL;
}

/* The arrays are the definition's to read and fill; what it does to their places, shapes and counts is not looked at. */
static opd_status run(opd_definition *define, opd_definition_work *work, int count)
{
    opd_array arrays[OPD_MAX_OPERANDS];
    bool is_fenced = opd_fence_is_wanted();
    opd_status status = is_fenced ? opd_fence_put_up(work->array, count) : OPD_OK;
    memcpy(arrays, work->array, sizeof arrays);
    if (status == OPD_OK) {
        status = define(work);
    }
    memcpy(work->array, arrays, sizeof arrays);
    if (is_fenced && status == OPD_OK) {
        status = opd_fence_check(work->call);
    }
    if (is_fenced) {
        opd_fence_take_down();
    }
    return status;
}

opd_status opd_definition_run(long double **value, long double **gauge, const opd_call *call, bool is_wide)
{
    opd_definition *define = find_definition(call);
    opd_definition_work work = { .call = call, .rounding = is_wide ? OPD_ROUNDING_WIDE : rounding_of(call->dtype) };
    if (define == NULL) {
        return opd_fail(OPD_E_DECLINED, "there is no reference for %s", call->name);
    }
    opd_status status = check(call);
    int count = status == OPD_OK ? call->operand_count : 0;
    for (int i = 0; i < count && status == OPD_OK; i++) {
        status = prepare(&work.array[i], &call->operands[i], gauge != NULL);
    }
    if (status == OPD_OK) {
        status = run(define, &work, count);
    }
    for (int i = 0; i < count; i++) {
        opd_array *array = &work.array[i];
        bool is_result = status == OPD_OK && (call->operands[i].role & OPD_ROLE_OUT) != 0 && array->value != NULL;
        if (is_result) {
            finish(array, call, is_wide);
            value[i] = array->value;
            if (gauge != NULL) {
                gauge[i] = array->gauge;
            }
            continue;
        }
        opd_free(array->value);
        opd_free(array->gauge);
    }
    return status;
}

/* ---------------------------------------------------------------------------------------------- with more bits */

static opd_status compare(double **doubt, const opd_array *array, const long double *value, const long double *gauge,
                          double cap)
{
    void *block = NULL;
    opd_status status = opd_alloc_array(&block, (size_t)array->count, sizeof **doubt);
    if (status == OPD_OK) {
        *doubt = block;
        opd_quad_compare(block, value, gauge, array->value, array->count, cap);
    }
    return status;
}

opd_status opd_definition_doubt(double **doubt, long double *const *value, long double *const *gauge,
                                const opd_call *call, double cap)
{
    opd_definition *define = opd_quad_find(find_definition(call));
    opd_definition_work work = { .call = call, .rounding = OPD_ROUNDING_WIDE };
    double *made[OPD_MAX_OPERANDS] = { NULL };
    if (define == NULL) {
        return opd_fail(OPD_E_UNSUPPORTED, "no definition of %s with more bits", call->name);
    }
    opd_status status = check(call);
    int count = status == OPD_OK ? call->operand_count : 0;
    for (int i = 0; i < count && status == OPD_OK; i++) {
        status = prepare(&work.array[i], &call->operands[i], false);
        if (status == OPD_OK && work.array[i].value != NULL) {
            opd_quad_widen(work.array[i].value, work.array[i].count);
        }
    }
    if (status == OPD_OK) {
        status = define(&work);
    }
    for (int i = 0; i < count && status == OPD_OK; i++) {
        bool is_result = (call->operands[i].role & OPD_ROLE_OUT) != 0 && opd_dtype_is_float(work.array[i].dtype);
        if (is_result && value[i] != NULL && work.array[i].value != NULL) {
            status = compare(&made[i], &work.array[i], value[i], gauge[i], cap);
        }
    }
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_free(work.array[i].value);
        if (status == OPD_OK) {
            doubt[i] = made[i];
        } else {
            opd_free(made[i]);
        }
    }
    return status;
}
