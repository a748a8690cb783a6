/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where tracks and writers meet: tracks declare rows and give events in time order per row, a writer turns them into its
 * format. Neither knows the other.
 */
#ifndef OPD_VIEWER_EXPORT_CANVAS_H
#define OPD_VIEWER_EXPORT_CANVAS_H

#include <opsdebug/packet.h>
#include <opsdebug/view.h>

#include "scene.h"

typedef enum opd_row_kind { OPD_ROW_PROCESS, OPD_ROW_THREAD, OPD_ROW_PLAIN, OPD_ROW_COUNTER } opd_row_kind;

/* A row of the picture. */
typedef struct opd_row {
    opd_row_kind kind;
    uint64_t id;         /* given by opd_canvas_row: 1, 2, ... */
    uint64_t parent;     /* row; 0 = none */
    uint32_t pid, tid;   /* tid of the thread it belongs to; 0 = none */
    const char *name;    /* "" = none */
    const char *command; /* PROCESS */
    opd_unit unit;       /* COUNTER */
    /* Counter rows that the slices of this row carry samples for (opd_track_event.value, .real); 0 = none. */
    uint64_t value_row, real_row;
} opd_row;

typedef struct opd_drawing {
    opd_track_event event;
    uint64_t end_ns; /* BEGIN: when it ends */
    uint32_t depth;  /* BEGIN */
} opd_drawing;

typedef struct opd_canvas opd_canvas;

typedef struct opd_writer_table {
    /* Sets canvas->state, which close frees; also after a failed open. */
    opd_status (*open)(opd_canvas *canvas);
    opd_status (*row)(opd_canvas *canvas, const opd_row *row);
    opd_status (*event)(opd_canvas *canvas, const opd_row *row, const opd_drawing *drawing);
    /* No event of the row follows. */
    void (*leave)(opd_canvas *canvas, const opd_row *row);
    /* Writes what stands at the end. */
    opd_status (*finish)(opd_canvas *canvas);
    void (*close)(opd_canvas *canvas);
} opd_writer_table;

struct opd_canvas {
    const opd_scene *scene;
    const opd_writer_table *writer;
    void *state; /* the writer's */
    opd_sink *sink;
    opd_buffer out; /* pushed to the sink by the canvas */
    opd_view_report report;
};

/* Declares a row and gives it its id. */
opd_status opd_canvas_row(opd_canvas *canvas, opd_row *row);
opd_status opd_canvas_draw(opd_canvas *canvas, const opd_row *row, const opd_drawing *drawing);
void opd_canvas_leave(opd_canvas *canvas, const opd_row *row);
/* Everything buffered to the sink. */
opd_status opd_canvas_push(opd_canvas *canvas);

#define OPD_X(name, id, suffix) extern const opd_writer_table opd_writer_##id;
OPD_VIEW_LIST(OPD_X)
#undef OPD_X

/* A kind of thing that is drawn. Frees what it allocated also when it fails. */
typedef struct opd_track {
    const char *name;
    opd_status (*draw)(opd_canvas *canvas);
} opd_track;

#define OPD_TRACK(name) extern const opd_track opd_track_##name;
#include "tracks.def"
#undef OPD_TRACK

#endif
