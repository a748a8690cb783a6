/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The walk of a view in storage order. opd_runs_begin() normalises the view (flip, drop, sort, merge) so that all views of the
 * same memory give the same walk; opd_runs_next() then yields runs. Triangles and bands become one form: the inner
 * elements that exist for an outer index are an interval that moves by one per outer index, cut by the box and holes.
 */
#include "walk.h"

#include <string.h>

#include <opsdebug/memory.h>

__extension__ typedef __int128 wide;

static int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t size_of(const opd_runs *runs)
{
    return (int64_t)opd_dtype_size(runs->walk.dtype);
}

/* ------------------------------------------------------------------------------------------- all elements exist */

static void make_empty(opd_runs *runs)
{
    runs->walk.mask = (opd_mask){ 0 };
    runs->walk.rank = 1;
    runs->walk.shape[0] = 0;
    runs->walk.stride[0] = 1;
    runs->is_done = true;
}

/* Joins neighbours in the sorted list where the outer one continues the inner one. */
static void merge(opd_tensor *walk)
{
    int32_t kept = 0;
    for (int32_t d = 1; d < walk->rank; d++) {
        int64_t continued;
        if (opd_mul_i64(&continued, walk->stride[d], walk->shape[d]) && continued == walk->stride[kept]) {
            walk->shape[kept] *= walk->shape[d];
            walk->stride[kept] = walk->stride[d];
        } else {
            kept++;
            walk->shape[kept] = walk->shape[d];
            walk->stride[kept] = walk->stride[d];
        }
    }
    walk->rank = walk->rank > 0 ? kept + 1 : 0;
}

static void begin_plain(opd_runs *runs, const opd_tensor *view)
{
    opd_tensor *walk = &runs->walk;
    walk->mask = (opd_mask){ 0 };
    walk->rank = 0;
    for (int32_t d = 0; d < view->rank; d++) {
        int64_t extent = view->shape[d];
        int64_t stride = view->stride[d];
        if (extent == 0) {
            make_empty(runs);
            return;
        }
        if (extent == 1 || stride == 0) {
            continue;
        }
        if (stride < 0) {
            runs->base += (extent - 1) * stride * size_of(runs);
            stride = -stride;
        }
        int32_t at = walk->rank++;
        for (; at > 0; at--) {
            /* Equal strides (overlapping windows): the longer one outside, whatever the order given. */
            bool is_before =
                walk->stride[at - 1] > stride || (walk->stride[at - 1] == stride && walk->shape[at - 1] >= extent);
            if (is_before) {
                break;
            }
            walk->stride[at] = walk->stride[at - 1];
            walk->shape[at] = walk->shape[at - 1];
        }
        walk->stride[at] = stride;
        walk->shape[at] = extent;
    }
    merge(walk);
    runs->offset = runs->base;
}

/* Moves on by one in dimension d, or past its end in those outside it. */
static void advance(opd_runs *runs, int32_t d)
{
    const opd_tensor *walk = &runs->walk;
    int64_t size = size_of(runs);
    for (; d >= 0; d--) {
        if (runs->index[d] + 1 < walk->shape[d]) {
            runs->index[d]++;
            runs->offset += walk->stride[d] * size;
            return;
        }
        runs->offset -= runs->index[d] * walk->stride[d] * size;
        runs->index[d] = 0;
    }
    runs->is_done = true;
}

static bool next_plain(opd_runs *runs, opd_run *run)
{
    const opd_tensor *walk = &runs->walk;
    int32_t inner = walk->rank - 1;
    run->offset = runs->offset;
    run->count = inner < 0 ? 1 : walk->shape[inner];
    run->step = inner < 0 ? size_of(runs) : walk->stride[inner] * size_of(runs);
    advance(runs, inner - 1);
    return true;
}

int64_t opd_walk_take_rows(opd_runs *runs, int64_t most, int64_t *row_step)
{
    const opd_tensor *walk = &runs->walk;
    int32_t d = walk->rank - 2;
    if (walk->mask.kind != OPD_FORM_PLAIN || d < 0 || runs->is_done || runs->index[d] == 0) {
        return 0; /* the next run, if any, does not lie one row further */
    }
    int64_t rows = min_of(most, walk->shape[d] - runs->index[d]);
    *row_step = walk->stride[d] * size_of(runs);
    if (rows > 0) {
        runs->index[d] += rows - 1;
        runs->offset += (rows - 1) * *row_step;
        advance(runs, d);
    }
    return max_of(0, rows);
}

/* ------------------------------------------------------------------------------------------- triangles and bands */

/* lower <= factor[0] * index[0] + factor[1] * index[1] < upper, in the box shape, index[d] != hole[d]. */
typedef struct constraint {
    int64_t factor[2];
    int64_t lower, upper;
    int64_t shape[2];
    int64_t hole[2];
} constraint;

