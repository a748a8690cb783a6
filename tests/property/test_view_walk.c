/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random views against brute force: walk, counts, span, pack, unpack.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "view_generator.h"

#define PLAIN_CASES  20000
#define MASKED_CASES 30000
#define CANARY       0xA7

typedef void make_fn(sample *out, rng *r);

/* Names the case in the failure's output: its number and view. */
static void note(const sample *s, int number)
{
    char text[256];
    opd_tensor_describe(text, sizeof(text), &s->view);
    print_error("case %d: %s\n", number, text);
}

#define REQUIRE(condition)          \
    do {                            \
        if (!(condition)) {         \
            note(s, number);        \
            assert_true(condition); \
        }                           \
    } while (0)

static void check_runs(const sample *s, int number)
{
    opd_runs runs;
    opd_run run;
    size_t at = 0;
    opd_runs_begin(&runs, &s->view);
    while (opd_runs_next(&runs, &run)) {
        REQUIRE(run.count >= 1 && run.step >= 0);
        for (int64_t i = 0; i < run.count; i++) {
            REQUIRE(at < s->count && run.offset + i * run.step == s->offsets[at]);
            at++;
        }
    }
    REQUIRE(at == s->count);
    REQUIRE(!opd_runs_next(&runs, &run));
}

static void check_numbers(const sample *s, int number)
{
    int64_t low;
    int64_t high;
    int64_t size = (int64_t)opd_dtype_size(s->view.dtype);
    REQUIRE(opd_tensor_check(&s->view) == OPD_OK);
    REQUIRE(opd_tensor_existing(&s->view) == (int64_t)s->existing);
    REQUIRE(opd_tensor_packed_bytes(&s->view) == s->count * (size_t)size);
    opd_tensor_span(&s->view, &low, &high);
    if (s->count == 0) {
        REQUIRE(low == 0 && high == 0);
    } else {
        REQUIRE(low == s->offsets[0] && high == s->offsets[s->count - 1] + size);
    }
}

static void check_indices(const sample *s, int number)
{
    int64_t index[OPD_MAX_RANK] = { 0 };
    size_t existing = 0;
    for (int64_t flat = 0; flat < opd_tensor_count(&s->view); flat++) {
        opd_tensor_unflatten(&s->view, flat, index);
        if (!opd_tensor_exists(&s->view, index)) {
            continue;
        }
        existing++;
        int64_t offset = opd_tensor_offset(&s->view, index);
        size_t left = 0;
        size_t right = s->count;
        while (right - left > 1) {
            size_t middle = left + (right - left) / 2;
            if (s->offsets[middle] <= offset) {
                left = middle;
            } else {
                right = middle;
            }
        }
        REQUIRE(right > left && s->offsets[left] == offset);
    }
    REQUIRE(existing == s->existing);
}

static void check_pack(sample *s, int number)
{
    size_t size = opd_dtype_size(s->view.dtype);
    size_t bytes = s->count * size;
    uint8_t *expected = malloc(bytes + 1);
    uint8_t *packed = malloc(bytes + 1);
    uint8_t *scanned = malloc(bytes + 1);
    packed[bytes] = scanned[bytes] = CANARY;
    const uint8_t *data = s->view.data;
    for (size_t i = 0; i < s->count; i++) {
        memcpy(expected + i * size, data + s->offsets[i], size);
    }
    opd_tensor_pack(packed, &s->view);
    REQUIRE(memcmp(packed, expected, bytes) == 0 && packed[bytes] == CANARY);
    opd_tensor_scan(&s->view, scanned, NULL, NULL);
    REQUIRE(memcmp(scanned, expected, bytes) == 0 && scanned[bytes] == CANARY);

    /* Into a buffer of canaries: exactly the existing elements change. */
    uint8_t *target = malloc(s->bytes);
    uint8_t *wanted = malloc(s->bytes);
    memset(target, CANARY, s->bytes);
    memset(wanted, CANARY, s->bytes);
    ptrdiff_t origin = data - s->buffer;
    for (size_t i = 0; i < s->count; i++) {
        memcpy(wanted + origin + s->offsets[i], data + s->offsets[i], size);
    }
    opd_tensor other = s->view;
    other.data = target + origin;
    opd_tensor_unpack(&other, packed);
    REQUIRE(memcmp(target, wanted, s->bytes) == 0);
    free(expected);
    free(packed);
    free(scanned);
    free(target);
    free(wanted);
}

static void check_many(make_fn *make, int cases, uint64_t seed)
{
    rng r = { seed };
    for (int number = 0; number < cases; number++) {
        sample s;
        make(&s, &r);
        check_numbers(&s, number);
        check_runs(&s, number);
        check_indices(&s, number);
        check_pack(&s, number);
        sample_done(&s);
    }
}

static void plain_views_match_brute_force(void **state)
{
    (void)state;
    check_many(sample_plain, PLAIN_CASES, 20240501);
}

static void masked_views_match_brute_force(void **state)
{
    (void)state;
    check_many(sample_masked, MASKED_CASES, 20240502);
}

/* Closed forms, so a view of 2^50 elements costs no more than a small one. */
static void huge_masked_views_cost_nothing(void **state)
{
    (void)state;
    int64_t n = INT64_C(1) << 25;
    opd_tensor view = {
        .dtype = OPD_F64, .rank = 2, .shape = { n, n }, .stride = { 1, n }, .mask = { .kind = OPD_MASK_LOWER }
    };
    int64_t low;
    int64_t high;
    for (int i = 0; i < 100000; i++) {
        assert_int_equal(opd_tensor_existing(&view), n * (n + 1) / 2);
        opd_tensor_span(&view, &low, &high);
        assert_int_equal(low, 0);
        assert_int_equal(high, n * n * 8);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_views_match_brute_force),
        cmocka_unit_test(masked_views_match_brute_force),
        cmocka_unit_test(huge_masked_views_cost_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
