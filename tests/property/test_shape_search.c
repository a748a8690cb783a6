// SPDX-License-Identifier: Apache-2.0
// Shape search against synthetic bugs of known optimum: thresholds, tails (d > V, d % V != 0), exact residues, volumes, tails with
// thresholds; sizes up to 1024. Prints questions asked and how often the global optimum was reached, and holds them to bounds.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/random.h>

#include "shape_search.h"

enum { TRIALS = 1500, MAX_DIMS = 6, MAX_QUESTIONS = 4000 };

typedef enum kind { THRESHOLD, TAIL, RESIDUE, VOLUME, TAIL_AND_THRESHOLD, KINDS } kind;
enum { FREE = 0, HAS_TAIL = 1, HAS_THRESHOLD = 2 }; /* what binds a dimension */

typedef struct bug {
    kind kind;
    int count;
    int64_t original[MAX_DIMS], threshold[MAX_DIMS], tile[MAX_DIMS], residue[MAX_DIMS];
    int binds[MAX_DIMS];
    double volume;
    double optimum; /* product of the best sizes */
} bug;

typedef struct record {
    const bug *bug;
    int count;
    int64_t asked[MAX_QUESTIONS][MAX_DIMS];
    bool answer[MAX_QUESTIONS];
} record;

static uint64_t draws;

static uint64_t draw(void)
{
    return opd_random_u64(20240611, 7, draws++);
}

static int64_t between(int64_t low, int64_t high)
{
    return low + (int64_t)(draw() % (uint64_t)(high - low + 1));
}

static double unit(void)
{
    return (double)(draw() >> 11) * 0x1p-53;
}

static bool has_tail(const bug *b, int i, int64_t size)
{
    return size > b->tile[i] && size % b->tile[i] != 0;
}

static double product(const int64_t *size, int count)
{
    double all = 1;
    for (int i = 0; i < count; i++) {
        all *= (double)size[i];
    }
    return all;
}

static bool dim_fails(const bug *b, int i, int64_t size)
{
    if (b->kind == RESIDUE) {
        return size % b->tile[i] == b->residue[i];
    }
    bool wants_tail = b->kind == TAIL || (b->kind == TAIL_AND_THRESHOLD && (b->binds[i] & HAS_TAIL) != 0);
    bool wants_threshold =
        b->kind == THRESHOLD || (b->kind == TAIL_AND_THRESHOLD && (b->binds[i] & HAS_THRESHOLD) != 0);
    return (!wants_tail || has_tail(b, i, size)) && (!wants_threshold || size >= b->threshold[i]);
}

static bool fails(const bug *b, const int64_t *size)
{
    if (b->kind == VOLUME) {
        return product(size, b->count) >= b->volume;
    }
    for (int i = 0; i < b->count; i++) {
        if (b->binds[i] != FREE && !dim_fails(b, i, size[i])) {
            return false;
        }
    }
    return true;
}

/* Smallest size of one dimension that fails, by trying all. */
static int64_t best_of(const bug *b, int i)
{
    int64_t size = 1;
    while (!dim_fails(b, i, size)) {
        size++;
    }
    return size;
}

static void make_bug(bug *b, int count, const int64_t *tiles, int tile_count)
{
    memset(b, 0, sizeof(*b));
    b->count = count;
    b->kind = (kind)(draw() % KINDS);
    bool is_bound = false;
    while (!is_bound) {
        for (int i = 0; i < count; i++) {
            b->binds[i] = (draw() & 1) != 0 ? (int)(1 + draw() % 3) : FREE;
            is_bound = is_bound || b->binds[i] != FREE;
        }
    }
    b->optimum = 1;
    for (int i = 0; i < count; i++) {
        b->original[i] = count == 6 ? between(32, 64) : between(512, 1024);
        b->tile[i] = tiles[draw() % (uint64_t)tile_count];
        b->threshold[i] = (int64_t)exp(unit() * log((double)b->original[i]));
        while (b->original[i] % b->tile[i] == 0 && (b->kind == TAIL || b->kind == TAIL_AND_THRESHOLD)) {
            b->original[i]++;
        }
        b->residue[i] = b->original[i] % b->tile[i];
        if (b->binds[i] != FREE && b->kind != VOLUME) {
            b->optimum *= (double)best_of(b, i);
        }
    }
    if (b->kind == VOLUME) {
        b->volume = fmax(1, floor(exp(unit() * log(product(b->original, count)))));
        b->optimum = b->volume;
    }
}

static bool probe(void *context, const int64_t *size)
{
    record *r = context;
    for (int i = 0; i < r->count; i++) {
        if (memcmp(r->asked[i], size, (size_t)r->bug->count * sizeof(*size)) == 0) {
            return r->answer[i];
        }
    }
    assert_true(r->count < MAX_QUESTIONS);
    for (int i = 0; i < r->bug->count; i++) {
        assert_true(size[i] >= 1 && size[i] <= r->bug->original[i]);
    }
    memcpy(r->asked[r->count], size, (size_t)r->bug->count * sizeof(*size));
    r->answer[r->count] = fails(r->bug, size);
    return r->answer[r->count++];
}

