/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A slice per call on the row of its thread (calls that overlap without nesting on further rows), with what is known of the call
 * as arguments, arrows from the calls that made its inputs, and two counters per thread: bytes of operands in use and
 * speed, both of the outermost calls, so that they return to 0 when the last of them ends.
 */
#include <stdio.h>
#include <string.h>

#include "canvas.h"
#include "notes.h"

#define OVERLAP_NAME "overlapping calls"

static const opd_flag_name call_flags[] = {
    { OPD_CALL_IN_FLIGHT, "in-flight" },
    { OPD_CALL_BAD_ARGS, "bad-args" },
    { OPD_CALL_NESTED, "nested" },
    { OPD_CALL_FROM_LIBRARY, "from-library" },
    { OPD_CALL_CBLAS, "cblas" },
    { OPD_CALL_ILP64, "ilp64" },
    { OPD_CALL_ROW_MAJOR, "row-major" },
    { OPD_CALL_AMBIGUOUS, "ambiguous-library" },
    { OPD_CALL_ABI_SUSPECT, "integer-width-suspect" },
};

static const opd_flag_name operand_flags[] = {
    { OPD_OPERAND_MUST_NOT_READ, "must-not-read" },
    { OPD_OPERAND_UNREADABLE, "unreadable" },
    { OPD_OPERAND_RETURNED, "returned" },
    { OPD_OPERAND_NOT_KEPT, "not-kept" },
    { OPD_OPERAND_KNOWN, "known" },
    { OPD_OPERAND_TRACKED, "tracked" },
    { OPD_OPERAND_INDEX, "index" },
};

/* What a row of calls carries to its counters. */
typedef struct load {
    uint64_t bytes;
    double gflops;
} load;

typedef struct opd_pencil {
    opd_canvas *canvas;
    const opd_scene_thread *thread;
    opd_interval *intervals;
    opd_edge *edges;
    opd_row *rows; /* by lane */
    load *loads;   /* by lane: of its outermost open call */
    uint32_t lanes;
    opd_call *call;
    opd_notes *notes;
} opd_pencil;

static void note_value(opd_notes *notes, const char *prefix, const opd_value *value)
{
    char text[OPD_INTS_TEXT];
    char choice[OPD_CHOICE_TEXT];

    switch (value->kind) {
    case OPD_VALUE_NONE:
        break;
    case OPD_VALUE_INT:
        opd_notes_int(notes, prefix, value->name, value->i);
        break;
    case OPD_VALUE_REAL:
        opd_notes_real(notes, prefix, value->name, value->re);
        break;
    case OPD_VALUE_COMPLEX:
        (void)snprintf(text, sizeof(text), "%.17g%+.17gi", value->re, value->im);
        opd_notes_text(notes, prefix, value->name, text);
        break;
    case OPD_VALUE_CHOICE:
        opd_choice_print(choice, value->i);
        opd_notes_text(notes, prefix, value->name, choice);
        break;
    case OPD_VALUE_TEXT:
        opd_notes_text(notes, prefix, value->name, value->text);
        break;
    case OPD_VALUE_INTS:
        opd_value_print_ints(text, sizeof text, value);
        opd_notes_text(notes, prefix, value->name, text);
        break;
    }
}

/* Counts that are 0 say nothing and are left out. */
static void note_health(opd_notes *notes, const char *prefix, const opd_health *health)
{
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {
        { "nan", health->nan },
        { "inf", health->pos_inf + health->neg_inf },
        { "subnormal", health->subnormal },
    };

    for (size_t i = 0; i < OPD_COUNT(counts); i++) {
        if (counts[i].count != 0) {
            opd_notes_uint(notes, prefix, counts[i].name, counts[i].count);
        }
    }
    /* Left at 0 by a scan that only looked for NaN and Inf; infinite when no element is finite. */
    if (health->min < health->max || health->mean != 0 || health->zero != 0) {
        opd_notes_real(notes, prefix, "min", health->min);
        opd_notes_real(notes, prefix, "max", health->max);
        opd_notes_real(notes, prefix, "mean", health->mean);
    }
}

