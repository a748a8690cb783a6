/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The canvas: ids of rows, counts for the report, and pushing what the writer buffered to the sink.
 */
#include <math.h>

#include "canvas.h"

#define PUSH_AT ((size_t)64 << 10)

opd_status opd_canvas_push(opd_canvas *canvas)
{
    opd_buffer *out = &canvas->out;

    if (out->status != OPD_OK) {
        return out->status;
    }
    if (out->size == 0) {
        return OPD_OK;
    }
    opd_status status = canvas->sink->write(canvas->sink, out->bytes, out->size);
    if (status == OPD_OK) {
        canvas->report.bytes += out->size;
        out->size = 0;
    }
    return status;
}

static opd_status after_write(opd_canvas *canvas, opd_status status)
{
    if (status != OPD_OK) {
        return status;
    }
    if (canvas->out.status == OPD_OK && canvas->out.size < PUSH_AT) {
        return OPD_OK;
    }
    return opd_canvas_push(canvas);
}

opd_status opd_canvas_row(opd_canvas *canvas, opd_row *row)
{
    row->id = ++canvas->report.tracks;
    return after_write(canvas, canvas->writer->row(canvas, row));
}

opd_status opd_canvas_draw(opd_canvas *canvas, const opd_row *row, const opd_drawing *drawing)
{
    const opd_track_event *event = &drawing->event;

    switch (event->type) {
    case OPD_TRACK_BEGIN:
        canvas->report.slices++;
        canvas->report.flows += (uint64_t)event->arrival_count;
        break;
    case OPD_TRACK_INSTANT:
        canvas->report.instants++;
        break;
    case OPD_TRACK_COUNTER:
        canvas->report.counters += isfinite(event->real) != 0;
        break;
    case OPD_TRACK_END:
        break;
    }
    if (event->has_counters) {
        canvas->report.counters += (uint64_t)(row->value_row != 0) + (uint64_t)(row->real_row != 0);
    }
    return after_write(canvas, canvas->writer->event(canvas, row, drawing));
}

void opd_canvas_leave(opd_canvas *canvas, const opd_row *row)
{
    canvas->writer->leave(canvas, row);
}