static void begin(opd_search *search, record *r, const bug *b, const int64_t *tiles, int tile_count)
{
    memset(search, 0, sizeof(*search));
    r->bug = b;
    r->count = 0;
    search->count = b->count;
    search->probe = probe;
    search->context = r;
    search->tiles = tiles;
    search->tile_count = tile_count;
    for (int i = 0; i < b->count; i++) {
        search->value[i] = b->original[i];
        search->least[i] = 1;
    }
}

static int by_value(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

typedef struct outcome {
    double mean, optimal, excess;
    int p95;
} outcome;

static outcome measure(const char *name, int count, const int64_t *tiles, int tile_count, bool is_told)
{
    static record r;
    static int questions[TRIALS];
    outcome result = { 0 };
    for (int trial = 0; trial < TRIALS; trial++) {
        bug b;
        opd_search search;
        make_bug(&b, count, tiles, tile_count);
        assert_true(fails(&b, b.original));
        begin(&search, &r, &b, is_told ? tiles : NULL, is_told ? tile_count : 0);
        opd_search_run(&search);
        assert_true(fails(&b, search.value));
        for (int i = 0; i < count && search.value[i] > 1; i++) {
            int64_t smaller[OPD_SEARCH_MAX];
            memcpy(smaller, search.value, sizeof(smaller));
            smaller[i]--;
            assert_false(fails(&b, smaller));
        }
        double ratio = product(search.value, count) / b.optimum;
        questions[trial] = r.count;
        result.mean += r.count / (double)TRIALS;
        result.optimal += ratio <= 1.02 ? 1.0 / TRIALS : 0;
        result.excess += ratio / TRIALS;
    }
    qsort(questions, TRIALS, sizeof(questions[0]), by_value);
    result.p95 = questions[TRIALS * 95 / 100];
    print_message("%-24s %d dims: %5.1f questions, p95 %3d, optimal %5.1f %%, mean excess %.2f\n", name, count,
                  result.mean, result.p95, 100 * result.optimal, result.excess);
    return result;
}

static const int64_t powers[] = { 4, 8, 16, 32, 64, 128 };
static const int64_t odd[] = { 6, 7, 12, 24, 48 };

static void four_dimensions_take_fifty_questions(void **state)
{
    (void)state;
    outcome plain = measure("powers of two", 4, powers, 6, false);
    outcome told = measure("6 7 12 24 48, told", 4, odd, 5, true);
    assert_true(plain.mean <= 50 && plain.p95 <= 140 && plain.optimal >= 0.92);
    assert_true(told.mean <= 52 && told.p95 <= 140 && told.optimal >= 0.92 && told.excess < 1.05);
}

static void few_dimensions_are_cheap_and_exact(void **state)
{
    (void)state;
    outcome one = measure("powers of two", 1, powers, 6, false);
    outcome two = measure("powers of two", 2, powers, 6, false);
    outcome six = measure("powers of two", 6, powers, 3, false);
    measure("6 7 12 24 48, not told", 4, odd, 5, false);
    assert_true(one.mean <= 15 && one.optimal >= 0.99);
    assert_true(two.mean <= 25 && two.optimal >= 0.95);
    assert_true(six.mean <= 50 && six.optimal >= 0.85);
}

static void the_same_question_twice_gives_the_same_search(void **state)
{
    (void)state;
    static record first;
    static record second;
    bug b;
    opd_search search;
    make_bug(&b, 4, powers, 6);
    begin(&search, &first, &b, NULL, 0);
    opd_search_run(&search);
    begin(&search, &second, &b, NULL, 0);
    opd_search_run(&search);
    assert_int_equal(first.count, second.count);
    assert_memory_equal(first.asked, second.asked, sizeof(first.asked[0]) * (size_t)first.count);
}

static void a_finished_search_finds_nothing_more(void **state)
{
    (void)state;
    static record r;
    for (int trial = 0; trial < 100; trial++) {
        bug b;
        opd_search search;
        make_bug(&b, 3, powers, 6);
        begin(&search, &r, &b, NULL, 0);
        opd_search_run(&search);
        int64_t found[OPD_SEARCH_MAX];
        memcpy(found, search.value, sizeof(found));
        opd_search_run(&search);
        assert_true(product(search.value, 3) <= product(found, 3));
    }
}

static bool refuse(void *context, const int64_t *before, const int64_t *value)
{
    (void)context;
    (void)before;
    (void)value;
    return false;
}

static void a_step_that_does_not_hold_is_taken_back(void **state)
{
    (void)state;
    static record r;
    bug b = { .kind = THRESHOLD, .count = 2, .original = { 100, 100 }, .threshold = { 5, 5 }, .binds = { 1, 1 } };
    opd_search search;
    begin(&search, &r, &b, NULL, 0);
    search.settle = refuse;
    assert_false(opd_search_run(&search));
    assert_int_equal(search.value[0], 100);
    assert_int_equal(search.value[1], 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_dimensions_take_fifty_questions),
        cmocka_unit_test(few_dimensions_are_cheap_and_exact),
        cmocka_unit_test(the_same_question_twice_gives_the_same_search),
        cmocka_unit_test(a_finished_search_finds_nothing_more),
        cmocka_unit_test(a_step_that_does_not_hold_is_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
