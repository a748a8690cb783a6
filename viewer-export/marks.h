/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Points in time on one row per process, for the tracks that draw such.
 */
#ifndef OPD_VIEWER_EXPORT_MARKS_H
#define OPD_VIEWER_EXPORT_MARKS_H

#include "canvas.h"
#include "notes.h"

typedef struct opd_mark {
    uint64_t time_ns;
    uint32_t process; /* index in the scene */
    uint32_t item;    /* the track's */
} opd_mark;

/* Sets name and category of the item and adds its arguments. */
typedef void opd_mark_fill(opd_track_event *event, opd_notes *notes, const opd_scene *scene, uint32_t item);

/* Sorts the marks and draws them. */
opd_status opd_marks_draw(opd_canvas *canvas, opd_mark *marks, uint32_t count, const char *row_name,
                          opd_mark_fill *fill);

#endif
