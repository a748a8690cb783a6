/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opd_metrics: a look whether anything differs; one pass for sums, counts and the largest error; when something differs, a second that counts
 * distances by the upper half of their bits, and a third that counts the lower half inside the few counters where percentiles lie. So
 * percentiles are exact, with no copy of the distances and no sort.
 */
#include <math.h>
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/metrics.h>

#include "compare.h"

enum { UPPER = 1 << 15, LOWER = 1 << 16, MEASURES = 2, FIRST_DECADE = -31 };

/* Counters of one measure (relative error, units in the last place). */
typedef struct measure {
    uint32_t upper[2][UPPER];       /* of even and odd positions, so that equal neighbours do not wait for each other */
    uint32_t seen[UPPER];           /* one distance with that upper half */
    uint8_t slot[UPPER];            /* of an upper half whose lower halves are counted, from 1 */
    uint32_t *lower;                /* [OPD_PERCENTILES][LOWER] */
    uint32_t idle;                  /* components counted as equal that are none */
    uint64_t rank[OPD_PERCENTILES]; /* within its counter */
    uint32_t chosen[OPD_PERCENTILES]; /* upper half of each percentile */
    uint64_t equal[OPD_PERCENTILES];  /* distances that are seen[chosen] */
} measure;

typedef struct counters {
    measure of[MEASURES];
    uint8_t decade[UPPER]; /* of the smallest error with that upper half */
} counters;

typedef struct comparison {
    const opd_compare_loops *loops;
    opd_tensor got, want;
    const long double *wide; /* instead of want */
    int parts;               /* components of an element */
    bool is_plain;           /* f32 against f32, both contiguous, all finite so far */
    bool is_flat[2];         /* contiguous: no index arithmetic */
    int64_t count;           /* components of the shape, masked ones included */
    counters *counters;
    uint32_t bound[OPD_DECADES + 1]; /* bits of the smallest float of each decade */
} comparison;

/* Components from `first` on as doubles; those that are not finite on both sides, or do not exist, count as equal zeros. */
typedef struct block {
    int64_t first;
    size_t count;
    uint64_t absent, infinite, class_differing, differing;
    int64_t first_class_differing;
    double got[OPD_BLOCK], want[OPD_BLOCK], error[OPD_BLOCK], unit[OPD_BLOCK];
} block;

static bool is_contiguous(const opd_tensor *view)
{
    int64_t step = 1;
    for (int i = view->rank - 1; i >= 0; i--) {
        if (view->shape[i] != 1 && view->stride[i] != step) {
            return false;
        }
        step *= view->shape[i];
    }
    return view->mask.kind == OPD_MASK_NONE;
}

static long double component(const opd_tensor *view, bool is_flat, int64_t at, int parts)
{
    opd_dtype part = opd_dtype_real(view->dtype);
    const uint8_t *base = view->data;
    int64_t size = (int64_t)opd_dtype_size(part);
    if (is_flat) {
        return opd_element_load_wide(part, base + at * size);
    }
    int64_t index[OPD_MAX_RANK];
    opd_tensor_unflatten(view, at / parts, index);
    return opd_element_load_wide(part, base + opd_tensor_offset(view, index) + at % parts * size);
}

static bool exists(const opd_tensor *view, int64_t element)
{
    int64_t index[OPD_MAX_RANK];
    if (view->mask.kind == OPD_MASK_NONE) {
        return true;
    }
    opd_tensor_unflatten(view, element, index);
    return opd_tensor_exists(view, index);
}

static bool is_same_class(long double a, long double b)
{
    return isnan(a) || isnan(b) ? isnan(a) && isnan(b) : a == b;
}