#define NO_LIMIT (INT64_C(1) << 62)

static constraint constraint_of(const opd_tensor *view)
{
    const opd_mask *mask = &view->mask;
    constraint c = { .shape = { view->shape[0], view->shape[1] }, .hole = { -1, -1 } };
    if (mask->kind == OPD_MASK_BAND) {
        int s = mask->by_rows ? 1 : 0;                       /* the dimension across the band */
        int64_t shift = mask->by_rows ? mask->kl : mask->ku; /* its index of the diagonal */
        int64_t across = mask->by_rows ? mask->cols : mask->rows;
        int64_t along = mask->by_rows ? mask->rows : mask->cols;
        c.factor[0] = c.factor[1] = 1;
        c.lower = shift;
        c.upper = shift + across;
        c.shape[s] = min_of(c.shape[s], mask->kl + mask->ku + 1);
        c.shape[1 - s] = min_of(c.shape[1 - s], along);
        c.hole[s] = mask->unit ? shift : -1;
    } else {
        c.factor[0] = mask->kind == OPD_MASK_UPPER ? -1 : 1;
        c.factor[1] = -c.factor[0];
        c.lower = mask->unit ? 1 : 0;
        c.upper = NO_LIMIT;
    }
    return c;
}

static void flip(constraint *c, int d)
{
    int64_t last = c->shape[d] - 1;
    c->lower -= c->factor[d] * last;
    c->upper -= c->factor[d] * last;
    c->factor[d] = -c->factor[d];
    c->hole[d] = c->hole[d] < 0 ? -1 : last - c->hole[d];
}

/* Is dimension 1 the outer one? Size-1 dims have no stride to go by and stand outside. */
static bool is_second_outer(const constraint *c, const int64_t stride[2])
{
    if (c->shape[0] == 1 || c->shape[1] == 1) {
        return c->shape[0] != 1;
    }
    if (stride[0] != stride[1]) {
        return stride[1] > stride[0];
    }
    return c->shape[1] > c->shape[0];
}

static int64_t outer_begin(const opd_runs *runs)
{
    return runs->slope > 0 ? max_of(0, runs->lower - runs->walk.shape[1] + 1) : max_of(0, 1 - runs->upper);
}

static void enter_outer(opd_runs *runs, int64_t outer)
{
    runs->index[0] = outer;
    runs->offset = runs->base + outer * runs->walk.stride[0] * size_of(runs);
    runs->low = max_of(0, runs->lower - runs->slope * outer);
    runs->high = min_of(runs->walk.shape[1], runs->upper - runs->slope * outer);
    if (outer == runs->hole_outer) {
        runs->high = runs->low;
    }
}

/* Brings mask, flips and order into walk, slope, lower, upper and holes; false when the box is empty. */
static bool normalise_slope(opd_runs *runs, const opd_tensor *view)
{
    opd_tensor *walk = &runs->walk;
    constraint c = constraint_of(view);
    int64_t stride[2] = { view->stride[0], view->stride[1] };
    if (c.shape[0] == 0 || c.shape[1] == 0) {
        return false;
    }
    for (int d = 0; d < 2; d++) {
        if (stride[d] < 0 && c.shape[d] > 1) {
            runs->base += (c.shape[d] - 1) * stride[d] * size_of(runs);
            flip(&c, d);
            stride[d] = -stride[d];
        }
    }
    int outer = is_second_outer(&c, stride) ? 1 : 0;
    int inner = 1 - outer;
    walk->rank = 2;
    walk->shape[0] = c.shape[outer];
    walk->shape[1] = c.shape[inner];
    walk->stride[0] = c.shape[outer] > 1 ? stride[outer] : 0;
    walk->stride[1] = c.shape[inner] > 1 ? stride[inner] : 1;
    runs->slope = c.factor[outer];
    runs->lower = c.lower;
    runs->upper = c.upper;
    if (c.factor[inner] < 0) {
        runs->slope = -c.factor[outer];
        runs->lower = 1 - c.upper;
        runs->upper = 1 - c.lower;
    }
    int64_t least = runs->slope > 0 ? 0 : 1 - walk->shape[0];
    int64_t most = (runs->slope > 0 ? walk->shape[0] - 1 : 0) + walk->shape[1] - 1;
    runs->lower = max_of(runs->lower, least);
    runs->upper = min_of(runs->upper, most + 1);
    runs->hole_outer = c.hole[outer] < c.shape[outer] ? c.hole[outer] : -1;
    runs->hole_inner = c.hole[inner] < c.shape[inner] ? c.hole[inner] : -1;
    walk->mask = (opd_mask){ .kind = OPD_FORM_SLOPE };
    return true;
}

