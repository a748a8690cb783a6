/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chrome's JSON trace format: complete slices ("X"), outermost first, one event a line. Times are microseconds with three decimals,
 * made from whole nanoseconds since the first event, so that no digit is lost; that base is in otherData.
 */
#include <math.h>

#include "canvas.h"
#include "json_text.h"

/* Rows that are no thread get thread numbers that no Linux thread can have. */
#define FIRST_FREE_TID UINT64_C(4194304)

typedef struct chrome_state {
    const char **names; /* of rows by id; borrowed */
    size_t capacity;
    bool has_events;
} chrome_state;

static void put_decimal(opd_buffer *out, const char *key, uint64_t value)
{
    opd_json_raw(out, key);
    opd_json_uint(out, value);
}

/* 1234567 ns -> 1234.567 */
static void put_time(opd_buffer *out, const char *key, uint64_t time_ns)
{
    unsigned fraction = (unsigned)(time_ns % 1000);
    char digits[] = { '.', (char)('0' + fraction / 100), (char)('0' + fraction / 10 % 10),
                      (char)('0' + fraction % 10) };

    put_decimal(out, key, time_ns / 1000);
    opd_buffer_append(out, digits, sizeof(digits));
}

static uint64_t since_base(const opd_canvas *canvas, uint64_t time_ns)
{
    return time_ns > canvas->scene->begin_ns ? time_ns - canvas->scene->begin_ns : 0;
}

static void begin_line(opd_canvas *canvas, const char *phase, const opd_row *row)
{
    chrome_state *state = canvas->state;
    opd_buffer *out = &canvas->out;
    bool is_thread = row->kind == OPD_ROW_THREAD && row->tid != 0;
    bool is_process = row->kind == OPD_ROW_PROCESS;

    opd_json_raw(out, state->has_events ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    state->has_events = true;
    opd_json_raw(out, phase);
    put_decimal(out, "\",\"pid\":", row->pid);
    put_decimal(out, ",\"tid\":", is_thread ? row->tid : is_process ? 0 : FIRST_FREE_TID + row->id);
}

static void put_meta(opd_canvas *canvas, const opd_row *row, const char *kind, const char *key, const char *text)
{
    opd_buffer *out = &canvas->out;

    begin_line(canvas, "M", row);
    opd_json_raw(out, ",\"name\":\"");
    opd_json_raw(out, kind);
    opd_json_raw(out, "\",\"args\":{\"");
    opd_json_raw(out, key);
    opd_json_raw(out, "\":");
    opd_json_text(out, text);
    opd_json_raw(out, "}}");
}

static opd_status open_json(opd_canvas *canvas)
{
    const opd_header_info *header = opd_bundle_header(canvas->scene->bundle);
    opd_buffer *out = &canvas->out;

    opd_status status = opd_alloc(&canvas->state, sizeof(chrome_state));
    if (status != OPD_OK) {
        return status;
    }
    /*
     * As strings: a number of this size would be rounded by most readers. No displayTimeUnit: some trace processors take it for
     * the unit of the times.
     */
    put_decimal(out, "{\"otherData\":{\"base_ns\":\"", canvas->scene->begin_ns);
    put_decimal(out, "\",\"created_monotonic_ns\":\"", header->created_monotonic_ns);
    put_decimal(out, "\",\"created_realtime_ns\":\"", header->created_realtime_ns);
    put_decimal(out, "\",\"flows_cut\":\"", canvas->report.flows_cut);
    opd_json_raw(out, "\",\"producer\":");
    opd_json_text(out, header->producer);
    opd_json_raw(out, "},\"traceEvents\":[");
    return out->status;
}

static opd_status write_row(opd_canvas *canvas, const opd_row *row)
{
    chrome_state *state = canvas->state;

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
    if (row->kind == OPD_ROW_COUNTER) {
        return OPD_OK;
    }
    bool is_process = row->kind == OPD_ROW_PROCESS;
    if (row->name[0] != '\0') {
        put_meta(canvas, row, is_process ? "process_name" : "thread_name", "name", row->name);
    }
    if (is_process && row->command != NULL && row->command[0] != '\0') {
        put_meta(canvas, row, "process_labels", "labels", row->command);
    }
    return canvas->out.status;
}

/* A viewer of this format finds a counter by process and name alone, so the name holds the thread. */
static void put_sample(opd_canvas *canvas, const opd_row *row, uint64_t counter, uint64_t time_ns, double value)
{
    const chrome_state *state = canvas->state;
    opd_buffer *out = &canvas->out;

    if (counter == 0 || !isfinite(value)) {
        return;
    }
    begin_line(canvas, "C", row);
    put_time(out, ",\"ts\":", since_base(canvas, time_ns));
    opd_json_raw(out, ",\"name\":\"");
    opd_json_raw(out, state->names[counter]);
    put_decimal(out, ", thread ", row->tid);
    opd_json_raw(out, "\",\"args\":{\"value\":");
    opd_json_real(out, value);
    opd_json_raw(out, "}}");
}

/* phase "s" leaves the slice at time_ns, "f" arrives at it. */
static void put_flow(opd_canvas *canvas, const opd_row *row, const char *phase, uint64_t id, uint64_t time_ns)
{
    opd_buffer *out = &canvas->out;

    begin_line(canvas, phase, row);
    put_time(out, ",\"ts\":", since_base(canvas, time_ns));
    put_decimal(out, ",\"id\":", id);
    opd_json_raw(out, ",\"name\":\"data\",\"cat\":\"flow\",\"bp\":\"e\"}");
}

static opd_status write_event(opd_canvas *canvas, const opd_row *row, const opd_drawing *drawing)
{
    const opd_track_event *event = &drawing->event;
    opd_buffer *out = &canvas->out;

    if (event->type == OPD_TRACK_COUNTER) {
        put_sample(canvas, row, row->id, event->time_ns, event->real);
        return out->status;
    }
    if (event->type != OPD_TRACK_END) {
        begin_line(canvas, event->type == OPD_TRACK_BEGIN ? "X" : "i", row);
        put_time(out, ",\"ts\":", since_base(canvas, event->time_ns));
        if (event->type == OPD_TRACK_BEGIN) {
            put_time(out, ",\"dur\":", drawing->end_ns - event->time_ns);
        } else {
            opd_json_raw(out, ",\"s\":\"t\"");
        }
        opd_json_raw(out, ",\"name\":");
        opd_json_text(out, event->name);
        opd_json_raw(out, ",\"cat\":");
        opd_json_text(out, event->category);
        opd_json_raw(out, ",\"args\":");
        opd_json_notes(out, event->notes, event->note_count);
        opd_json_raw(out, "}");
    }
    for (int i = 0; i < event->arrival_count; i++) {
        put_flow(canvas, row, "f", event->arrivals[i], event->time_ns);
    }
    for (int i = 0; i < event->flow_count; i++) {
        put_flow(canvas, row, "s", event->flows[i], event->time_ns);
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

static opd_status finish_json(opd_canvas *canvas)
{
    opd_json_raw(&canvas->out, "\n]}\n");
    return canvas->out.status;
}

static void close_json(opd_canvas *canvas)
{
    chrome_state *state = canvas->state;

    if (state != NULL) {
        opd_free((void *)state->names);
    }
    opd_free(state);
    canvas->state = NULL;
}

const opd_writer_table opd_writer_chrome = {
    .open = open_json,
    .row = write_row,
    .event = write_event,
    .leave = leave_row,
    .finish = finish_json,
    .close = close_json,
};
