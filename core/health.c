/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Health of elements. Chunks are brought to float or double, exactly but for 64-bit integers, and summed by the kernels in kernels_body.h. Only
 * chunks in which the sums show something rare (a NaN, an Inf; for complex numbers also a zero or a subnormal) are looked at
 * again to count by element.
 */
#include "health.h"

#include <string.h>

#include "elementary.h"
#include "fpenv.h"

#define CONVERTED_CHUNK 512 /* components on the stack, which may be one of 16 KiB (recorded programs) */

/* Components as the kernels take them. */
typedef union chunk {
    float f32[CONVERTED_CHUNK];
    double f64[CONVERTED_CHUNK];
} chunk;

static bool is_held_as_float(const opd_dtype_info *info)
{
    return info->kind == OPD_CLASS_FLOAT ? info->part <= 4 : info->part <= 2;
}

void opd_health_begin(opd_health_state *state, opd_health *out, opd_dtype dtype, bool is_full)
{
    const opd_dtype_info *info = opd_dtype_info_of(dtype);
    state->out = out;
    state->info = info;
    state->kernels = opd_kernels_get();
    state->dtype = dtype;
    state->is_full = is_full;
    state->is_complex = info->size != info->part;
    state->normal = 0.0;
    state->lane = 0;
    if (is_full) {
        state->lanes = (opd_lanes){ 0 };
    }
    *out = (opd_health){ .first_nan = -1, .first_inf = -1 };
    if (info->kind == OPD_CLASS_FLOAT) {
        state->normal = opd_power_of_two(2 - (1 << (info->exponent_bits - 1)));
    }
    for (int l = 0; l < OPD_LANES && is_full; l++) {
        state->lanes.min[l] = __builtin_inf();
        state->lanes.max[l] = -__builtin_inf();
    }
}

#define WIDEN(type, member, real)                                 \
    for (size_t i = 0; i < count; i++) {                          \
        type value;                                               \
        memcpy(&value, bytes + i * sizeof(value), sizeof(value)); \
        out->member[i] = (real)value;                             \
    }                                                             \
    break;

/* Is an element already what the kernels take? */
static bool is_held_as_it_is(const opd_dtype_info *info)
{
    return info->kind == OPD_CLASS_FLOAT && info->part >= 4;
}

/* Brings count components of the other dtypes to float or double. */
static void convert(chunk *out, const opd_health_state *state, const uint8_t *bytes, size_t count)
{
    switch (state->dtype) {
    case OPD_F16:
        state->kernels->widen_f16(out->f32, bytes, count);
        break;
    case OPD_BF16:
        state->kernels->widen_bf16(out->f32, bytes, count);
        break;
    case OPD_I8:
        WIDEN(int8_t, f32, float)
    case OPD_U8:
        WIDEN(uint8_t, f32, float)
    case OPD_I16:
        WIDEN(int16_t, f32, float)
    case OPD_U16:
        WIDEN(uint16_t, f32, float)
    case OPD_I32:
        WIDEN(int32_t, f64, double)
    case OPD_U32:
        WIDEN(uint32_t, f64, double)
    case OPD_I64:
        WIDEN(int64_t, f64, double)
    case OPD_U64:
        WIDEN(uint64_t, f64, double)
    case OPD_BOOL:
        for (size_t i = 0; i < count; i++) {
            out->f32[i] = bytes[i] != 0 ? 1.0F : 0.0F;
        }
        break;
    default:
        break;
    }
}

static double value_of(const opd_health_state *state, const uint8_t *values, size_t i)
{
    if (is_held_as_float(state->info)) {
        float value;
        memcpy(&value, values + i * sizeof(value), sizeof(value));
        return (double)value;
    }
    double value;
    memcpy(&value, values + i * sizeof(value), sizeof(value));
    return value;
}

/* What a kernel does, for a component that does not start or fill a row of lanes. */
static void sum_one(opd_health_state *state, double value)
{
    opd_lanes *lanes = &state->lanes;
    double size = __builtin_fabs(value);
    unsigned l = state->lane;
    state->lane = (l + 1) % OPD_LANES;
    if (size < __builtin_inf()) {
        lanes->finite++;
        lanes->sum[l] += value;
        lanes->min[l] = value < lanes->min[l] ? value : lanes->min[l];
        lanes->max[l] = value > lanes->max[l] ? value : lanes->max[l];
    }
    lanes->zero += size == 0.0;
    lanes->small += size < state->normal;
}

static void sum(opd_health_state *state, const uint8_t *values, size_t count)
{
    size_t i = 0;
    for (; i < count && state->lane != 0; i++) {
        sum_one(state, value_of(state, values, i));
    }
    size_t rows = (count - i) / OPD_LANES * OPD_LANES;
    if (is_held_as_float(state->info)) {
        state->kernels->sum_f32(&state->lanes, values + i * sizeof(float), rows, (float)state->normal);
    } else {
        state->kernels->sum_f64(&state->lanes, values + i * sizeof(double), rows, state->normal);
    }
    for (i += rows; i < count; i++) {
        sum_one(state, value_of(state, values, i));
    }
}

/* The first element of the chunk with a NaN (or an Inf) component, as a position in the view. */
static int64_t first_of(const opd_health_state *state, const uint8_t *values, bool wants_nan)
{
    size_t i = 0;
    for (;; i++) { /* there is one */
        double value = value_of(state, values, i);
        if (wants_nan ? value != value : __builtin_fabs(value) == __builtin_inf()) {
            break;
        }
    }
    return (int64_t)(state->out->count + i / (state->is_complex ? 2 : 1));
}