/* Content and health of one side of an operand. */
static void note_content(opd_notes *notes, const char *operand, const char *side, const opd_digest *digest,
                         const opd_health *health)
{
    char prefix[OPD_NAME + 8];

    (void)stpcpy(stpcpy(prefix, operand), side);
    opd_notes_digest(notes, prefix, "digest", digest);
    if (health != NULL) {
        note_health(notes, prefix, health);
    }
}

static void note_operand(opd_notes *notes, const opd_operand *operand)
{
    char text[256];
    bool has_health = (operand->flags & OPD_OPERAND_HAS_HEALTH) != 0;
    bool is_read = (operand->role & OPD_ROLE_IN) != 0;
    bool is_written = (operand->role & OPD_ROLE_OUT) != 0;

    opd_tensor_describe(text, sizeof(text), &operand->view);
    opd_notes_text(notes, operand->name, "_shape", text);
    opd_notes_flags(notes, operand->name, "_flags", operand->flags, operand_flags, OPD_COUNT(operand_flags));
    note_content(notes, operand->name, "_in_", &operand->before,
                 has_health && is_read ? &operand->health_before : NULL);
    note_content(notes, operand->name, "_out_", &operand->after,
                 has_health && is_written ? &operand->health_after : NULL);
}

static void note_module(opd_notes *notes, const opd_bundle *bundle, const char *name, uint32_t number)
{
    const opd_module *module = number == 0 ? NULL : opd_bundle_module(bundle, number);

    if (module != NULL) {
        opd_notes_text(notes, "", name, module->path);
    }
}

/* Times of a device queue as distances from the begin. */
static void note_queue(opd_notes *notes, const opd_call *call)
{
    const struct {
        const char *name;
        uint64_t time_ns;
    } times[] = { { "queued_after_ns", call->queued_ns },
                  { "started_after_ns", call->start_ns },
                  { "synced_after_ns", call->sync_ns } };

    for (size_t i = 0; i < OPD_COUNT(times); i++) {
        if (times[i].time_ns != 0) {
            opd_notes_int(notes, "", times[i].name, (int64_t)(times[i].time_ns - call->begin_ns));
        }
    }
}

static void note_failure(opd_notes *notes, const opd_scene *scene, uint32_t position)
{
    const opd_failure *failure = opd_scene_failure_of(scene, position);

    if (failure == NULL) {
        return;
    }
    opd_notes_text(notes, "", "failure", opd_outcome_name(failure->outcome));
    if (failure->label[0] != '\0') {
        opd_notes_text(notes, "", "label", failure->label);
    }
}

static void note_call(opd_notes *notes, const opd_scene *scene, const opd_scene_call *known, const opd_call *call,
                      const load *cost)
{
    opd_notes_clear(notes);
    opd_notes_uint(notes, "", "number", call->number);
    opd_notes_text(notes, "", "dtype", opd_dtype_name(call->dtype));
    if (call->symbol[0] != '\0') {
        opd_notes_text(notes, "", "symbol", call->symbol);
    }
    note_module(notes, scene->bundle, "provider", call->provider);
    note_module(notes, scene->bundle, "caller", call->caller);
    opd_notes_flags(notes, "", "flags", call->flags, call_flags, OPD_COUNT(call_flags));
    if (call->bad_arg != 0) {
        opd_notes_int(notes, "", "bad_arg", call->bad_arg);
    }
    if (known->is_unfinished) {
        opd_notes_bool(notes, "", "unfinished", true);
    }
    note_failure(notes, scene, known->position);
    for (int i = 0; i < call->symbol_count; i++) {
        note_value(notes, "dim_", &call->symbols[i]);
    }
    for (int i = 0; i < call->attr_count; i++) {
        note_value(notes, "attr_", &call->attrs[i]);
    }
    for (int i = 0; i < call->operand_count; i++) {
        note_operand(notes, &call->operands[i]);
    }
    opd_notes_uint(notes, "", "operand_bytes", cost->bytes);
    if (call->op != NULL && (call->flags & OPD_CALL_BAD_ARGS) == 0) {
        opd_notes_real(notes, "", "flops", opd_call_flops(call));
    }
    note_queue(notes, call);
}

