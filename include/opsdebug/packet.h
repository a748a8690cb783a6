/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoder of Perfetto packets straight into a byte buffer, shared by the bundle's own timeline and by the
 * exporter. Field numbers: proto/perfetto.proto. Errors stay in the buffer (out->status) until its user looks.
 */
#ifndef OPSDEBUG_PACKET_H
#define OPSDEBUG_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <opsdebug/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Protobuf wire format. opd_pb_begin leaves room for a length of 4 bytes; opd_pb_end fills it and moves a body shorter than 16 KiB
 * up so that the length is minimal: positions inside the message are stale then. limits: a nested message is below 256 MiB.
 */
void opd_pb_varint(opd_buffer *out, uint32_t field, uint64_t value);
void opd_pb_fixed64(opd_buffer *out, uint32_t field, uint64_t value);
void opd_pb_double(opd_buffer *out, uint32_t field, double value);
void opd_pb_bytes(opd_buffer *out, uint32_t field, const void *bytes, size_t size);
void opd_pb_text(opd_buffer *out, uint32_t field, const char *text);
size_t opd_pb_begin(opd_buffer *out, uint32_t field); /* position to hand to opd_pb_end */
void opd_pb_end(opd_buffer *out, size_t position);

/* Descriptors and trace-wide packets: each call writes one packet `0x0A len packet`. name may be NULL. rank 0 = none. */
void opd_packet_process(opd_buffer *out, uint64_t uuid, uint32_t pid, const char *name, const char *command);
void opd_packet_thread(opd_buffer *out, uint64_t uuid, uint64_t parent, uint32_t pid, uint32_t tid, const char *name);
void opd_packet_track(opd_buffer *out, uint64_t uuid, uint64_t parent, const char *name, int32_t rank);
typedef enum opd_unit { OPD_UNIT_NONE = 0, OPD_UNIT_NS = 1, OPD_UNIT_COUNT = 2, OPD_UNIT_BYTES = 3 } opd_unit;
void opd_packet_counter_track(opd_buffer *out, uint64_t uuid, uint64_t parent, const char *name, opd_unit unit);
/* The same instant on the trace's clock and on the wall clock, so that a viewer can show real time. */
void opd_packet_clocks(opd_buffer *out, uint64_t time_ns, uint64_t realtime_ns);
/* A line on the viewer's overview page. */
void opd_packet_attribute(opd_buffer *out, const char *key, const char *text);

/*
 * One packet sequence: interned names, a default track (that of its first event), delta timestamps. It opens itself with its first event.
 *
 * sequence_id  not 0, and used by no other sequence of the file.
 */
typedef struct opd_sequence opd_sequence;
opd_status opd_sequence_new(opd_sequence **out, uint32_t sequence_id);
void opd_sequence_free(opd_sequence *sequence);
/* Forgets names, defaults and the clock: the next event defines what it needs, so that what follows can be read without what came before. */
void opd_sequence_clear(opd_sequence *sequence);
/* Counters whose values ride on slices (opd_track_event.value and .real); 0 = none. Before the first event. */
void opd_sequence_counters(opd_sequence *sequence, uint64_t value_track, uint64_t real_track);

/* Annotation of an event. Text that repeats is interned; a RARE one (a digest) only from its second use. */
typedef enum opd_note_kind {
    OPD_NOTE_INT,
    OPD_NOTE_UINT, /* i, taken as unsigned */
    OPD_NOTE_REAL, /* NaN and Inf are written as text */
    OPD_NOTE_TEXT,
    OPD_NOTE_RARE_TEXT,
    OPD_NOTE_BOOL,
    OPD_NOTE_POINTER,
} opd_note_kind;

typedef struct opd_note {
    const char *name; /* always interned */
    opd_note_kind kind;
    int64_t i;
    double real;
    const char *text;
} opd_note;

typedef enum opd_track_event_type { /* numbers of the format */
                                    OPD_TRACK_BEGIN = 1,
                                    OPD_TRACK_END = 2,
                                    OPD_TRACK_INSTANT = 3,
                                    OPD_TRACK_COUNTER = 4,
} opd_track_event_type;

typedef struct opd_track_event {
    opd_track_event_type type;
    uint64_t track;
    uint64_t time_ns;
    const char *name;     /* NULL for ends and counters */
    const char *category; /* NULL = none */
    const opd_note *notes;
    int note_count;
    const uint64_t *flows; /* arrows that begin at this slice; one id per arrow */
    int flow_count;
    const uint64_t *arrivals; /* arrows that end at it */
    int arrival_count;
    bool has_counters; /* slices: value and real are written to the counters of the sequence */
    int64_t value;
    double real; /* COUNTER: the sample; one that is not finite is left out */
} opd_track_event;

/* Writes one packet, before it the opening of the sequence. Give events in time order: an earlier one is written with an absolute time. */
void opd_packet_event(opd_buffer *out, opd_sequence *sequence, const opd_track_event *event);

/*
 * Order in which begin and end events of possibly overlapping intervals must be written on one track: by time; ends before begins;
 * of equal begins the longer first, of equal ends the inner first; an interval of no length keeps its begin and end together.
 * Intervals that overlap without nesting get different lanes; well nested ones all get lane 0.
 */
typedef struct opd_interval {
    uint64_t begin_ns, end_ns; /* end_ns >= begin_ns */
    uint32_t lane;             /* out */
    uint32_t depth;            /* out: intervals of its lane around it */
    uint32_t item;             /* the caller's; of equal intervals the smaller item is the outer one */
} opd_interval;
typedef struct opd_edge {
    uint32_t interval; /* index into intervals as reordered */
    bool is_end;
} opd_edge;
/*
 * Sorts intervals, assigns lanes and depths and writes 2 * count edges. O(count * (log count + lanes)).
 * errors    E_NOMEM; E_INVALID an interval ends before it begins.
 */
opd_status opd_intervals_order(uint32_t *lanes, opd_edge *edges, opd_interval *intervals, uint32_t count);

#ifdef __cplusplus
}
#endif
#endif
