// SPDX-License-Identifier: Apache-2.0
// Shape search: joint small cubes, each size to its least, then per size a bisection over the ladder of low bits
// (keeps the residue modulo every power of two), one over 2^j + 1 (first size past a tile), a descent by powers of two
// and by tiles, and at the end one-step neighbours of single sizes and of pairs.
// Plain bisection is not enough: a bug in a remainder loop is not monotone in the size.
#include "shape_search.h"

#include <string.h>

static void copy(int64_t *to, const int64_t *from)
{
    memcpy(to, from, OPD_SEARCH_MAX * sizeof(*to));
}

/* Asks for candidate and makes it the best when it fails. */
static bool take(opd_search *s, const int64_t *candidate)
{
    if (!s->probe(s->context, candidate)) {
        return false;
    }
    copy(s->value, candidate);
    return true;
}

static bool take_one(opd_search *s, int dim, int64_t size)
{
    int64_t candidate[OPD_SEARCH_MAX];
    if (size < s->least[dim] || size >= s->value[dim]) {
        return false;
    }
    copy(candidate, s->value);
    candidate[dim] = size;
    return take(s, candidate);
}

/* Closes a step that began at before; false when nothing is left of it. */
static bool settle(opd_search *s, const int64_t *before)
{
    if (memcmp(before, s->value, (size_t)s->count * sizeof(*before)) == 0) {
        return false;
    }
    if (s->settle != NULL && !s->settle(s->context, before, s->value)) {
        copy(s->value, before);
        return false;
    }
    return true;
}

/* Smallest rung of an ascending ladder that fails, by bisection; *below becomes the largest rung known to pass. */
static bool climb(opd_search *s, int dim, const int64_t *rung, int count, int64_t *below)
{
    bool took = false;
    int low = 0;
    int high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (take_one(s, dim, rung[middle])) {
            took = true;
            high = middle;
        } else {
            *below = rung[middle] > *below ? rung[middle] : *below;
            low = middle + 1;
        }
    }
    return took;
}

static int residue_ladder(int64_t *rung, int64_t size, int64_t below)
{
    int count = 0;
    for (int bit = 1; bit < 62; bit++) {
        int64_t low = size & (((int64_t)1 << bit) - 1);
        if (low == size) {
            break;
        }
        if (low > below && (count == 0 || rung[count - 1] != low)) {
            rung[count++] = low;
        }
    }
    return count;
}

static int boundary_ladder(int64_t *rung, int64_t size, int64_t below)
{
    int count = 0;
    for (int bit = 0; bit < 61; bit++) {
        int64_t past = ((int64_t)1 << bit) + 1;
        if (past >= size) {
            break;
        }
        if (past > below) {
            rung[count++] = past;
        }
    }
    return count;
}

/* Subtracts unit * 2^j from high j to low as long as the size stays above `above` and fails. */
static bool descend(opd_search *s, int dim, int64_t unit, int64_t above)
{
    bool took = false;
    int64_t room = s->value[dim] - above - 1;
    int64_t step = unit;
    while (step <= room / 2) {
        step *= 2;
    }
    for (; step >= unit; step /= 2) {
        while (s->value[dim] - step > above && take_one(s, dim, s->value[dim] - step)) {
            took = true;
        }
    }
    return took;
}

/* Ways out of a local minimum: a size just past half (tails of odd tiles), and whole tiles less. */
static bool escape(opd_search *s, int dim)
{
    int64_t size = s->value[dim];
    if (take_one(s, dim, size / 2) || take_one(s, dim, size / 2 + 1) || take_one(s, dim, (size + 3) / 4 + 1)) {
        return true;
    }
    for (int i = 0; i < s->tile_count; i++) {
        int64_t tile = s->tiles[i];
        bool is_power = (tile & (tile - 1)) == 0; /* those the descent has covered */
        if (tile < 3 || tile >= size || is_power) {
            continue;
        }
        if (take_one(s, dim, tile + 1) || take_one(s, dim, size % tile == 0 ? tile : size % tile)) {
            return true;
        }
        if (take_one(s, dim, size - tile)) {
            descend(s, dim, tile, s->least[dim] - 1);
            return true;
        }
    }
    return false;
}