static void note_first(opd_health_state *state, const uint8_t *values, const opd_nonfinite *found)
{
    opd_health *out = state->out;
    if (found->nan > 0 && out->first_nan < 0) {
        out->first_nan = first_of(state, values, true);
    }
    if (found->pos_inf + found->neg_inf > 0 && out->first_inf < 0) {
        out->first_inf = first_of(state, values, false);
    }
    out->nan += found->nan;
    out->pos_inf += found->pos_inf;
    out->neg_inf += found->neg_inf;
}

static void count_nonfinite(opd_health_state *state, const uint8_t *values, size_t count)
{
    opd_nonfinite found = is_held_as_float(state->info) ? state->kernels->count_f32(values, count)
                                                        : state->kernels->count_f64(values, count);
    note_first(state, values, &found);
}

/* Complex elements count once per class over both their parts. */
static void count_complex(opd_health_state *state, const uint8_t *values, size_t count)
{
    opd_nonfinite found = { 0 };
    uint64_t zero = 0;
    uint64_t subnormal = 0;
    const double infinity = __builtin_inf();
    for (size_t i = 0; i < count; i += 2) {
        double re = value_of(state, values, i);
        double im = value_of(state, values, i + 1);
        double re_size = __builtin_fabs(re);
        double im_size = __builtin_fabs(im);
        found.nan += (re != re) | (im != im);
        found.pos_inf += (re == infinity) | (im == infinity);
        found.neg_inf += (re == -infinity) | (im == -infinity);
        zero += (re_size == 0.0) & (im_size == 0.0);
        subnormal += ((re_size > 0.0) & (re_size < state->normal)) | ((im_size > 0.0) & (im_size < state->normal));
    }
    note_first(state, values, &found);
    if (state->is_full) {
        state->out->zero += zero;
        state->out->subnormal += subnormal;
    }
}

/* Counts what the sums do not. */
static void count_rare(opd_health_state *state, const uint8_t *values, size_t count)
{
    if (state->is_complex) {
        count_complex(state, values, count);
    } else {
        count_nonfinite(state, values, count);
    }
}

static void update_full(opd_health_state *state, const uint8_t *values, size_t count)
{
    const opd_lanes before = state->lanes;
    sum(state, values, count);
    bool is_plain = state->lanes.finite - before.finite == count;
    uint64_t zero = state->lanes.zero - before.zero;
    uint64_t small = state->lanes.small - before.small;
    if (state->is_complex) {
        is_plain = is_plain && small == 0;
    } else {
        state->out->zero += zero;
        state->out->subnormal += small > zero ? small - zero : 0; /* integers have no small ones */
    }
    if (!is_plain) {
        count_rare(state, values, count);
    }
}

/* Only on the bits; true for a chunk that holds a NaN or an Inf. */
static bool any_nonfinite(const opd_health_state *state, const uint8_t *bytes, size_t count)
{
    const opd_dtype_info *info = state->info;
    uint64_t mask = ((UINT64_C(1) << info->exponent_bits) - 1) << info->fraction_bits;
    switch (info->part) {
    case 2:
        return state->kernels->any_16(bytes, count, (uint16_t)mask);
    case 4:
        return state->kernels->any_32(bytes, count, (uint32_t)mask);
    default:
        return state->kernels->any_64(bytes, count, mask);
    }
}

/* One chunk as the kernels take it. */
static void update_chunk(opd_health_state *state, const uint8_t *values, size_t count)
{
    if (state->is_full) {
        update_full(state, values, count);
    } else {
        count_rare(state, values, count);
    }
}

/* A function of its own, so that only those who need it have the room on their stack. */
static __attribute__((noinline)) void update_converted(opd_health_state *state, const uint8_t *at, size_t count)
{
    chunk room;
    convert(&room, state, at, count);
    update_chunk(state, (const uint8_t *)&room, count);
}

void opd_health_update(opd_health_state *state, const void *elements, size_t count)
{
    const uint8_t *at = elements;
    size_t parts = state->is_complex ? 2 : 1;
    bool is_converted = !is_held_as_it_is(state->info);
    size_t most = (is_converted ? CONVERTED_CHUNK : OPD_CHUNK) / parts;
    if (!state->is_full && !any_nonfinite(state, at, count * parts)) {
        state->out->count += count;
        return;
    }
    opd_fpenv saved = opd_fpenv_enter();
    while (count > 0) {
        size_t some = count < most ? count : most;
        if (!state->is_full && !any_nonfinite(state, at, some * parts)) {
            /* the chunk has none of what is looked for */
        } else if (is_converted) {
            update_converted(state, at, some * parts);
        } else {
            update_chunk(state, at, some * parts);
        }
        state->out->count += some;
        at += some * state->info->size;
        count -= some;
    }
    opd_fpenv_leave(saved);
}

void opd_health_end(opd_health_state *state)
{
    if (!state->is_full) {
        return;
    }
    const opd_lanes *lanes = &state->lanes;
    opd_health *out = state->out;
    double total = 0.0;
    opd_fpenv saved = opd_fpenv_enter();
    out->min = __builtin_inf();
    out->max = -__builtin_inf();
    for (int l = 0; l < OPD_LANES; l++) {
        total += lanes->sum[l];
        out->min = lanes->min[l] < out->min ? lanes->min[l] : out->min;
        out->max = lanes->max[l] > out->max ? lanes->max[l] : out->max;
    }
    out->min += 0.0; /* -0 becomes 0: which of the two came first is no property of the data */
    out->max += 0.0;
    out->mean = lanes->finite > 0 ? total / (double)lanes->finite : 0.0;
    opd_fpenv_leave(saved);
}