static void load(block *out, const comparison *of, int64_t first)
{
    opd_dtype part = opd_dtype_real(of->got.dtype);
    out->first = first;
    out->count = (size_t)(of->count - first < OPD_BLOCK ? of->count - first : OPD_BLOCK);
    out->absent = out->infinite = out->class_differing = out->differing = 0;
    out->first_class_differing = -1;
    for (size_t i = 0; i < out->count; i++) {
        int64_t at = first + (int64_t)i;
        out->got[i] = out->want[i] = out->error[i] = 0;
        out->unit[i] = 1;
        if (!exists(&of->got, at / of->parts)) {
            out->absent++;
            continue;
        }
        long double got = component(&of->got, of->is_flat[0], at, of->parts);
        long double want = of->wide != NULL ? of->wide[at] : component(&of->want, of->is_flat[1], at, of->parts);
        double near = (double)want;
        if (!isfinite(got) || !isfinite(near)) {
            out->infinite++;
            if (!is_same_class(got, isfinite(want) && !isfinite(near) ? (long double)near : want)) {
                out->first_class_differing = out->class_differing == 0 ? at : out->first_class_differing;
                out->class_differing++;
            }
            continue;
        }
        out->got[i] = (double)got;
        out->want[i] = near;
        out->error[i] = (double)(got - want);
        out->unit[i] = opd_dtype_ulp(part, near);
        out->differing += got != want;
    }
}

/* ---------------------------------------------------------------------------------------------------- sums */

typedef struct totals {
    long double got, want, got_got, want_want, got_want, error_error, distance;
} totals;

static void add_sums(totals *to, const opd_block_sums *sums)
{
    to->got += (long double)sums->got;
    to->want += (long double)sums->want;
    to->got_got += (long double)sums->got_got;
    to->want_want += (long double)sums->want_want;
    to->got_want += (long double)sums->got_want;
    to->error_error += (long double)sums->error_error;
    to->distance += (long double)sums->distance;
}

/* Squares that leave the range of a double, either way. */
static void add_large(totals *to, const block *of)
{
    for (size_t i = 0; i < of->count; i++) {
        long double got = (long double)of->got[i];
        long double want = (long double)of->want[i];
        long double error = (long double)of->error[i];
        to->got += got;
        to->want += want;
        to->got_got += got * got;
        to->want_want += want * want;
        to->got_want += got * want;
        to->error_error += error * error;
        to->distance += fabsl(error);
    }
}

static void note_largest(opd_metrics *out, double largest, const block *of)
{
    if (largest <= out->max_abs && out->max_abs_at >= 0) {
        return;
    }
    for (size_t i = 0; i < of->count; i++) {
        if (fabs(of->error[i]) == largest) {
            out->max_abs = largest;
            out->max_abs_at = of->first + (int64_t)i;
            return;
        }
    }
}

static void note_first(opd_metrics *out, const block *of)
{
    int64_t first = of->first_class_differing;
    for (size_t i = 0; i < of->count && out->first_differing < 0; i++) {
        if (of->error[i] != 0 && (first < 0 || of->first + (int64_t)i < first)) {
            first = of->first + (int64_t)i;
            break;
        }
    }
    out->first_differing = out->first_differing < 0 ? first : out->first_differing;
}

static bool has_finite_sums(const opd_block_sums *sums)
{
    return isfinite(sums->got_got + sums->want_want + sums->error_error);
}

static void sum_block(opd_metrics *out, totals *to, const comparison *of, const block *from)
{
    opd_block_sums sums;
    of->loops->sum(&sums, from->got, from->want, from->error, from->count);
    if (has_finite_sums(&sums) && fmin(sums.got_got, sums.want_want) > 1e-280) {
        add_sums(to, &sums);
    } else {
        add_large(to, from);
    }
    out->count += from->count - from->absent;
    out->finite += from->count - from->absent - from->infinite;
    out->class_differing += from->class_differing;
    out->differing += from->differing + from->class_differing;
    if (sums.largest > 0) {
        note_largest(out, sums.largest, from);
    }
    if (out->first_differing < 0) {
        note_first(out, from);
    }
}

/* Of equal finite arrays nothing is summed; up to the first difference there is nothing else that this look costs. */
static bool is_same_throughout(const comparison *of)
{
    const float *got = of->got.data;
    const float *want = of->want.data;
    int64_t first = 0;
    while (of->is_plain && first < of->count) {
        size_t count = (size_t)(of->count - first < OPD_BLOCK ? of->count - first : OPD_BLOCK);
        if (!of->loops->is_same_f32(got + first, want + first, count)) {
            return false;
        }
        first += (int64_t)count;
    }
    return of->is_plain;
}