static load load_of(const opd_call *call, const opd_interval *interval, bool is_unfinished)
{
    load cost = { 0, 0 };

    if ((call->flags & OPD_CALL_BAD_ARGS) != 0) {
        return cost;
    }
    for (int i = 0; i < call->operand_count; i++) {
        if (opd_tensor_check(&call->operands[i].view) == OPD_OK) {
            uint64_t bytes = opd_tensor_packed_bytes(&call->operands[i].view);
            cost.bytes += bytes < UINT64_C(1) << 56 ? bytes : 0;
        }
    }
    uint64_t duration_ns = interval->end_ns - interval->begin_ns;
    if (call->op != NULL && !is_unfinished && duration_ns > 0) {
        cost.gflops = opd_call_flops(call) / (double)duration_ns;
    }
    return cost;
}

/* Sums over the lanes, for the counters of an event. */
static void carry_loads(const opd_pencil *pencil, opd_track_event *event)
{
    event->has_counters = true;
    for (uint32_t lane = 0; lane < pencil->lanes; lane++) {
        event->value += (int64_t)pencil->loads[lane].bytes;
        event->real += pencil->loads[lane].gflops;
    }
}

static opd_status draw_begin(opd_pencil *pencil, const opd_interval *interval)
{
    opd_canvas *canvas = pencil->canvas;
    const opd_scene *scene = canvas->scene;
    const opd_scene_call *known = &scene->calls[interval->item];
    opd_call *call = pencil->call;
    uint64_t flows[OPD_FLOWS_OUT];
    uint64_t arrivals[OPD_MAX_OPERANDS];

    opd_status status = opd_bundle_call(call, scene->bundle, known->position);
    if (status != OPD_OK) {
        return status;
    }
    load cost = load_of(call, interval, known->is_unfinished);
    note_call(pencil->notes, scene, known, call, &cost);
    opd_drawing drawing = {
        .event = { .type = OPD_TRACK_BEGIN,
                   .track = pencil->rows[interval->lane].id,
                   .time_ns = interval->begin_ns,
                   .name = call->name[0] != '\0' ? call->name : "?",
                   .category = call->domain[0] != '\0' ? call->domain : "call",
                   .notes = pencil->notes->items,
                   .note_count = pencil->notes->count,
                   .flows = flows,
                   .flow_count = opd_scene_departures(flows, scene, known->position),
                   .arrivals = arrivals,
                   .arrival_count = opd_scene_arrivals(arrivals, scene, known->position) },
        .end_ns = interval->end_ns,
        .depth = interval->depth,
    };
    if (interval->depth == 0) {
        pencil->loads[interval->lane] = cost;
        carry_loads(pencil, &drawing.event);
    }
    return opd_canvas_draw(canvas, &pencil->rows[interval->lane], &drawing);
}

static opd_status draw_end(opd_pencil *pencil, const opd_interval *interval)
{
    opd_drawing drawing = {
        .event = { .type = OPD_TRACK_END, .track = pencil->rows[interval->lane].id, .time_ns = interval->end_ns }
    };

    if (interval->depth == 0) {
        pencil->loads[interval->lane] = (load){ 0, 0 };
        carry_loads(pencil, &drawing.event);
    }
    return opd_canvas_draw(pencil->canvas, &pencil->rows[interval->lane], &drawing);
}

