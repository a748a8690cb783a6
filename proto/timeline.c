/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The timeline that a bundle carries for Perfetto: the calls of one batch as slices of their threads, a failure as an instant on
 * its thread. Every record is a packet sequence of its own with its own descriptors, so that losing one loses nothing of the others.
 */
#include <stdio.h>
#include <string.h>

#include <opsdebug/packet.h>

#include "capped.h"
#include "writer.h"

#define LANES_MAX 200
#define CATEGORY  "call"

#define FAILURE_CATEGORY "failure"

/* Small numbers unique to a process, a thread, a lane of a thread. */
static uint64_t process_uuid(uint32_t pid)
{
    return (uint64_t)pid << 8;
}

static uint64_t thread_uuid(uint32_t tid, uint32_t lane)
{
    return (uint64_t)tid << 8 | (1 + (lane < LANES_MAX ? lane : LANES_MAX));
}

static void put_process(opd_buffer *out, const opd_writer *writer, uint32_t pid)
{
    bool is_ours = pid == writer->pid;

    opd_packet_process(out, process_uuid(pid), pid, is_ours ? writer->program : "", is_ours ? writer->command : "");
}

static void put_thread(opd_buffer *out, const opd_writer *writer, const opd_batch_thread *thread)
{
    const char *name = "";

    for (uint32_t i = 0; i < writer->thread_count; i++) {
        if (writer->threads[i].tid == thread->tid && writer->threads[i].pid == thread->pid) {
            name = writer->threads[i].name;
        }
    }
    opd_packet_thread(out, thread_uuid(thread->tid, 0), process_uuid(thread->pid), thread->pid, thread->tid, name);
}

static void put_descriptors(opd_buffer *out, const opd_writer *writer, const opd_batch *batch)
{
    for (size_t i = 0; i < batch->thread_count; i++) {
        bool is_known = false;
        for (size_t k = 0; k < i && !is_known; k++) {
            is_known = batch->threads[k].pid == batch->threads[i].pid;
        }
        if (!is_known) {
            put_process(out, writer, batch->threads[i].pid);
        }
        put_thread(out, writer, &batch->threads[i]);
    }
}

/* One call's slice begins: its number, and the shape of each operand. */
static opd_status put_begin(opd_buffer *out, opd_sequence *sequence, uint64_t track, const opd_batch *batch,
                            uint32_t item)
{
    char shapes[OPD_MAX_OPERANDS][96];
    opd_note notes[OPD_MAX_OPERANDS + 1];
    opd_call call;
    int count = 0;
    opd_status status = batch_call(&call, batch, item);

    if (status != OPD_OK) {
        return status;
    }
    notes[count++] = (opd_note){ .name = "number", .kind = OPD_NOTE_UINT, .i = (int64_t)call.number };
    for (int i = 0; i < call.operand_count; i++) {
        if (call.operands[i].view.dtype == OPD_DTYPE_NONE) {
            continue;
        }
        opd_tensor_describe(shapes[i], sizeof(shapes[i]), &call.operands[i].view);
        notes[count++] = (opd_note){ .name = call.operands[i].name, .kind = OPD_NOTE_TEXT, .text = shapes[i] };
    }
    opd_packet_event(out, sequence,
                     &(opd_track_event){ .type = OPD_TRACK_BEGIN,
                                         .track = track,
                                         .time_ns = batch->rows[item].begin_ns,
                                         .name = call.name,
                                         .category = CATEGORY,
                                         .notes = notes,
                                         .note_count = count });
    return out->status;
}

/* A call with no return seen is given the longest end, and no end event: it is drawn as unfinished. */
static opd_interval interval_of(const opd_batch_row *row, uint32_t item)
{
    opd_interval interval = { .begin_ns = row->begin_ns, .end_ns = row->end_ns, .item = item };

    if (row->end_ns == 0) {
        interval.end_ns = UINT64_MAX;
    } else if (row->end_ns < row->begin_ns) {
        interval.end_ns = row->begin_ns;
    }
    return interval;
}

typedef struct thread_work {
    opd_interval *intervals;
    opd_edge *edges;
} thread_work;