static void sum_all(opd_metrics *out, totals *to, comparison *of, block *room)
{
    const float *got = of->got.data;
    const float *want = of->want.data;
    bool was_plain = of->is_plain;
    for (int64_t first = 0; first < of->count; first += OPD_BLOCK) {
        opd_block_sums sums;
        size_t count = (size_t)(of->count - first < OPD_BLOCK ? of->count - first : OPD_BLOCK);
        if (was_plain) {
            of->loops->sum_f32(&sums, got + first, want + first, count);
            /* Finite floats have finite squares in double: else one of them is not finite. */
            if (has_finite_sums(&sums)) {
                add_sums(to, &sums);
                out->count += count;
                out->finite += count;
                if (sums.largest > out->max_abs) {
                    load(room, of, first);
                    note_largest(out, sums.largest, room);
                    note_first(out, room);
                }
                continue;
            }
            of->is_plain = false;
        }
        load(room, of, first);
        sum_block(out, to, of, room);
    }
}

static void conclude(opd_metrics *out, const totals *from)
{
    long double n = (long double)out->finite;
    long double spread = n * from->want_want - from->want * from->want;
    long double norms = sqrtl(from->got_got) * sqrtl(from->want_want);
    out->slope = 1;
    out->cosine = 1;
    if (out->finite == 0 || out->max_abs == 0) { /* no rounding of the sums into figures of equal data */
        return;
    }
    out->cosine = norms > 0 ? (double)(from->got_want / norms) : 0;
    out->cosine = out->cosine > 1 ? 1 : out->cosine < -1 ? -1 : out->cosine;
    if (spread > n * from->want_want * 1e-13L) { /* what is less is rounding of the blocks' sums */
        out->slope = (double)((n * from->got_want - from->want * from->got) / spread);
    }
    out->offset = (double)((from->got - (long double)out->slope * from->want) / n);
    out->mean_abs = (double)(from->distance / n);
    out->rmse = (double)sqrtl(from->error_error / n);
}

/* ---------------------------------------------------------------------------------------------- percentiles */

static float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void find_decades(comparison *of)
{
    for (int i = 1; i <= OPD_DECADES; i++) {
        float low = i == 1 ? 0.0F : i == OPD_DECADES ? INFINITY : (float)powl(10.0L, i + FIRST_DECADE);
        memcpy(&of->bound[i], &low, sizeof low);
    }
    uint32_t decade = 1;
    for (uint32_t upper = 0; upper < UPPER; upper++) {
        while (decade + 1 < OPD_DECADES && of->bound[decade + 1] <= upper << 16) {
            decade++;
        }
        of->counters->decade[upper] = (uint8_t)decade;
    }
}

static void make_keys(opd_block_keys *keys, block *room, const comparison *of, int64_t first, size_t *count)
{
    *count = (size_t)(of->count - first < OPD_BLOCK ? of->count - first : OPD_BLOCK);
    if (of->is_plain) {
        const float *got = of->got.data;
        const float *want = of->want.data;
        of->loops->keys_f32(keys, got + first, want + first, *count);
        return;
    }
    load(room, of, first);
    of->loops->keys(keys, room->want, room->error, room->unit, *count);
}

static int64_t find_key(const uint32_t *keys, size_t count, uint32_t wanted)
{
    for (size_t i = 0; i < count; i++) {
        if (keys[i] == wanted) {
            return (int64_t)i;
        }
    }
    return -1;
}

static void note_key(double *max, int64_t *at, const uint32_t *keys, size_t count, uint32_t largest, int64_t first)
{
    double value = (double)float_of(largest);
    if (largest != 0 && (*at < 0 || value > *max)) {
        *max = value;
        *at = first + find_key(keys, count, largest);
    }
}

