/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packet encoder against bytes written out by hand from the wire format and the format's field numbers.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/packet.h>

static opd_buffer out;
static opd_sequence *sequence;

static int setup(void **state)
{
    (void)state;
    opd_buffer_init(&out, (size_t)64 << 20);
    return opd_sequence_new(&sequence, 7) == OPD_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    opd_buffer_done(&out);
    opd_sequence_free(sequence);
    return 0;
}

#define assert_bytes(...)                                           \
    do {                                                            \
        const uint8_t expected[] = { __VA_ARGS__ };                 \
        assert_int_equal(out.status, OPD_OK);                       \
        assert_int_equal(out.size, sizeof(expected));               \
        assert_memory_equal(out.bytes, expected, sizeof(expected)); \
    } while (0)

/* The examples of the protobuf encoding guide. */
static void writes_the_wire_format(void **state)
{
    (void)state;
    opd_pb_varint(&out, 1, 150);
    opd_pb_text(&out, 2, "testing");
    size_t position = opd_pb_begin(&out, 3);
    opd_pb_varint(&out, 1, 150);
    opd_pb_end(&out, position);
    opd_pb_fixed64(&out, 47, 0x0102030405060708u);
    opd_pb_double(&out, 5, 1.0);
    assert_bytes(0x08, 0x96, 0x01, 0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g', 0x1a, 0x03, 0x08, 0x96, 0x01, 0xf9,
                 0x02, 8, 7, 6, 5, 4, 3, 2, 1, 0x29, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f);
}

static void writes_the_largest_varint_in_ten_bytes(void **state)
{
    (void)state;
    opd_pb_varint(&out, 1, UINT64_MAX);
    assert_bytes(0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01);
}

static void writes_short_lengths_minimal_and_long_ones_padded(void **state)
{
    static const struct {
        size_t body;
        size_t head;
        uint8_t length[4];
    } cases[] = { { 0, 1, { 0 } },
                  { 127, 1, { 0x7f } },
                  { 128, 2, { 0x80, 0x01 } },
                  { 16383, 2, { 0xff, 0x7f } },
                  { 16384, 4, { 0x80, 0x80, 0x81, 0x00 } } };
    static uint8_t body[16384];

    (void)state;
    memset(body, 0xaa, sizeof(body));
    for (size_t i = 0; i < OPD_COUNT(cases); i++) {
        out.size = 0;
        size_t position = opd_pb_begin(&out, 1);
        opd_buffer_append(&out, body, cases[i].body);
        opd_pb_end(&out, position);
        assert_int_equal(out.size, 1 + cases[i].head + cases[i].body);
        assert_memory_equal(out.bytes + 1, cases[i].length, cases[i].head);
        assert_memory_equal(out.bytes + 1 + cases[i].head, body, cases[i].body);
    }
}

static void opens_a_sequence_with_defaults_and_both_clocks(void **state)
{
    (void)state;
    opd_sequence_counters(sequence, 3, 4);
    opd_packet_event(&out, sequence, &(opd_track_event){ .type = OPD_TRACK_END, .track = 2, .time_ns = 300 });
    assert_bytes(0x0a, 0x29,                                                 /* packet */
                 0x50, 0x07,                                                 /* sequence */
                 0x68, 0x01,                                                 /* state cleared */
                 0xb8, 0x05, 0x01,                                           /* first packet */
                 0xda, 0x03, 0x0d,                                           /* defaults */
                 0x5a, 0x08, 0x58, 0x02, 0xf8, 0x01, 0x03, 0xe8, 0x02, 0x04, /* of events: track, counters */
                 0xd0, 0x03, 0x40,                                           /* clock 64 */
                 0x32, 0x10,                                                 /* snapshot; 64 incremental, 6 */
                 0x0a, 0x07, 0x08, 0x40, 0x10, 0xac, 0x02, 0x18, 0x01, 0x0a, 0x05, 0x08, 0x06, 0x10, 0xac, 0x02, 0x0a,
                 0x0a, /* packet */
                 0x40, 0x00, 0x50, 0x07, 0x68, 0x02, 0x5a, 0x02, 0x48, 0x02);
}

static size_t bytes_of(const opd_track_event *event)
{
    size_t before = out.size;
    opd_packet_event(&out, sequence, event);
    assert_int_equal(out.status, OPD_OK);
    return out.size - before;
}

