/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slice per range that the program pushed and popped, on a row of its own per thread. A range never popped is drawn to the
 * end of the trace and marked; a pop without a push is not drawn.
 */
#include <stdlib.h>
#include <string.h>

#include "canvas.h"
#include "notes.h"

typedef struct edge_event {
    uint64_t time_ns;
    uint32_t tid;
    uint32_t event;
    opd_edge_kind kind;
} edge_event;

#define OPEN UINT64_MAX

static int compare_events(const void *left, const void *right)
{
    const edge_event *a = left;
    const edge_event *b = right;

    if (a->tid != b->tid) {
        return a->tid < b->tid ? -1 : 1;
    }
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return a->event < b->event ? -1 : a->event > b->event;
}

/* Pairs pushes and pops of one thread. around: room for count numbers. Returns the number of ranges. */
static uint32_t pair_ranges(opd_interval *ranges, uint32_t *around, const edge_event *events, uint32_t count)
{
    uint32_t range_count = 0;
    uint32_t depth = 0;

    for (uint32_t i = 0; i < count; i++) {
        if (events[i].kind == OPD_EDGE_PUSH) {
            around[depth++] = range_count;
            ranges[range_count++] =
                (opd_interval){ .begin_ns = events[i].time_ns, .end_ns = OPEN, .item = events[i].event };
        } else if (depth > 0) {
            ranges[around[--depth]].end_ns = events[i].time_ns;
        }
    }
    return range_count;
}

static opd_status draw_edge(opd_canvas *canvas, const opd_row *row, const opd_interval *range, bool is_end,
                            opd_notes *notes)
{
    const opd_event *event = opd_bundle_event(canvas->scene->bundle, range->item);
    bool is_unfinished = range->end_ns == OPEN;
    uint64_t end_ns = is_unfinished ? canvas->scene->end_ns : range->end_ns;
    opd_drawing drawing = { .event = { .type = OPD_TRACK_END, .track = row->id, .time_ns = end_ns } };

    if (!is_end) {
        opd_notes_clear(notes);
        opd_notes_int(notes, "", "value", event->value);
        if (is_unfinished) {
            opd_notes_bool(notes, "", "unfinished", true);
            canvas->report.unfinished++;
        }
        drawing = (opd_drawing){ .event = { .type = OPD_TRACK_BEGIN,
                                            .track = row->id,
                                            .time_ns = range->begin_ns,
                                            .name = event->name[0] != '\0' ? event->name : "range",
                                            .category = "range",
                                            .notes = notes->items,
                                            .note_count = notes->count },
                                 .end_ns = end_ns,
                                 .depth = range->depth };
    }
    return opd_canvas_draw(canvas, row, &drawing);
}

/* Ranges of one thread: a stack made them, so one lane holds them all. */
static opd_status draw_thread(opd_canvas *canvas, uint32_t tid, opd_interval *ranges, opd_edge *edges, uint32_t count)
{
    const opd_scene_thread *thread = opd_scene_thread_of(canvas->scene, tid);
    const opd_scene_process *process = &canvas->scene->processes[opd_scene_process_of(canvas->scene, tid)];
    opd_row row = { .kind = OPD_ROW_PLAIN,
                    .parent = thread != NULL ? thread->track : process->track,
                    .pid = process->pid,
                    .tid = tid,
                    .name = "ranges" };
    uint32_t lanes = 0;
    void *notes = NULL;

    opd_status status = opd_intervals_order(&lanes, edges, ranges, count);
    if (status == OPD_OK) {
        status = opd_alloc(&notes, sizeof(opd_notes));
    }
    if (status == OPD_OK) {
        status = opd_canvas_row(canvas, &row);
    }
    for (size_t i = 0; i < (size_t)count * 2 && status == OPD_OK; i++) {
        status = draw_edge(canvas, &row, &ranges[edges[i].interval], edges[i].is_end, notes);
    }
    if (status == OPD_OK) {
        opd_canvas_leave(canvas, &row);
    }
    opd_free(notes);
    return status;
}

static opd_status draw_threads(opd_canvas *canvas, const edge_event *events, uint32_t count)
{
    void *ranges = NULL;
    void *edges = NULL;
    void *around = NULL;

    opd_status status = opd_alloc_array(&ranges, count, sizeof(opd_interval));
    if (status == OPD_OK) {
        status = opd_alloc_array(&edges, (size_t)count * 2, sizeof(opd_edge));
    }
    if (status == OPD_OK) {
        status = opd_alloc_array(&around, count, sizeof(uint32_t));
    }
    uint32_t first = 0;
    while (first < count && status == OPD_OK) {
        uint32_t last = first;
        while (last < count && events[last].tid == events[first].tid) {
            last++;
        }
        uint32_t range_count = pair_ranges(ranges, around, &events[first], last - first);
        if (range_count > 0) {
            status = draw_thread(canvas, events[first].tid, ranges, edges, range_count);
        }
        first = last;
    }
    opd_free(ranges);
    opd_free(edges);
    opd_free(around);
    return status;
}

static opd_status draw_ranges(opd_canvas *canvas)
{
    const opd_bundle *bundle = canvas->scene->bundle;
    uint32_t event_count = opd_bundle_event_count(bundle);
    uint32_t count = 0;
    void *memory = NULL;

    opd_status status = opd_alloc_array(&memory, event_count, sizeof(edge_event));
    if (status != OPD_OK) {
        return status;
    }
    edge_event *events = memory;
    for (uint32_t i = 0; i < event_count; i++) {
        const opd_event *event = opd_bundle_event(bundle, i);
        opd_edge_kind kind = opd_event_edge(event);
        if (kind != OPD_EDGE_NONE) {
            events[count++] = (edge_event){ .time_ns = event->time_ns, .tid = event->thread, .event = i, .kind = kind };
        }
    }
    qsort(events, count, sizeof(*events), compare_events);
    status = draw_threads(canvas, events, count);
    opd_free(memory);
    return status;
}

const opd_track opd_track_ranges = { .name = "ranges", .draw = draw_ranges };