static void begin_slope(opd_runs *runs, const opd_tensor *view)
{
    opd_tensor *walk = &runs->walk;
    int64_t count = normalise_slope(runs, view) ? opd_walk_count(runs) : 0;
    if (count == 0) {
        make_empty(runs);
    } else if (count == walk->shape[0] * walk->shape[1]) {
        opd_tensor whole = *walk; /* the mask hides nothing: the same as the view without it */
        begin_plain(runs, &whole);
    } else {
        runs->outer_end = min_of(walk->shape[0], runs->slope > 0 ? runs->upper : walk->shape[1] - runs->lower);
        enter_outer(runs, outer_begin(runs));
    }
}

static bool next_slope(opd_runs *runs, opd_run *run)
{
    for (;;) {
        if (runs->low == runs->hole_inner) {
            runs->low++;
        }
        if (runs->low < runs->high) {
            break;
        }
        if (runs->index[0] + 1 >= runs->outer_end) {
            runs->is_done = true;
            return false;
        }
        enter_outer(runs, runs->index[0] + 1);
    }
    int64_t end = runs->hole_inner > runs->low && runs->hole_inner < runs->high ? runs->hole_inner : runs->high;
    int64_t step = runs->walk.stride[1] * size_of(runs);
    run->offset = runs->offset + runs->low * step;
    run->count = end - runs->low;
    run->step = step;
    runs->low = end;
    return true;
}

/* Pairs (o, x) of 0 <= o < m, 0 <= x < n with o + x < limit: a triangle less its corners outside the box. */
static wide triangle(wide k)
{
    return k > 0 ? k * (k + 1) / 2 : 0;
}

static wide pairs_below(int64_t m, int64_t n, int64_t limit)
{
    wide k = limit;
    return triangle(k) - triangle(k - m) - triangle(k - n) + triangle(k - m - n);
}

static int64_t count_slope(const opd_runs *runs)
{
    int64_t m = runs->walk.shape[0];
    int64_t n = runs->walk.shape[1];
    int64_t shift = runs->slope > 0 ? 0 : m - 1; /* the outer index counted from the end makes the slope 1 */
    wide count = pairs_below(m, n, runs->upper + shift) - pairs_below(m, n, runs->lower + shift);
    if (runs->hole_outer >= 0) {
        int64_t from = max_of(0, runs->lower - runs->slope * runs->hole_outer);
        count -= max_of(0, min_of(n, runs->upper - runs->slope * runs->hole_outer) - from);
    }
    if (runs->hole_inner >= 0) {
        /* lower <= slope * o + hole < upper, as a range of o */
        int64_t a = runs->lower - runs->hole_inner;
        int64_t b = runs->upper - runs->hole_inner;
        int64_t from = runs->slope > 0 ? a : 1 - b;
        int64_t to = runs->slope > 0 ? b : 1 - a;
        count -= max_of(0, min_of(m, to) - max_of(0, from));
    }
    return count > 0 ? (int64_t)count : 0;
}

/* ------------------------------------------------------------------------------ packed triangle, no diagonal */

static void begin_packed(opd_runs *runs, const opd_tensor *view)
{
    opd_tensor *walk = &runs->walk;
    int64_t n = view->mask.rows;
    bool is_upper = view->mask.upper != 0;
    walk->rank = 1;
    walk->shape[0] = view->shape[0];
    walk->stride[0] = view->stride[0];
    if (view->stride[0] < 0 && view->shape[0] > 1) {
        /* From its other end, an upper triangle by columns reads as a lower one. */
        runs->base += (view->shape[0] - 1) * view->stride[0] * size_of(runs);
        walk->stride[0] = -view->stride[0];
        is_upper = !is_upper;
    }
    walk->mask = (opd_mask){ .kind = OPD_FORM_PACKED, .upper = is_upper, .rows = n };
    runs->offset = runs->base;
    if (n <= 1) {
        make_empty(runs);
    }
}

static bool next_packed(opd_runs *runs, opd_run *run)
{
    int64_t n = runs->walk.mask.rows;
    int64_t j = runs->index[0]++;
    int64_t start = runs->walk.mask.upper ? (j + 1) * (j + 2) / 2 : j * n - j * (j - 1) / 2 + 1;
    run->step = runs->walk.stride[0] * size_of(runs);
    run->offset = runs->base + start * run->step;
    run->count = runs->walk.mask.upper ? j + 1 : n - 1 - j;
    runs->is_done = runs->index[0] >= n - 1;
    return true;
}

/* ------------------------------------------------------------------------------------------------------ public */