static void count_upper(opd_metrics *out, const comparison *of, opd_block_keys *keys, block *room)
{
    counters *counted = of->counters;
    uint32_t decades[4][OPD_DECADES + 1] = { { 0 } };
    for (int64_t first = 0; first < of->count; first += OPD_BLOCK) {
        size_t count;
        make_keys(keys, room, of, first, &count);
        for (size_t i = 0; i < count; i++) {
            counted->of[0].upper[i & 1][keys->rel[i] >> 16]++;
            counted->of[1].upper[i & 1][keys->ulp[i] >> 16]++;
            counted->of[1].seen[keys->ulp[i] >> 16] = keys->ulp[i];
        }
        for (size_t i = 0; i < count; i++) {
            uint32_t decade = counted->decade[keys->abs[i] >> 16];
            decades[i & 3][decade + (keys->abs[i] >= of->bound[decade + 1])]++;
        }
        out->differing += of->is_plain ? keys->differing : room->differing;
        note_key(&out->max_rel, &out->max_rel_at, keys->rel, count, keys->largest_rel, first);
        note_key(&out->max_ulp, &out->max_ulp_at, keys->ulp, count, keys->largest_ulp, first);
    }
    /* What is absent or not finite was counted as equal: it is taken out again. */
    uint64_t idle = (uint64_t)of->count - out->finite;
    uint64_t equal = out->finite - (out->differing - out->class_differing);
    for (int k = 0; k < MEASURES; k++) {
        for (int i = 0; i < UPPER; i++) {
            counted->of[k].upper[0][i] += counted->of[k].upper[1][i];
        }
        counted->of[k].upper[0][0] -= (uint32_t)idle;
        counted->of[k].idle = (uint32_t)idle;
    }
    for (int i = 0; i < OPD_DECADES; i++) {
        out->decade[i] = (uint64_t)decades[0][i] + decades[1][i] + decades[2][i] + decades[3][i];
    }
    out->decade[1] -= equal + idle;
    out->decade[0] = equal;
}

/* Nearest rank: the smallest value that at least the share of the values does not exceed. */
static void choose(measure *of, uint64_t count)
{
    static const unsigned percent[OPD_PERCENTILES] = { 50, 95, 99 };
    uint8_t slots = 0;
    for (int i = 0; i < OPD_PERCENTILES; i++) {
        uint64_t rank = (count * percent[i] + 99) / 100;
        uint64_t below = 0;
        uint32_t upper = 0;
        while (upper + 1 < UPPER && below + of->upper[0][upper] < rank) {
            below += of->upper[0][upper++];
        }
        of->chosen[i] = upper;
        of->rank[i] = rank - below;
        if (of->slot[upper] == 0) {
            of->slot[upper] = ++slots;
        }
    }
}

/* Counters of the lower halves below a chosen upper one. */
static uint32_t *lower_of(const measure *of, uint32_t upper)
{
    return of->lower + (ptrdiff_t)(of->slot[upper] - 1) * LOWER;
}

/* Of one measure: what lies in the chosen counters, by its lower half; for those of whole units, how often each one seen there comes. */
static void count_lower(const comparison *of, opd_block_keys *keys, block *room, int first_measure)
{
    measure *ulp = &of->counters->of[1];
    for (int64_t first = 0; first < of->count; first += OPD_BLOCK) {
        size_t count;
        make_keys(keys, room, of, first, &count);
        for (int k = first_measure; k < MEASURES; k++) {
            measure *counted = &of->counters->of[k];
            const uint32_t *key = k == 0 ? keys->rel : keys->ulp;
            uint32_t *kept = keys->kept;
            size_t kept_count = 0;
            if (k == 1 && first_measure == 0) {
                break;
            }
            /* Picked without a branch, which would often be foreseen wrongly. */
            for (size_t i = 0; i < count; i++) {
                kept[kept_count] = key[i];
                kept_count += counted->slot[key[i] >> 16] != 0;
            }
            for (size_t i = 0; i < kept_count; i++) {
                lower_of(counted, kept[i] >> 16)[kept[i] & 0xffff]++;
            }
        }
        for (int k = 0; k < OPD_PERCENTILES && first_measure == 0; k++) {
            ulp->equal[k] += of->loops->count_equal(keys->ulp, count, ulp->seen[ulp->chosen[k]]);
        }
    }
}

/* Distances between floats of one type are whole units, mostly: then every counter holds one value, and that is the percentile. */
static bool is_of_one_value(const measure *of)
{
    for (int i = 0; i < OPD_PERCENTILES; i++) {
        if (of->equal[i] != of->upper[0][of->chosen[i]] + (of->chosen[i] == 0 ? of->idle : 0)) {
            return false;
        }
    }
    return true;
}

static void read_percentiles(double *out, measure *of)
{
    if (of->slot[0] != 0) {
        lower_of(of, 0)[0] -= of->idle;
    }
    for (int i = 0; i < OPD_PERCENTILES; i++) {
        const uint32_t *lower = lower_of(of, of->chosen[i]);
        uint64_t below = 0;
        uint32_t low = 0;
        while (low + 1 < LOWER && below + lower[low] < of->rank[i]) {
            below += lower[low++];
        }
        out[i] = (double)float_of(of->chosen[i] << 16 | low);
    }
}