/* The ladders: few questions, large steps. Returns the largest size below that is known to pass. */
static int64_t shrink_coarsely(opd_search *s, int dim)
{
    int64_t rung[64];
    int64_t below = s->least[dim];
    climb(s, dim, rung, residue_ladder(rung, s->value[dim], below), &below);
    climb(s, dim, rung, boundary_ladder(rung, s->value[dim], below), &below);
    return below;
}

static void shrink_one(opd_search *s, int dim)
{
    do {
        if (s->value[dim] == s->least[dim] || take_one(s, dim, s->least[dim])) {
            return;
        }
        descend(s, dim, 1, shrink_coarsely(s, dim));
    } while (escape(s, dim));
}

bool opd_search_one(opd_search *s, int dim)
{
    int64_t before[OPD_SEARCH_MAX];
    copy(before, s->value);
    shrink_one(s, dim);
    return settle(s, before);
}

static bool cubes(opd_search *s)
{
    static const int64_t edges[] = { 1, 2, 3, 4, 8 };
    int64_t candidate[OPD_SEARCH_MAX];
    for (unsigned i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
        bool is_smaller = false;
        copy(candidate, s->value);
        for (int dim = 0; dim < s->count; dim++) {
            int64_t edge = edges[i] > s->least[dim] ? edges[i] : s->least[dim];
            if (edge < candidate[dim]) {
                candidate[dim] = edge;
                is_smaller = true;
            }
        }
        if (!is_smaller) {
            return false;
        }
        if (take(s, candidate)) {
            return true;
        }
    }
    return false;
}

static void group_to_least(opd_search *s, int first, int last)
{
    int64_t candidate[OPD_SEARCH_MAX];
    bool is_smaller = false;
    copy(candidate, s->value);
    for (int dim = first; dim < last; dim++) {
        is_smaller = is_smaller || candidate[dim] > s->least[dim];
        candidate[dim] = s->least[dim];
    }
    if (is_smaller) {
        take(s, candidate);
    }
}

/* Sizes to their least: all together, then half by half down to each alone; a group that is there already costs nothing. */
static void to_least(opd_search *s)
{
    int width = 1;
    while (width < s->count) {
        width *= 2;
    }
    for (; width >= 1; width /= 2) {
        for (int first = 0; first < s->count; first += width) {
            group_to_least(s, first, first + width < s->count ? first + width : s->count);
        }
    }
}

static bool sweep_pairs(opd_search *s)
{
    int64_t candidate[OPD_SEARCH_MAX];
    for (int i = 0; i < s->count; i++) {
        for (int j = i + 1; j < s->count; j++) {
            copy(candidate, s->value);
            candidate[i]--;
            candidate[j]--;
            if (candidate[i] >= s->least[i] && candidate[j] >= s->least[j] && take(s, candidate)) {
                return true;
            }
        }
    }
    return false;
}

static bool sweep(opd_search *s)
{
    bool took = false;
    for (int dim = 0; dim < s->count; dim++) {
        took = take_one(s, dim, s->value[dim] - 1) || took;
    }
    return sweep_pairs(s) || took;
}

bool opd_search_run(opd_search *s)
{
    int64_t before[OPD_SEARCH_MAX];
    copy(before, s->value);
    cubes(s);
    bool shrank = settle(s, before);
    copy(before, s->value);
    to_least(s);
    shrank = settle(s, before) || shrank;
    for (int dim = 0; dim < s->count; dim++) {
        shrank = opd_search_one(s, dim) || shrank;
    }
    do {
        copy(before, s->value);
    } while (sweep(s) && settle(s, before) && (shrank = true));
    return shrank;
}