static opd_status declare_rows(opd_pencil *pencil)
{
    const opd_scene_thread *thread = pencil->thread;
    opd_row bytes = { .kind = OPD_ROW_COUNTER,
                      .parent = thread->track,
                      .pid = thread->pid,
                      .tid = thread->tid,
                      .name = "operand bytes in use",
                      .unit = OPD_UNIT_BYTES };
    opd_row gflops = bytes;

    gflops.name = "GFLOP/s";
    gflops.unit = OPD_UNIT_NONE;
    opd_status status = opd_canvas_row(pencil->canvas, &bytes);
    if (status == OPD_OK) {
        status = opd_canvas_row(pencil->canvas, &gflops);
    }
    for (uint32_t lane = 0; lane < pencil->lanes && status == OPD_OK; lane++) {
        opd_row *row = &pencil->rows[lane];
        *row = (opd_row){ .kind = lane == 0 ? OPD_ROW_THREAD : OPD_ROW_PLAIN,
                          .id = thread->track,
                          .parent = thread->track,
                          .pid = thread->pid,
                          .tid = thread->tid,
                          .name = lane == 0 ? thread->name : OVERLAP_NAME,
                          .value_row = bytes.id,
                          .real_row = gflops.id };
        if (lane > 0) {
            status = opd_canvas_row(pencil->canvas, row);
        }
    }
    return status;
}

static opd_status order_calls(opd_pencil *pencil)
{
    const opd_scene_thread *thread = pencil->thread;
    void *memory = NULL;

    opd_status status = opd_alloc_array(&memory, thread->count, sizeof(*pencil->intervals));
    if (status != OPD_OK) {
        return status;
    }
    pencil->intervals = memory;
    status = opd_alloc_array(&memory, (size_t)thread->count * 2, sizeof(*pencil->edges));
    if (status != OPD_OK) {
        return status;
    }
    pencil->edges = memory;
    for (uint32_t i = 0; i < thread->count; i++) {
        const opd_scene_call *call = &pencil->canvas->scene->calls[thread->first + i];
        pencil->intervals[i] =
            (opd_interval){ .begin_ns = call->begin_ns, .end_ns = call->end_ns, .item = thread->first + i };
    }
    status = opd_intervals_order(&pencil->lanes, pencil->edges, pencil->intervals, thread->count);
    if (status != OPD_OK) {
        return status;
    }
    status = opd_alloc_array(&memory, pencil->lanes, sizeof(*pencil->rows));
    if (status != OPD_OK) {
        return status;
    }
    pencil->rows = memory;
    status = opd_alloc_array(&memory, pencil->lanes, sizeof(*pencil->loads));
    if (status == OPD_OK) {
        pencil->loads = memory;
    }
    return status;
}

static opd_status draw_thread(opd_pencil *pencil)
{
    opd_status status = order_calls(pencil);
    if (status == OPD_OK) {
        status = declare_rows(pencil);
    }
    for (size_t i = 0; i < (size_t)pencil->thread->count * 2 && status == OPD_OK; i++) {
        const opd_interval *interval = &pencil->intervals[pencil->edges[i].interval];
        status = pencil->edges[i].is_end ? draw_end(pencil, interval) : draw_begin(pencil, interval);
    }
    for (uint32_t lane = 0; lane < pencil->lanes && status == OPD_OK; lane++) {
        opd_canvas_leave(pencil->canvas, &pencil->rows[lane]);
    }
    opd_free(pencil->intervals);
    opd_free(pencil->edges);
    opd_free(pencil->rows);
    opd_free(pencil->loads);
    pencil->intervals = NULL;
    pencil->edges = NULL;
    pencil->rows = NULL;
    pencil->loads = NULL;
    return status;
}

static opd_status draw_calls(opd_canvas *canvas)
{
    opd_pencil pencil = { .canvas = canvas };
    void *call = NULL;
    void *notes = NULL;

    opd_status status = opd_alloc(&call, sizeof(*pencil.call));
    if (status == OPD_OK) {
        status = opd_alloc(&notes, sizeof(*pencil.notes));
    }
    pencil.call = call;
    pencil.notes = notes;
    for (uint32_t i = 0; i < canvas->scene->thread_count && status == OPD_OK; i++) {
        pencil.thread = &canvas->scene->threads[i];
        if (pencil.thread->count > 0) {
            status = draw_thread(&pencil);
        }
    }
    opd_free(call);
    opd_free(notes);
    return status;
}

const opd_track opd_track_calls = { .name = "calls", .draw = draw_calls };
