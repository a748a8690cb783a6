/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf wire format and the Perfetto packets made of it. Field numbers stand here as in perfetto.proto; a packet is written
 * in one go, an event and the strings it defines through two scratch buffers of its sequence.
 */
#include <math.h>
#include <string.h>

#include <opsdebug/packet.h>

#include "interning.h"

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };
enum { LENGTH_ROOM = 4, VARINT_MAX = 10 };
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { CLOCK_OF_WALL = 1, CLOCK_OF_MONOTONIC = 3, CLOCK_OF_TRACE = 6, CLOCK_OF_SEQUENCE = 64 };
enum { ORDER_EXPLICIT = 3 };
#define SCRATCH_LIMIT ((size_t)16 << 20)

struct opd_sequence {
    uint32_t id;
    bool was_opened;  /* ever */
    bool is_open;     /* since the last clear */
    uint64_t track;   /* default */
    uint64_t time_ns; /* running sum of its clock */
    uint64_t value_track;
    uint64_t real_track;
    opd_interning strings;
    opd_buffer defined; /* body of interned_data of the packet at hand */
    opd_buffer body;    /* body of its track_event */
};

/* ---------------------------------------------------------------------------------------------- wire format */

static size_t put_varint(uint8_t *at, uint64_t value)
{
    size_t size = 0;

    while (value >= 0x80) {
        at[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    at[size++] = (uint8_t)value;
    return size;
}

static size_t put_key(uint8_t *at, uint32_t field, uint32_t wire)
{
    return put_varint(at, (uint64_t)field << 3 | wire);
}

void opd_pb_varint(opd_buffer *out, uint32_t field, uint64_t value)
{
    uint8_t bytes[2 * VARINT_MAX];

    size_t size = put_key(bytes, field, WIRE_VARINT);
    size += put_varint(bytes + size, value);
    opd_buffer_append(out, bytes, size);
}

void opd_pb_fixed64(opd_buffer *out, uint32_t field, uint64_t value)
{
    uint8_t bytes[VARINT_MAX + sizeof(value)];

    size_t size = put_key(bytes, field, WIRE_FIXED64);
    for (unsigned shift = 0; shift < 64; shift += 8) {
        bytes[size++] = (uint8_t)(value >> shift);
    }
    opd_buffer_append(out, bytes, size);
}

void opd_pb_double(opd_buffer *out, uint32_t field, double value)
{
    uint64_t bits = 0;

    memcpy(&bits, &value, sizeof(bits));
    opd_pb_fixed64(out, field, bits);
}

void opd_pb_bytes(opd_buffer *out, uint32_t field, const void *bytes, size_t size)
{
    uint8_t head[2 * VARINT_MAX];

    size_t head_size = put_key(head, field, WIRE_BYTES);
    head_size += put_varint(head + head_size, size);
    opd_buffer_append(out, head, head_size);
    opd_buffer_append(out, bytes, size);
}

void opd_pb_text(opd_buffer *out, uint32_t field, const char *text)
{
    opd_pb_bytes(out, field, text, strlen(text));
}

size_t opd_pb_begin(opd_buffer *out, uint32_t field)
{
    static const uint8_t room[LENGTH_ROOM] = { 0 };
    uint8_t key[VARINT_MAX];

    opd_buffer_append(out, key, put_key(key, field, WIRE_BYTES));
    opd_buffer_append(out, room, sizeof(room));
    return out->size;
}

void opd_pb_end(opd_buffer *out, size_t position)
{
    if (out->status != OPD_OK) {
        return;
    }
    uint8_t *body = out->bytes + position;
    uint8_t *length = body - LENGTH_ROOM;
    size_t size = out->size - position;

    if (size < (1u << 14)) {
        size_t length_size = put_varint(length, size);
        memmove(length + length_size, body, size);
        out->size -= LENGTH_ROOM - length_size;
    } else if (size < (1u << 28)) {
        for (int i = 0; i < LENGTH_ROOM; i++) {
            length[i] = (uint8_t)(size >> (7 * i) & 0x7f) | (i < LENGTH_ROOM - 1 ? 0x80 : 0);
        }
    } else {
        out->status = opd_fail(OPD_E_LIMIT, "a message of %zu bytes is over the limit of 256 MiB", size);
    }
}

/* ---------------------------------------------------------------------------------------------- descriptors */

static size_t begin_descriptor(opd_buffer *out, size_t *packet, uint64_t uuid, uint64_t parent)
{
    *packet = opd_pb_begin(out, 1);
    size_t descriptor = opd_pb_begin(out, 60);
    opd_pb_varint(out, 1, uuid);
    if (parent != 0) {
        opd_pb_varint(out, 5, parent);
    }
    return descriptor;
}

void opd_packet_process(opd_buffer *out, uint64_t uuid, uint32_t pid, const char *name, const char *command)
{
    size_t packet = 0;
    size_t descriptor = begin_descriptor(out, &packet, uuid, 0);
    size_t process = opd_pb_begin(out, 3);

    opd_pb_varint(out, 1, pid);
    if (command != NULL && command[0] != '\0') {
        opd_pb_text(out, 2, command);
    }
    if (name != NULL && name[0] != '\0') {
        opd_pb_text(out, 6, name);
    }
    opd_pb_end(out, process);
    opd_pb_varint(out, 11, ORDER_EXPLICIT);
    opd_pb_end(out, descriptor);
    opd_pb_end(out, packet);
}

void opd_packet_thread(opd_buffer *out, uint64_t uuid, uint64_t parent, uint32_t pid, uint32_t tid, const char *name)
{
    size_t packet = 0;
    size_t descriptor = begin_descriptor(out, &packet, uuid, parent);
    size_t thread = opd_pb_begin(out, 4);

    opd_pb_varint(out, 1, pid);
    opd_pb_varint(out, 2, tid);
    if (name != NULL && name[0] != '\0') {
        opd_pb_text(out, 5, name);
    }
    opd_pb_end(out, thread);
    opd_pb_end(out, descriptor);
    opd_pb_end(out, packet);
}

void opd_packet_track(opd_buffer *out, uint64_t uuid, uint64_t parent, const char *name, int32_t rank)
{
    size_t packet = 0;
    size_t descriptor = begin_descriptor(out, &packet, uuid, parent);

    if (name != NULL) {
        opd_pb_text(out, 2, name);
    }
    if (rank != 0) {
        opd_pb_varint(out, 12, (uint64_t)(int64_t)rank);
    }
    opd_pb_end(out, descriptor);
    opd_pb_end(out, packet);
}

void opd_packet_counter_track(opd_buffer *out, uint64_t uuid, uint64_t parent, const char *name, opd_unit unit)
{
    size_t packet = 0;
    size_t descriptor = begin_descriptor(out, &packet, uuid, parent);

    if (name != NULL) {
        opd_pb_text(out, 2, name);
    }
    size_t counter = opd_pb_begin(out, 8);
    if (unit != OPD_UNIT_NONE) {
        opd_pb_varint(out, 3, (uint64_t)unit);
    }
    opd_pb_end(out, counter);
    opd_pb_end(out, descriptor);
    opd_pb_end(out, packet);
}

static void put_clock(opd_buffer *out, uint32_t clock, uint64_t time_ns, bool is_incremental)
{
    size_t position = opd_pb_begin(out, 1);

    opd_pb_varint(out, 1, clock);
    opd_pb_varint(out, 2, time_ns);
    if (is_incremental) {
        opd_pb_varint(out, 3, 1);
    }
    opd_pb_end(out, position);
}

/* Recorded times are monotonic, but a trace whose events name that clock loads empty: they are written as the trace's own. */
void opd_packet_clocks(opd_buffer *out, uint64_t time_ns, uint64_t realtime_ns)
{
    size_t packet = opd_pb_begin(out, 1);
    size_t snapshot = opd_pb_begin(out, 6);

    put_clock(out, CLOCK_OF_TRACE, time_ns, false);
    put_clock(out, CLOCK_OF_WALL, realtime_ns, false);
    put_clock(out, CLOCK_OF_MONOTONIC, time_ns, false);
    opd_pb_end(out, snapshot);
    opd_pb_end(out, packet);
}

void opd_packet_attribute(opd_buffer *out, const char *key, const char *text)
{
    size_t packet = opd_pb_begin(out, 1);
    size_t attributes = opd_pb_begin(out, 126);
    size_t attribute = opd_pb_begin(out, 1);

    opd_pb_text(out, 1, key);
    opd_pb_text(out, 3, text);
    opd_pb_end(out, attribute);
    opd_pb_end(out, attributes);
    opd_pb_end(out, packet);
}

/* ------------------------------------------------------------------------------------------------- sequence */

opd_status opd_sequence_new(opd_sequence **out, uint32_t sequence_id)
{
    void *memory = NULL;

    if (sequence_id == 0) {
        return opd_fail(OPD_E_INVALID, "a packet sequence cannot have the id 0");
    }
    opd_status status = opd_alloc(&memory, sizeof(opd_sequence));
    if (status != OPD_OK) {
        return status;
    }
    opd_sequence *sequence = memory;
    sequence->id = sequence_id;
    opd_interning_init(&sequence->strings);
    opd_buffer_init(&sequence->defined, SCRATCH_LIMIT);
    opd_buffer_init(&sequence->body, SCRATCH_LIMIT);
    *out = sequence;
    return OPD_OK;
}

void opd_sequence_free(opd_sequence *sequence)
{
    if (sequence == NULL) {
        return;
    }
    opd_interning_done(&sequence->strings);
    opd_buffer_done(&sequence->defined);
    opd_buffer_done(&sequence->body);
    opd_free(sequence);
}

void opd_sequence_clear(opd_sequence *sequence)
{
    opd_interning_clear(&sequence->strings);
    sequence->is_open = false;
}

void opd_sequence_counters(opd_sequence *sequence, uint64_t value_track, uint64_t real_track)
{
    sequence->value_track = value_track;
    sequence->real_track = real_track;
}

/* Clears the state and sets defaults and clock in one packet; a viewer takes them in that order and drops the rest of it. */
static void open_sequence(opd_buffer *out, opd_sequence *sequence, const opd_track_event *event)
{
    /* The sequence's clock may not run backwards over a clear either. */
    if (event->time_ns > sequence->time_ns) {
        sequence->time_ns = event->time_ns;
    }
    sequence->track = event->track;
    size_t packet = opd_pb_begin(out, 1);
    opd_pb_varint(out, 10, sequence->id);
    opd_pb_varint(out, 13, FLAG_CLEARED);
    if (!sequence->was_opened) {
        opd_pb_varint(out, 87, 1);
    }
    size_t defaults = opd_pb_begin(out, 59);
    size_t of_events = opd_pb_begin(out, 11);
    opd_pb_varint(out, 11, sequence->track);
    if (sequence->value_track != 0) {
        opd_pb_varint(out, 31, sequence->value_track);
    }
    if (sequence->real_track != 0) {
        opd_pb_varint(out, 45, sequence->real_track);
    }
    opd_pb_end(out, of_events);
    opd_pb_varint(out, 58, CLOCK_OF_SEQUENCE);
    opd_pb_end(out, defaults);
    size_t snapshot = opd_pb_begin(out, 6);
    put_clock(out, CLOCK_OF_SEQUENCE, sequence->time_ns, true);
    put_clock(out, CLOCK_OF_TRACE, sequence->time_ns, false);
    opd_pb_end(out, snapshot);
    opd_pb_end(out, packet);
    sequence->was_opened = true;
    sequence->is_open = true;
}

/* --------------------------------------------------------------------------------------------------- events */

/* How a kind of string is written: list of its definitions; fields by number and inline. */
typedef struct text_fields {
    uint32_t list;
    uint32_t by_number;
    uint32_t inline_text;
} text_fields;

static const text_fields fields_of[OPD_INTERN_KINDS] = {
    [OPD_INTERN_CATEGORY] = { .list = 1, .by_number = 3, .inline_text = 22 },
    [OPD_INTERN_EVENT] = { .list = 2, .by_number = 10, .inline_text = 23 },
    [OPD_INTERN_NOTE] = { .list = 3, .by_number = 1, .inline_text = 10 },
    [OPD_INTERN_TEXT] = { .list = 29, .by_number = 17, .inline_text = 6 },
};

static void put_text(opd_sequence *sequence, opd_intern_kind kind, const char *text, bool is_rare)
{
    const text_fields *fields = &fields_of[kind];
    opd_buffer *body = &sequence->body;
    opd_buffer *defined = &sequence->defined;
    uint32_t id = 0;
    bool is_new = false;

    opd_status status = opd_intern(&id, &is_new, &sequence->strings, kind, text, is_rare);
    if (status != OPD_OK) {
        body->status = status;
        return;
    }
    if (is_new) {
        size_t entry = opd_pb_begin(defined, fields->list);
        opd_pb_varint(defined, 1, id);
        opd_pb_text(defined, 2, text);
        opd_pb_end(defined, entry);
    }
    if (id != 0) {
        opd_pb_varint(body, fields->by_number, id);
    } else {
        opd_pb_text(body, fields->inline_text, text);
    }
}

static void put_real(opd_sequence *sequence, double real)
{
    if (isfinite(real)) {
        opd_pb_double(&sequence->body, 5, real);
    } else {
        put_text(sequence, OPD_INTERN_TEXT, isnan(real) ? "NaN" : real > 0 ? "Inf" : "-Inf", false);
    }
}

static void put_note(opd_sequence *sequence, const opd_note *note)
{
    opd_buffer *body = &sequence->body;
    size_t position = opd_pb_begin(body, 4);

    put_text(sequence, OPD_INTERN_NOTE, note->name, false);
    switch (note->kind) {
    case OPD_NOTE_INT:
        opd_pb_varint(body, 4, (uint64_t)note->i);
        break;
    case OPD_NOTE_UINT:
        opd_pb_varint(body, 3, (uint64_t)note->i);
        break;
    case OPD_NOTE_REAL:
        put_real(sequence, note->real);
        break;
    case OPD_NOTE_TEXT:
    case OPD_NOTE_RARE_TEXT:
        put_text(sequence, OPD_INTERN_TEXT, note->text, note->kind == OPD_NOTE_RARE_TEXT);
        break;
    case OPD_NOTE_BOOL:
        opd_pb_varint(body, 2, note->i != 0);
        break;
    case OPD_NOTE_POINTER:
        opd_pb_varint(body, 7, (uint64_t)note->i);
        break;
    }
    opd_pb_end(body, position);
}

/* A whole number that a double holds exactly is shorter as an integer. */
static void put_sample(opd_buffer *body, double sample)
{
    if (sample >= 0 && sample <= 0x1p53 && sample == (double)(uint64_t)sample) {
        opd_pb_varint(body, 30, (uint64_t)sample);
    } else {
        opd_pb_double(body, 44, sample);
    }
}

static void put_body(opd_sequence *sequence, const opd_track_event *event)
{
    opd_buffer *body = &sequence->body;

    opd_pb_varint(body, 9, (uint64_t)event->type);
    if (event->track != sequence->track) {
        opd_pb_varint(body, 11, event->track);
    }
    if (event->name != NULL) {
        put_text(sequence, OPD_INTERN_EVENT, event->name, false);
    }
    if (event->category != NULL) {
        put_text(sequence, OPD_INTERN_CATEGORY, event->category, false);
    }
    if (event->type == OPD_TRACK_COUNTER) {
        put_sample(body, event->real);
    }
    if (event->has_counters && sequence->value_track != 0) {
        opd_pb_varint(body, 12, (uint64_t)event->value);
    }
    if (event->has_counters && sequence->real_track != 0) {
        opd_pb_double(body, 46, isfinite(event->real) ? event->real : 0.0);
    }
    for (int i = 0; i < event->flow_count; i++) {
        opd_pb_fixed64(body, 47, event->flows[i]);
    }
    for (int i = 0; i < event->arrival_count; i++) {
        opd_pb_fixed64(body, 48, event->arrivals[i]);
    }
    for (int i = 0; i < event->note_count; i++) {
        put_note(sequence, &event->notes[i]);
    }
}

void opd_packet_event(opd_buffer *out, opd_sequence *sequence, const opd_track_event *event)
{
    opd_buffer *body = &sequence->body;
    opd_buffer *defined = &sequence->defined;

    if (out->status != OPD_OK || (event->type == OPD_TRACK_COUNTER && !isfinite(event->real))) {
        return;
    }
    if (!sequence->is_open) {
        open_sequence(out, sequence, event);
    }
    body->size = 0;
    defined->size = 0;
    put_body(sequence, event);
    if (body->status != OPD_OK || defined->status != OPD_OK) {
        out->status = body->status != OPD_OK ? body->status : defined->status;
        return;
    }
    size_t packet = opd_pb_begin(out, 1);
    if (event->time_ns >= sequence->time_ns) {
        opd_pb_varint(out, 8, event->time_ns - sequence->time_ns);
        sequence->time_ns = event->time_ns;
    } else {
        opd_pb_varint(out, 8, event->time_ns);
        opd_pb_varint(out, 58, CLOCK_OF_TRACE);
    }
    opd_pb_varint(out, 10, sequence->id);
    opd_pb_varint(out, 13, FLAG_NEEDS_STATE);
    if (defined->size > 0) {
        opd_pb_bytes(out, 12, defined->bytes, defined->size);
    }
    opd_pb_bytes(out, 11, body->bytes, body->size);
    opd_pb_end(out, packet);
}