static opd_status put_thread_calls(opd_buffer *out, opd_sequence *sequence, const thread_work *work,
                                   const opd_batch *batch, uint32_t thread)
{
    uint32_t count = 0;
    uint32_t lanes = 0;
    uint32_t tid = batch->threads[thread].tid;

    for (size_t i = 0; i < batch->count; i++) {
        if (batch->rows[i].thread == thread) {
            work->intervals[count++] = interval_of(&batch->rows[i], (uint32_t)i);
        }
    }
    opd_status status = opd_intervals_order(&lanes, work->edges, work->intervals, count);
    for (uint32_t lane = 1; status == OPD_OK && lane < lanes && lane <= LANES_MAX; lane++) {
        opd_packet_track(out, thread_uuid(tid, lane), thread_uuid(tid, 0), "overlapping calls", 0);
    }
    for (uint32_t i = 0; status == OPD_OK && i < 2 * count; i++) {
        const opd_interval *interval = &work->intervals[work->edges[i].interval];
        uint64_t track = thread_uuid(tid, interval->lane);
        if (!work->edges[i].is_end) {
            status = put_begin(out, sequence, track, batch, interval->item);
        } else if (interval->end_ns != UINT64_MAX) {
            opd_packet_event(out, sequence,
                             &(opd_track_event){ .type = OPD_TRACK_END, .track = track, .time_ns = interval->end_ns });
        }
    }
    return status == OPD_OK ? out->status : status;
}

opd_status timeline_packets(opd_buffer *out, const opd_writer *writer, const opd_batch *batch)
{
    opd_sequence *sequence = NULL;
    thread_work work = { NULL, NULL };
    /* The number of records so far is unique to the batch. */
    opd_status status = opd_sequence_new(&sequence, (uint32_t)writer->index.count);

    if (status == OPD_OK) {
        status = opd_alloc_array((void **)&work.intervals, batch->count + 1, sizeof(*work.intervals));
    }
    if (status == OPD_OK) {
        status = opd_alloc_array((void **)&work.edges, 2 * batch->count + 1, sizeof(*work.edges));
    }
    if (status == OPD_OK) {
        put_descriptors(out, writer, batch);
    }
    for (size_t thread = 0; status == OPD_OK && thread < batch->thread_count; thread++) {
        status = put_thread_calls(out, sequence, &work, batch, (uint32_t)thread);
    }
    opd_free(work.intervals);
    opd_free(work.edges);
    opd_sequence_free(sequence);
    return status;
}

opd_status timeline_failure(opd_buffer *out, const opd_writer *writer, const opd_failure *failure)
{
    opd_sequence *sequence = NULL;
    opd_batch_thread thread = { .pid = writer->pid, .tid = failure->thread != 0 ? failure->thread : writer->pid };
    const opd_note notes[] = {
        { .name = "call_number", .kind = OPD_NOTE_UINT, .i = (int64_t)failure->call_number },
        { .name = "operand", .kind = OPD_NOTE_TEXT, .text = failure->operand },
        { .name = "label", .kind = OPD_NOTE_TEXT, .text = failure->label },
        { .name = "reason", .kind = OPD_NOTE_TEXT, .text = failure->reason },
    };
    opd_status status = opd_sequence_new(&sequence, (uint32_t)writer->index.count);

    if (status != OPD_OK) {
        return status;
    }
    for (uint32_t i = 0; i < writer->thread_count; i++) {
        if (writer->threads[i].tid == thread.tid) {
            thread.pid = writer->threads[i].pid;
        }
    }
    put_process(out, writer, thread.pid);
    put_thread(out, writer, &thread);
    opd_packet_event(out, sequence,
                     &(opd_track_event){ .type = OPD_TRACK_INSTANT,
                                         .track = thread_uuid(thread.tid, 0),
                                         .time_ns = failure->time_ns,
                                         .name = opd_outcome_name(failure->outcome),
                                         .category = FAILURE_CATEGORY,
                                         .notes = notes,
                                         .note_count = (int)OPD_COUNT(notes) });
    opd_sequence_free(sequence);
    return out->status;
}