/* Sizes measured with another encoder; names are known and the distance in time takes two bytes. */
static void events_have_the_known_sizes(void **state)
{
    opd_note number = { .name = "m", .kind = OPD_NOTE_INT, .i = 5 };
    opd_note shape = { .name = "shape", .kind = OPD_NOTE_TEXT, .text = "f32[1, 2, 3, 4]" };
    opd_note key_only = { .name = "shape", .kind = OPD_NOTE_INT, .i = 1 };
    uint64_t flow = 99;
    opd_track_event begin = { .type = OPD_TRACK_BEGIN, .track = 1, .time_ns = 1000, .name = "n", .category = "c" };

    (void)state;
    (void)bytes_of(&begin);
    begin.time_ns = 2000;
    assert_int_equal(bytes_of(&begin), 17);
    assert_int_equal(bytes_of(&(opd_track_event){ .type = OPD_TRACK_END, .track = 1, .time_ns = 3000 }), 13);
    assert_int_equal(bytes_of(&(opd_track_event){ .type = OPD_TRACK_END, .track = 5, .time_ns = 4000 }), 15);

    begin.note_count = 1;
    begin.notes = &number;
    begin.time_ns = 5000;
    (void)bytes_of(&begin);
    begin.time_ns = 6000;
    assert_int_equal(bytes_of(&begin), 17 + 6);
    begin.notes = &shape;
    begin.time_ns = 7000;
    (void)bytes_of(&begin);
    begin.time_ns = 8000;
    assert_int_equal(bytes_of(&begin), 17 + 7);
    begin.notes = &key_only;
    begin.time_ns = 9000;
    assert_int_equal(bytes_of(&begin), 17 + 6);
    begin.note_count = 0;
    begin.flow_count = 1;
    begin.flows = &flow;
    begin.time_ns = 10000;
    assert_int_equal(bytes_of(&begin), 17 + 10);
}

/* Delta 0 on the sequence's clock, then the absolute time 100 on clock 6, then a delta that takes no notice of it. */
static void an_earlier_time_is_absolute_and_leaves_the_clock_alone(void **state)
{
    opd_track_event event = { .type = OPD_TRACK_END, .track = 1, .time_ns = 1000 };

    (void)state;
    (void)bytes_of(&event);
    out.size = 0;
    event.time_ns = 100;
    (void)bytes_of(&event);
    event.time_ns = 1001;
    (void)bytes_of(&event);
    assert_bytes(0x0a, 0x0d, 0x40, 100, 0xd0, 0x03, 0x06, 0x50, 0x07, 0x68, 0x02, 0x5a, 0x02, 0x48, 0x02, /**/
                 0x0a, 0x0a, 0x40, 1, 0x50, 0x07, 0x68, 0x02, 0x5a, 0x02, 0x48, 0x02);
}

static bool holds(const char *text)
{
    return memmem(out.bytes, out.size, text, strlen(text)) != NULL;
}

static void a_cleared_sequence_defines_everything_again(void **state)
{
    opd_track_event event = {
        .type = OPD_TRACK_INSTANT, .track = 1, .time_ns = 50, .name = "name", .category = "category"
    };

    (void)state;
    size_t first = bytes_of(&event);
    out.size = 0;
    event.time_ns = 60;
    (void)bytes_of(&event);
    assert_false(holds("name"));
    opd_sequence_clear(sequence);
    out.size = 0;
    event.time_ns = 70;
    /* All but the mark of a first packet. */
    assert_int_equal(bytes_of(&event), first - 3);
    assert_true(holds("name"));
    assert_true(holds("category"));
}

static void a_cleared_sequence_does_not_turn_its_clock_back(void **state)
{
    (void)state;
    (void)bytes_of(&(opd_track_event){ .type = OPD_TRACK_END, .track = 1, .time_ns = 100 });
    opd_sequence_clear(sequence);
    out.size = 0;
    (void)bytes_of(&(opd_track_event){ .type = OPD_TRACK_END, .track = 1, .time_ns = 40 });
    /* Snapshot at 100; the event at 40 of clock 6. */
    const uint8_t snapshot[] = { 0x08, 0x06, 0x10, 100 };
    const uint8_t event[] = { 0x40, 40, 0xd0, 0x03, 0x06 };
    assert_non_null(memmem(out.bytes, out.size, snapshot, sizeof(snapshot)));
    assert_non_null(memmem(out.bytes, out.size, event, sizeof(event)));
}

static void numbers_that_are_none_become_text(void **state)
{
    opd_note notes[] = { { .name = "a", .kind = OPD_NOTE_REAL, .real = (double)NAN },
                         { .name = "b", .kind = OPD_NOTE_REAL, .real = -(double)INFINITY },
                         { .name = "c", .kind = OPD_NOTE_REAL, .real = (double)INFINITY } };

    (void)state;
    (void)bytes_of(
        &(opd_track_event){ .type = OPD_TRACK_INSTANT, .track = 1, .name = "n", .notes = notes, .note_count = 3 });
    assert_true(holds("NaN"));
    assert_true(holds("-Inf"));
    assert_true(holds("Inf"));
}

static void a_sample_that_is_not_finite_is_left_out(void **state)
{
    opd_track_event event = { .type = OPD_TRACK_COUNTER, .track = 1, .real = 2.5 };

    (void)state;
    (void)bytes_of(&event);
    event.real = (double)NAN;
    assert_int_equal(bytes_of(&event), 0);
    event.real = (double)INFINITY;
    assert_int_equal(bytes_of(&event), 0);
    event.real = 3;
    assert_int_equal(bytes_of(&event), 2 + 2 + 2 + 2 + 2 + 2 + 3); /* whole: a varint */
}

