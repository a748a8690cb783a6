/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mark per event that is not the edge of a range: drops, user marks, triggers, notes.
 */
#include <string.h>

#include "marks.h"

static void draw_event(opd_track_event *drawn, opd_notes *notes, const opd_scene *scene, uint32_t item)
{
    const opd_event *event = opd_bundle_event(scene->bundle, item);

    drawn->name = event->name[0] != '\0' ? event->name : event->kind;
    drawn->category = event->kind[0] != '\0' ? event->kind : "event";
    opd_notes_text(notes, "", "kind", event->kind);
    if (event->thread != 0) {
        opd_notes_uint(notes, "", "thread", event->thread);
    }
    opd_notes_int(notes, "", "value", event->value);
}

static opd_status draw_events(opd_canvas *canvas)
{
    const opd_scene *scene = canvas->scene;
    uint32_t event_count = opd_bundle_event_count(scene->bundle);
    uint32_t count = 0;
    void *memory = NULL;

    opd_status status = opd_alloc_array(&memory, event_count, sizeof(opd_mark));
    if (status != OPD_OK) {
        return status;
    }
    opd_mark *marks = memory;
    for (uint32_t i = 0; i < event_count; i++) {
        const opd_event *event = opd_bundle_event(scene->bundle, i);
        if (opd_event_edge(event) == OPD_EDGE_NONE) {
            uint64_t time_ns = event->time_ns != 0 ? event->time_ns : scene->end_ns;
            marks[count++] =
                (opd_mark){ .time_ns = time_ns, .process = opd_scene_process_of(scene, event->thread), .item = i };
        }
    }
    status = opd_marks_draw(canvas, marks, count, "events", draw_event);
    opd_free(memory);
    return status;
}

const opd_track opd_track_events = { .name = "events", .draw = draw_events };
