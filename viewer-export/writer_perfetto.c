/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perfetto's trace format: a packet sequence per row, so that row, names and clock are defaults of the sequence.
 */
#include <stdio.h>

#include "canvas.h"

/* Sequences by row id; NULL where no event has come yet. */
typedef struct perfetto_state {
    opd_sequence **sequences;
    size_t capacity;
} perfetto_state;

static opd_status open_trace(opd_canvas *canvas)
{
    const opd_scene *scene = canvas->scene;
    const opd_header_info *header = opd_bundle_header(scene->bundle);

    opd_status status = opd_alloc(&canvas->state, sizeof(perfetto_state));
    if (status != OPD_OK) {
        return status;
    }
    if (header->created_monotonic_ns != 0 && header->created_realtime_ns != 0) {
        opd_packet_clocks(&canvas->out, header->created_monotonic_ns, header->created_realtime_ns);
    }
    opd_packet_attribute(&canvas->out, "opsdebug.producer", header->producer);
    opd_packet_attribute(&canvas->out, "opsdebug.capture", header->capture);
    return canvas->out.status;
}

static opd_status write_row(opd_canvas *canvas, const opd_row *row)
{
    opd_buffer *out = &canvas->out;
    bool has_pid = row->pid != 0; /* 0 is the idle task for the viewer */

    if (row->kind == OPD_ROW_COUNTER) {
        opd_packet_counter_track(out, row->id, row->parent, row->name, row->unit);
    } else if (row->kind == OPD_ROW_PROCESS && has_pid) {
        opd_packet_process(out, row->id, row->pid, row->name, row->command);
    } else if (row->kind == OPD_ROW_THREAD && has_pid && row->tid != 0) {
        opd_packet_thread(out, row->id, row->parent, row->pid, row->tid, row->name);
    } else {
        opd_packet_track(out, row->id, row->parent, row->name, 0);
    }
    return out->status;
}

static opd_status sequence_of(opd_sequence **out, perfetto_state *state, const opd_row *row)
{
    size_t wanted = state->capacity == 0 ? 64 : state->capacity;

    while (wanted <= row->id) {
        wanted *= 2;
    }
    if (wanted != state->capacity) {
        void *memory = state->sequences;
        opd_status status = opd_grow(&memory, wanted, sizeof(opd_sequence *));
        if (status != OPD_OK) {
            return status;
        }
        state->sequences = memory;
        for (size_t i = state->capacity; i < wanted; i++) {
            state->sequences[i] = NULL;
        }
        state->capacity = wanted;
    }
    if (state->sequences[row->id] == NULL) {
        opd_status status = opd_sequence_new(&state->sequences[row->id], (uint32_t)row->id);
        if (status != OPD_OK) {
            return status;
        }
        opd_sequence_counters(state->sequences[row->id], row->value_row, row->real_row);
    }
    *out = state->sequences[row->id];
    return OPD_OK;
}

static opd_status write_event(opd_canvas *canvas, const opd_row *row, const opd_drawing *drawing)
{
    opd_sequence *sequence = NULL;

    opd_status status = sequence_of(&sequence, canvas->state, row);
    if (status != OPD_OK) {
        return status;
    }
    opd_packet_event(&canvas->out, sequence, &drawing->event);
    return canvas->out.status;
}

static void leave_row(opd_canvas *canvas, const opd_row *row)
{
    perfetto_state *state = canvas->state;

    if (row->id < state->capacity) {
        opd_sequence_free(state->sequences[row->id]);
        state->sequences[row->id] = NULL;
    }
}

static opd_status finish_trace(opd_canvas *canvas)
{
    char text[64];

    /* What the picture leaves out or makes up is said in it. */
    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)canvas->report.unfinished);
    opd_packet_attribute(&canvas->out, "opsdebug.unfinished", text);
    (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)canvas->report.flows_cut);
    opd_packet_attribute(&canvas->out, "opsdebug.flows_cut", text);
    return canvas->out.status;
}

static void close_trace(opd_canvas *canvas)
{
    perfetto_state *state = canvas->state;

    if (state == NULL) {
        return;
    }
    for (size_t i = 0; i < state->capacity; i++) {
        opd_sequence_free(state->sequences[i]);
    }
    opd_free(state->sequences);
    opd_free(state);
    canvas->state = NULL;
}

const opd_writer_table opd_writer_perfetto = {
    .open = open_trace,
    .row = write_row,
    .event = write_event,
    .leave = leave_row,
    .finish = finish_trace,
    .close = close_trace,
};