static void a_rare_text_is_interned_from_its_second_use(void **state)
{
    opd_note note = { .name = "d", .kind = OPD_NOTE_RARE_TEXT, .text = "0123456789abcdef0123456789abcdef" };
    opd_track_event event = { .type = OPD_TRACK_INSTANT, .track = 1, .name = "n", .notes = &note, .note_count = 1 };

    (void)state;
    for (int use = 1; use <= 3; use++) {
        out.size = 0;
        (void)bytes_of(&event);
        assert_int_equal(holds(note.text), use < 3);
    }
}

/* More names than a sequence keeps: later ones stand inline and still decode. */
static void a_full_table_writes_names_inline(void **state)
{
    char name[16];
    opd_track_event event = { .type = OPD_TRACK_INSTANT, .track = 1, .name = name };

    (void)state;
    for (int i = 0; i < 70000; i++) {
        (void)snprintf(name, sizeof(name), "n%d", i);
        out.size = 0;
        (void)bytes_of(&event);
        assert_true(holds(name));
    }
    /* Field 23, not an interned number. */
    const uint8_t inline_name[] = { 0xba, 0x01, 6, 'n', '6', '9', '9', '9', '9' };
    assert_non_null(memmem(out.bytes, out.size, inline_name, sizeof(inline_name)));
    (void)snprintf(name, sizeof(name), "n%d", 5);
    out.size = 0;
    (void)bytes_of(&event);
    assert_false(holds(name));
}

static void a_full_buffer_stays_failed_and_whole(void **state)
{
    opd_buffer small;

    (void)state;
    opd_buffer_init(&small, 60);
    for (int i = 0; i < 10; i++) {
        opd_packet_event(&small, sequence,
                         &(opd_track_event){ .type = OPD_TRACK_END, .track = 1, .time_ns = (uint64_t)i });
    }
    assert_int_equal(small.status, OPD_E_LIMIT);
    assert_true(small.size <= 60);
    opd_buffer_done(&small);
}

static void a_sequence_cannot_have_the_number_0(void **state)
{
    opd_sequence *none = NULL;

    (void)state;
    opd_error_clear();
    assert_int_equal(opd_sequence_new(&none, 0), OPD_E_INVALID);
    assert_null(none);
    assert_string_not_equal(opd_error_text(), "");
}

static void every_failed_allocation_is_reported(void **state)
{
    opd_note note = { .name = "d", .kind = OPD_NOTE_RARE_TEXT, .text = "text" };

    (void)state;
    for (long n = 0;; n++) {
        opd_buffer buffer;
        opd_sequence *made = NULL;
        opd_buffer_init(&buffer, 4096);
        opd_fail_allocation_after(n);
        opd_status status = opd_sequence_new(&made, 1);
        if (status == OPD_OK) {
            opd_packet_event(&buffer, made,
                             &(opd_track_event){ .type = OPD_TRACK_BEGIN,
                                                 .track = 1,
                                                 .name = "n",
                                                 .category = "c",
                                                 .notes = &note,
                                                 .note_count = 1 });
            status = buffer.status;
        }
        opd_fail_allocation_after(-1);
        opd_sequence_free(made);
        opd_buffer_done(&buffer);
        if (status == OPD_OK) {
            assert_true(n >= 4);
            break;
        }
        assert_int_equal(status, OPD_E_NOMEM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writes_the_wire_format, setup, teardown),
        cmocka_unit_test_setup_teardown(writes_the_largest_varint_in_ten_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(writes_short_lengths_minimal_and_long_ones_padded, setup, teardown),
        cmocka_unit_test_setup_teardown(opens_a_sequence_with_defaults_and_both_clocks, setup, teardown),
        cmocka_unit_test_setup_teardown(events_have_the_known_sizes, setup, teardown),
        cmocka_unit_test_setup_teardown(an_earlier_time_is_absolute_and_leaves_the_clock_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cleared_sequence_defines_everything_again, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cleared_sequence_does_not_turn_its_clock_back, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_that_are_none_become_text, setup, teardown),
        cmocka_unit_test_setup_teardown(a_sample_that_is_not_finite_is_left_out, setup, teardown),
        cmocka_unit_test_setup_teardown(a_rare_text_is_interned_from_its_second_use, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_table_writes_names_inline, setup, teardown),
        cmocka_unit_test_setup_teardown(a_full_buffer_stays_failed_and_whole, setup, teardown),
        cmocka_unit_test_setup_teardown(a_sequence_cannot_have_the_number_0, setup, teardown),
        cmocka_unit_test_setup_teardown(every_failed_allocation_is_reported, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
