/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Encoder of Perfetto packets straight into a byte buffer, shared by the bundle's own timeline and by the
 * exporter. Field numbers: proto/perfetto.proto. No allocation beyond the buffer's growth.
 */
#ifndef OPSDEBUG_PACKET_H
#define OPSDEBUG_PACKET_H

#include <stdbool.h>
#include <stdint.h>

#include <opsdebug/memory.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Protobuf wire format. A nested message gets a 4-byte padded length, filled by opd_pb_end. */
void opd_pb_varint(opd_buffer *out, uint32_t field, uint64_t value);
void opd_pb_fixed64(opd_buffer *out, uint32_t field, uint64_t value);
void opd_pb_double(opd_buffer *out, uint32_t field, double value);
void opd_pb_bytes(opd_buffer *out, uint32_t field, const void *bytes, size_t size);
void opd_pb_text(opd_buffer *out, uint32_t field, const char *text);
size_t opd_pb_begin(opd_buffer *out, uint32_t field); /* position to hand to opd_pb_end */
void opd_pb_end(opd_buffer *out, size_t position);

/*
 * One packet sequence: interned names, default track, delta timestamps. order: init; then for each packet the calls below;
 * each call writes whole packets `0x0A len packet`.
 */
typedef struct opd_sequence opd_sequence;
opd_status opd_sequence_new(opd_sequence **out, uint32_t sequence_id);
void opd_sequence_free(opd_sequence *sequence);

void opd_packet_process(opd_buffer *out, uint64_t uuid, uint32_t pid, const char *name, const char *command);
void opd_packet_thread(opd_buffer *out, uint64_t uuid, uint64_t parent, uint32_t pid, uint32_t tid, const char *name);
void opd_packet_track(opd_buffer *out, uint64_t uuid, uint64_t parent, const char *name, int32_t rank);
typedef enum opd_unit { OPD_UNIT_NONE = 0, OPD_UNIT_NS = 1, OPD_UNIT_COUNT = 2, OPD_UNIT_BYTES = 3 } opd_unit;
void opd_packet_counter_track(opd_buffer *out, uint64_t uuid, uint64_t parent, const char *name, opd_unit unit);

/* Annotation of an event. */
typedef struct opd_note {
    const char *name;
    enum { OPD_NOTE_INT, OPD_NOTE_UINT, OPD_NOTE_REAL, OPD_NOTE_TEXT, OPD_NOTE_BOOL, OPD_NOTE_POINTER } kind;
    int64_t i;
    double real;       /* NaN and Inf are written as text */
    const char *text;  /* interned */
} opd_note;

/* Events of one sequence must be given in time order for its deltas; an earlier time is written as an absolute one. */
void opd_packet_begin(opd_buffer *out, opd_sequence *sequence, uint64_t track, uint64_t time_ns, const char *name, const char *category,
                      const opd_note *notes, int note_count, const uint64_t *flows, int flow_count);
/* flows end here (terminating) */
void opd_packet_end(opd_buffer *out, opd_sequence *sequence, uint64_t track, uint64_t time_ns, const uint64_t *flows, int flow_count);
void opd_packet_instant(opd_buffer *out, opd_sequence *sequence, uint64_t track, uint64_t time_ns, const char *name, const char *category,
                        const opd_note *notes, int note_count);
void opd_packet_counter(opd_buffer *out, opd_sequence *sequence, uint64_t track, uint64_t time_ns, double value);

/*
 * Order in which begin and end events of possibly overlapping intervals must be written on one track: by time; ends before begins;
 * of equal begins the longer first, of equal ends the inner first. Intervals that overlap without nesting get different lanes.
 */
typedef struct opd_interval {
    uint64_t begin_ns, end_ns;
    uint32_t lane;     /* out */
    uint32_t item;     /* the caller's */
} opd_interval;
typedef struct opd_edge {
    uint32_t interval;
    bool is_end;
} opd_edge;
/* Assigns lanes and writes 2 * count edges; intervals may be reordered. Returns the number of lanes. errors: E_NOMEM. */
opd_status opd_intervals_order(uint32_t *lanes, opd_edge *edges, opd_interval *intervals, uint32_t count);

#ifdef __cplusplus
}
#endif
#endif
