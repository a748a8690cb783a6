/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Order of begin and end events: random intervals are ordered, then a viewer is simulated that knows only the events: per lane a stack,
 * begins push, ends pop the innermost. Every interval must come back with its own begin and end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/packet.h>
#include <opsdebug/random.h>

enum { MOST = 200, ROUNDS = 3000 };

static opd_interval given[MOST];
static opd_interval ordered[MOST];
static opd_edge edges[2 * MOST];
static uint64_t draws;

/* Below limit. */
static uint64_t draw(uint64_t seed, uint64_t limit)
{
    return opd_random_u64(seed, 1, draws++) % limit;
}

static uint64_t time_of(const opd_edge *edge)
{
    const opd_interval *interval = &ordered[edge->interval];
    return edge->is_end ? interval->end_ns : interval->begin_ns;
}

static uint32_t order(uint32_t count)
{
    uint32_t lanes = UINT32_MAX;

    memcpy(ordered, given, sizeof(given));
    assert_int_equal(opd_intervals_order(&lanes, edges, ordered, count), OPD_OK);
    return lanes;
}

/* Simulates the viewer. */
static void check_order(uint32_t count, uint32_t lanes)
{
    static uint32_t stack[MOST][MOST];
    uint32_t depth[MOST] = { 0 };
    bool is_seen[MOST] = { false };
    uint64_t last_begin[MOST];

    memset(last_begin, 0xff, sizeof(last_begin));
    for (uint32_t i = 0; i < 2 * count; i++) {
        const opd_edge *edge = &edges[i];
        const opd_interval *interval = &ordered[edge->interval];
        uint32_t lane = interval->lane;
        assert_true(lane < lanes);
        assert_true(i == 0 || time_of(&edges[i - 1]) <= time_of(edge));
        if (!edge->is_end) {
            assert_int_equal(interval->depth, depth[lane]);
            stack[lane][depth[lane]++] = edge->interval;
            last_begin[lane] = interval->begin_ns;
            continue;
        }
        assert_true(depth[lane] > 0);
        assert_int_equal(stack[lane][--depth[lane]], edge->interval);
        /* An end of something earlier after a begin of the same time would swallow the new slice. */
        assert_true(interval->begin_ns == interval->end_ns || last_begin[lane] != interval->end_ns);
        /* No length: the begin is right before. */
        assert_true(interval->begin_ns != interval->end_ns ||
                    (edges[i - 1].interval == edge->interval && !edges[i - 1].is_end));
        assert_false(is_seen[interval->item]);
        is_seen[interval->item] = true;
        assert_true(interval->begin_ns == given[interval->item].begin_ns);
        assert_true(interval->end_ns == given[interval->item].end_ns);
    }
    for (uint32_t i = 0; i < count; i++) {
        assert_true(is_seen[i]);
    }
}

static void crossing_intervals_keep_their_ends(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        uint32_t count = (uint32_t)draw(seed, MOST);
        uint64_t span = 1 + draw(seed, 3 * MOST);
        for (uint32_t i = 0; i < count; i++) {
            uint64_t begin = draw(seed, span);
            given[i] = (opd_interval){ .begin_ns = begin, .end_ns = begin + draw(seed, 1 + span / 4), .item = i };
        }
        check_order(count, order(count));
    }
}

/* Splits [begin, end] into nested calls as a program makes them; numbers them outside in. */
static uint32_t nest(uint64_t seed, uint32_t next, uint64_t begin, uint64_t end, uint32_t depth)
{
    if (next >= MOST) {
        return next;
    }
    given[next] = (opd_interval){ .begin_ns = begin, .end_ns = end, .item = next, .depth = depth };
    next++;
    uint64_t at = begin;
    while (at < end && draw(seed, 3) != 0 && depth < 30) {
        uint64_t from = at + draw(seed, end - at);
        uint64_t to = from + 1 + draw(seed, end - from);
        next = nest(seed, next, from, to, depth + 1);
        at = to;
    }
    return next;
}

static void nested_intervals_take_one_lane_and_keep_their_depth(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        uint32_t count = 0;
        uint64_t begin = 10;
        while (count < MOST && draw(seed, 8) != 0) {
            uint64_t end = begin + 1 + draw(seed, 300);
            count = nest(seed, count, begin, end, 0);
            begin = end;
        }
        uint32_t lanes = order(count);
        assert_int_equal(lanes, count > 0 ? 1 : 0);
        check_order(count, lanes);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(ordered[i].depth, given[ordered[i].item].depth);
        }
    }
}

/* The order of the input does not matter. */
static void any_input_order_gives_the_same_output(void **state)
{
    static opd_interval first[MOST];
    static opd_edge first_edges[2 * MOST];

    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        uint32_t count = 2 + (uint32_t)draw(seed, MOST - 2);
        for (uint32_t i = 0; i < count; i++) {
            uint64_t begin = draw(seed, 50);
            given[i] = (opd_interval){ .begin_ns = begin, .end_ns = begin + draw(seed, 20), .item = i };
        }
        uint32_t lanes = order(count);
        memcpy(first, ordered, sizeof(first));
        memcpy(first_edges, edges, sizeof(first_edges));
        for (uint32_t i = count - 1; i > 0; i--) {
            uint32_t other = (uint32_t)draw(seed, i + 1);
            opd_interval moved = given[i];
            given[i] = given[other];
            given[other] = moved;
        }
        assert_int_equal(order(count), lanes);
        for (uint32_t i = 0; i < count; i++) {
            assert_int_equal(ordered[i].item, first[i].item);
            assert_int_equal(ordered[i].lane, first[i].lane);
        }
        for (uint32_t i = 0; i < 2 * count; i++) {
            assert_int_equal(edges[i].interval, first_edges[i].interval);
            assert_int_equal(edges[i].is_end, first_edges[i].is_end);
        }
    }
}

static void a_staircase_takes_a_lane_per_step(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < MOST; i++) {
        given[i] = (opd_interval){ .begin_ns = i, .end_ns = MOST + i, .item = i };
    }
    assert_int_equal(order(MOST), MOST);
    check_order(MOST, MOST);
}

static void an_interval_that_ends_before_it_begins_is_refused(void **state)
{
    uint32_t lanes = 77;

    (void)state;
    opd_error_clear();
    given[0] = (opd_interval){ .begin_ns = 5, .end_ns = 4 };
    assert_int_equal(opd_intervals_order(&lanes, edges, given, 1), OPD_E_INVALID);
    assert_int_equal(lanes, 77);
    assert_string_not_equal(opd_error_text(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crossing_intervals_keep_their_ends),
        cmocka_unit_test(nested_intervals_take_one_lane_and_keep_their_depth),
        cmocka_unit_test(any_input_order_gives_the_same_output),
        cmocka_unit_test(a_staircase_takes_a_lane_per_step),
        cmocka_unit_test(an_interval_that_ends_before_it_begins_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
