/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV (RFC 4180): a header line, then a line per slice, instant and counter sample. Times are whole nanoseconds; arguments are
 * a JSON object in one quoted field.
 */
#include <math.h>
#include <string.h>

#include "canvas.h"
#include "json_text.h"

static const char header_line[] =
    "type,pid,tid,row,name,category,begin_ns,duration_ns,depth,value,arrows_in,arrows_out,arguments\r\n";

typedef struct csv_state {
    const char **names; /* of rows by id; borrowed from bundle and tracks */
    size_t capacity;
    opd_buffer field;
} csv_state;

static opd_status open_csv(opd_canvas *canvas)
{
    opd_status status = opd_alloc(&canvas->state, sizeof(csv_state));
    if (status != OPD_OK) {
        return status;
    }
    csv_state *state = canvas->state;
    opd_buffer_init(&state->field, (size_t)1 << 20);
    opd_json_raw(&canvas->out, header_line);
    return canvas->out.status;
}

static opd_status write_row(opd_canvas *canvas, const opd_row *row)
{
    csv_state *state = canvas->state;

    if (row->id >= state->capacity) {
        size_t wanted = state->capacity == 0 ? 64 : state->capacity * 2;
        void *memory = (void *)state->names;
        opd_status status = opd_grow(&memory, wanted, sizeof(*state->names));
        if (status != OPD_OK) {
            return status;
        }
        state->names = memory;
        state->capacity = wanted;
    }
    state->names[row->id] = row->name;
    return OPD_OK;
}

/* Quoted when it must be. */
static void put_field(opd_buffer *out, const char *text, size_t size)
{
    opd_json_raw(out, ",");
    size_t plain = 0;
    while (plain < size && strchr(",\"\r\n", text[plain]) == NULL) {
        plain++;
    }
    if (plain == size) {
        opd_buffer_append(out, text, size);
        return;
    }
    opd_json_raw(out, "\"");
    for (size_t i = 0; i < size; i++) {
        opd_buffer_append(out, text[i] == '"' ? "\"\"" : &text[i], text[i] == '"' ? 2 : 1);
    }
    opd_json_raw(out, "\"");
}

static void put_text(opd_canvas *canvas, const char *text)
{
    csv_state *state = canvas->state;

    state->field.size = 0;
    opd_utf8_text(&state->field, text);
    put_field(&canvas->out, (const char *)state->field.bytes, state->field.size);
}

static void put_number(opd_buffer *out, uint64_t value)
{
    opd_json_raw(out, ",");
    opd_json_uint(out, value);
}

static void put_place(opd_canvas *canvas, const char *type, const opd_row *row, uint64_t row_id)
{
    const csv_state *state = canvas->state;

    opd_json_raw(&canvas->out, type);
    put_number(&canvas->out, row->pid);
    put_number(&canvas->out, row->tid);
    put_text(canvas, state->names[row_id]);
}

static void put_sample(opd_canvas *canvas, const opd_row *row, uint64_t counter, uint64_t time_ns, double value)
{
    if (counter == 0 || !isfinite(value)) {
        return;
    }
    put_place(canvas, "counter", row, counter);
    opd_json_raw(&canvas->out, ",,");
    put_number(&canvas->out, time_ns);
    opd_json_raw(&canvas->out, ",,,");
    opd_json_real(&canvas->out, value);
    opd_json_raw(&canvas->out, ",,,\r\n");
}

static opd_status write_event(opd_canvas *canvas, const opd_row *row, const opd_drawing *drawing)
{
    const opd_track_event *event = &drawing->event;
    csv_state *state = canvas->state;
    opd_buffer *out = &canvas->out;

    if (event->type == OPD_TRACK_COUNTER) {
        put_sample(canvas, row, row->id, event->time_ns, event->real);
        return out->status;
    }
    if (event->type != OPD_TRACK_END) {
        bool is_slice = event->type == OPD_TRACK_BEGIN;
        put_place(canvas, is_slice ? "slice" : "instant", row, row->id);
        put_text(canvas, event->name);
        put_text(canvas, event->category);
        put_number(out, event->time_ns);
        put_number(out, is_slice ? drawing->end_ns - event->time_ns : 0);
        put_number(out, drawing->depth);
        opd_json_raw(out, ",");
        put_number(out, (uint64_t)event->arrival_count);
        put_number(out, (uint64_t)event->flow_count);
        state->field.size = 0;
        opd_json_notes(&state->field, event->notes, event->note_count);
        if (state->field.status != OPD_OK) {
            return state->field.status;
        }
        put_field(out, (const char *)state->field.bytes, state->field.size);
        opd_json_raw(out, "\r\n");
    }
    if (event->has_counters) {
        put_sample(canvas, row, row->value_row, event->time_ns, (double)event->value);
        put_sample(canvas, row, row->real_row, event->time_ns, event->real);
    }
    return out->status;
}

static void leave_row(opd_canvas *canvas, const opd_row *row)
{
    (void)canvas;
    (void)row;
}

static opd_status finish_csv(opd_canvas *canvas)
{
    return canvas->out.status;
}

static void close_csv(opd_canvas *canvas)
{
    csv_state *state = canvas->state;

    if (state != NULL) {
        opd_free((void *)state->names);
        opd_buffer_done(&state->field);
    }
    opd_free(state);
    canvas->state = NULL;
}

const opd_writer_table opd_writer_csv = {
    .open = open_csv,
    .row = write_row,
    .event = write_event,
    .leave = leave_row,
    .finish = finish_csv,
    .close = close_csv,
};