static void begin_walk(opd_runs *runs, const opd_tensor *view)
{
    /* Field by field: clearing the whole takes longer than walking a small view. Shape and stride are set up to rank. */
    opd_tensor *walk = &runs->walk;
    walk->data = view->data;
    walk->dtype = view->dtype;
    walk->rank = 0;
    walk->mask = (opd_mask){ 0 };
    walk->storage = NULL;
    walk->storage_bytes = 0;
    memset(runs->index, 0, sizeof(runs->index));
    runs->base = runs->offset = 0;
    runs->low = runs->high = 0;
    runs->slope = runs->lower = runs->upper = 0;
    runs->hole_outer = runs->hole_inner = -1;
    runs->outer_end = 0;
    runs->is_done = false;
}

static bool is_packed_view(const opd_tensor *view)
{
    return view->mask.kind == OPD_MASK_PACKED && view->mask.unit && view->rank == 1;
}

static bool is_slope_view(const opd_tensor *view)
{
    return view->mask.kind >= OPD_MASK_UPPER && view->mask.kind <= OPD_MASK_BAND && view->rank == 2;
}

void opd_runs_begin(opd_runs *runs, const opd_tensor *view)
{
    begin_walk(runs, view);
    if (is_packed_view(view)) {
        begin_packed(runs, view);
    } else if (is_slope_view(view)) {
        begin_slope(runs, view);
    } else {
        begin_plain(runs, view);
    }
}

bool opd_runs_next(opd_runs *runs, opd_run *run)
{
    if (runs->is_done) {
        return false;
    }
    switch (runs->walk.mask.kind) {
    case OPD_FORM_SLOPE:
        return next_slope(runs, run);
    case OPD_FORM_PACKED:
        return next_packed(runs, run);
    default:
        return next_plain(runs, run);
    }
}

int64_t opd_walk_count(const opd_runs *runs)
{
    const opd_tensor *walk = &runs->walk;
    if (walk->mask.kind == OPD_FORM_SLOPE) {
        return count_slope(runs);
    }
    if (walk->mask.kind == OPD_FORM_PACKED) {
        return walk->mask.rows * (walk->mask.rows - 1) / 2;
    }
    return opd_tensor_count(walk);
}

uint64_t opd_tensor_packed_bytes(const opd_tensor *view)
{
    opd_runs runs;
    opd_runs_begin(&runs, view);
    return (uint64_t)opd_walk_count(&runs) * opd_dtype_size(view->dtype);
}

bool opd_tensor_same_places(const opd_tensor *a, const opd_tensor *b)
{
    bool is_same = a->rank == b->rank;
    for (int d = 0; d < a->rank && is_same; d++) {
        is_same = a->shape[d] == b->shape[d] && (a->shape[d] <= 1 || a->stride[d] == b->stride[d]);
    }
    return is_same;
}

int64_t opd_tensor_existing(const opd_tensor *view)
{
    opd_runs runs;
    if (is_slope_view(view)) { /* not the walk's count: there, a mask that hides nothing drops stride-0 dims */
        begin_walk(&runs, view);
        return normalise_slope(&runs, view) ? count_slope(&runs) : 0;
    }
    if (is_packed_view(view)) {
        opd_runs_begin(&runs, view);
        return opd_walk_count(&runs);
    }
    return opd_tensor_count(view);
}

/* The last run of a triangle or band; there is one. */
static void last_slope(opd_runs *runs, opd_run *run)
{
    int64_t outer = runs->outer_end;
    int64_t end;
    do {
        enter_outer(runs, --outer);
        end = runs->high - (runs->high - 1 == runs->hole_inner ? 1 : 0);
    } while (runs->low >= end || (runs->low == runs->hole_inner && end - runs->low == 1));
    run->step = runs->walk.stride[1] * size_of(runs);
    run->offset = runs->offset + (end - 1) * run->step;
    run->count = 1;
}

/* Strides are positive and the outer one is not the smaller: first and last element of the walk are the ends. */
void opd_tensor_span(const opd_tensor *view, int64_t *low, int64_t *high)
{
    opd_runs runs;
    opd_run run = { 0 };
    opd_runs_begin(&runs, view);
    *low = *high = 0;
    if (runs.is_done) {
        return;
    }
    const opd_tensor *walk = &runs.walk;
    int64_t size = size_of(&runs);
    if (walk->mask.kind == OPD_FORM_SLOPE) {
        (void)opd_runs_next(&runs, &run);
        *low = run.offset;
        last_slope(&runs, &run);
        *high = run.offset + size;
    } else if (walk->mask.kind == OPD_FORM_PACKED) {
        /* Both triangles start and end with a diagonal element. */
        *low = runs.base + walk->stride[0] * size;
        *high = runs.base + (walk->shape[0] - 2) * walk->stride[0] * size + size;
    } else {
        *low = *high = runs.base;
        for (int32_t d = 0; d < walk->rank; d++) {
            *high += (walk->shape[d] - 1) * walk->stride[d] * size;
        }
        *high += size;
    }
}
