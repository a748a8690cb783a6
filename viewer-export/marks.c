/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drawing of points in time: by process, then by time, then in the order of the bundle.
 */
#include <stdlib.h>

#include "marks.h"

static int compare_marks(const void *left, const void *right)
{
    const opd_mark *a = left;
    const opd_mark *b = right;

    if (a->process != b->process) {
        return a->process < b->process ? -1 : 1;
    }
    if (a->time_ns != b->time_ns) {
        return a->time_ns < b->time_ns ? -1 : 1;
    }
    return a->item < b->item ? -1 : a->item > b->item;
}

static opd_status draw_mark(opd_canvas *canvas, const opd_row *row, const opd_mark *mark, opd_notes *notes,
                            opd_mark_fill *fill)
{
    opd_drawing drawing = { .event = { .type = OPD_TRACK_INSTANT, .track = row->id, .time_ns = mark->time_ns } };

    opd_notes_clear(notes);
    fill(&drawing.event, notes, canvas->scene, mark->item);
    drawing.event.notes = notes->items;
    drawing.event.note_count = notes->count;
    return opd_canvas_draw(canvas, row, &drawing);
}

opd_status opd_marks_draw(opd_canvas *canvas, opd_mark *marks, uint32_t count, const char *row_name,
                          opd_mark_fill *fill)
{
    void *notes = NULL;

    opd_status status = opd_alloc(&notes, sizeof(opd_notes));
    if (status != OPD_OK) {
        return status;
    }
    qsort(marks, count, sizeof(*marks), compare_marks);
    uint32_t next = 0;
    while (next < count && status == OPD_OK) {
        const opd_scene_process *process = &canvas->scene->processes[marks[next].process];
        opd_row row = { .kind = OPD_ROW_PLAIN, .parent = process->track, .pid = process->pid, .name = row_name };
        uint32_t first = next;
        status = opd_canvas_row(canvas, &row);
        while (status == OPD_OK && next < count && marks[next].process == marks[first].process) {
            status = draw_mark(canvas, &row, &marks[next], notes, fill);
            next++;
        }
        opd_canvas_leave(canvas, &row);
    }
    opd_free(notes);
    return status;
}