static opd_status find_percentiles(opd_metrics *out, comparison *of, block *room)
{
    void *block_of_counters = NULL;
    void *lower = NULL;
    void *keys = NULL;
    opd_status status = opd_alloc(&block_of_counters, sizeof(counters));
    if (status == OPD_OK) {
        status = opd_alloc_array(&lower, (size_t)MEASURES * OPD_PERCENTILES * LOWER, sizeof(uint32_t));
    }
    if (status == OPD_OK) {
        status = opd_alloc(&keys, sizeof(opd_block_keys));
    }
    if (status == OPD_OK) {
        of->counters = block_of_counters;
        for (int i = 0; i < MEASURES; i++) {
            of->counters->of[i].lower = (uint32_t *)lower + (ptrdiff_t)i * OPD_PERCENTILES * LOWER;
        }
        find_decades(of);
        count_upper(out, of, keys, room);
        choose(&of->counters->of[0], out->finite);
        choose(&of->counters->of[1], out->finite);
        count_lower(of, keys, room, 0);
        read_percentiles(out->rel, &of->counters->of[0]);
        measure *ulp = &of->counters->of[1];
        if (is_of_one_value(ulp)) {
            for (int i = 0; i < OPD_PERCENTILES; i++) {
                out->ulp[i] = (double)float_of(ulp->seen[ulp->chosen[i]]);
            }
        } else {
            count_lower(of, keys, room, 1);
            read_percentiles(out->ulp, ulp);
        }
    }
    opd_free(keys);
    opd_free(lower);
    opd_free(block_of_counters);
    return status;
}

/* ---------------------------------------------------------------------------------------------------- entry */

static opd_status compare(opd_metrics *out, comparison *of)
{
    opd_metrics result = { .first_differing = -1, .max_abs_at = -1, .max_rel_at = -1, .max_ulp_at = -1 };
    totals sums = { .want = 0 };
    void *room = NULL;
    of->parts = opd_dtype_is_complex(of->got.dtype) ? 2 : 1;
    of->count = opd_tensor_count(&of->got) * of->parts;
    of->is_flat[0] = is_contiguous(&of->got);
    of->is_flat[1] = of->wide == NULL && is_contiguous(&of->want);
    of->is_plain = of->is_flat[0] && of->is_flat[1] && opd_dtype_real(of->got.dtype) == OPD_F32 &&
                   opd_dtype_real(of->want.dtype) == OPD_F32;
    of->loops = opd_compare_loops_get();
    if (of->count >= (int64_t)UINT32_MAX) {
        return opd_fail(OPD_E_LIMIT, "%lld components are more than can be compared at once", (long long)of->count);
    }
    opd_status status = opd_alloc(&room, sizeof(block));
    if (status != OPD_OK) {
        return status;
    }
    if (is_same_throughout(of)) {
        result.count = result.finite = (uint64_t)of->count;
    } else {
        sum_all(&result, &sums, of, room);
    }
    conclude(&result, &sums);
    if (result.max_abs > 0 || result.differing > result.class_differing) {
        result.differing = result.class_differing; /* the others are counted with the percentiles */
        status = find_percentiles(&result, of, room);
    } else {
        result.decade[0] = result.finite;
    }
    opd_free(room);
    if (status == OPD_OK) {
        *out = result;
    }
    return status;
}

opd_status opd_metrics_compare(opd_metrics *out, const opd_tensor *got, const opd_tensor *want)
{
    bool is_same = got->rank == want->rank && opd_dtype_is_complex(got->dtype) == opd_dtype_is_complex(want->dtype);
    for (int i = 0; is_same && i < got->rank; i++) {
        is_same = got->shape[i] == want->shape[i];
    }
    if (!is_same) {
        char one[128];
        char two[128];
        opd_tensor_describe(one, sizeof one, got);
        opd_tensor_describe(two, sizeof two, want);
        return opd_fail(OPD_E_INVALID, "%s cannot be compared with %s", one, two);
    }
    comparison item = { .got = *got, .want = *want };
    return compare(out, &item);
}

opd_status opd_metrics_compare_wide(opd_metrics *out, const opd_tensor *got, const long double *want)
{
    comparison item = { .got = *got, .wide = want };
    return compare(out, &item);
}
