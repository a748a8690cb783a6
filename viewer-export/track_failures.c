/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mark per failure, on one row per process, with all that the failure says.
 */
#include <stdio.h>

#include "marks.h"

static void note_place(opd_notes *notes, const opd_failure *failure)
{
    char text[24 * OPD_MAX_RANK] = "";
    size_t used = 0;

    if (failure->operand[0] != '\0') {
        opd_notes_text(notes, "", "operand", failure->operand);
    }
    for (int i = 0; i < failure->index_rank && i < OPD_MAX_RANK; i++) {
        int size =
            snprintf(text + used, sizeof(text) - used, "%s%lld", i == 0 ? "" : ", ", (long long)failure->index[i]);
        used += size > 0 ? (size_t)size : 0;
    }
    if (failure->index_rank >= 0) {
        opd_notes_text(notes, "", "index", text);
    }
    if (failure->bad_count != 0) {
        opd_notes_uint(notes, "", "bad_elements", failure->bad_count);
    }
}

static void note_crash(opd_notes *notes, const opd_failure *failure)
{
    if (failure->signal != 0) {
        opd_notes_int(notes, "", "signal", failure->signal);
        opd_notes_int(notes, "", "signal_code", failure->signal_code);
    }
    if (failure->fault_address != 0) {
        opd_notes_pointer(notes, "", "fault_address", failure->fault_address);
    }
    if (failure->pc != 0) {
        opd_notes_pointer(notes, "", "pc", failure->pc);
    }
    if (failure->pc_symbol[0] != '\0') {
        opd_notes_text(notes, "", "pc_symbol", failure->pc_symbol);
    }
    if (failure->outcome == OPD_OUTCOME_OOB_READ || failure->outcome == OPD_OUTCOME_OOB_WRITE) {
        opd_notes_int(notes, "", "distance", failure->distance);
    }
}

static void draw_failure(opd_track_event *event, opd_notes *notes, const opd_scene *scene, uint32_t item)
{
    const opd_failure *failure = opd_bundle_failure(scene->bundle, item);

    event->name = opd_outcome_name(failure->outcome);
    event->category = "failure";
    opd_notes_text(notes, "", "outcome", event->name);
    opd_notes_uint(notes, "", "thread", failure->thread);
    if (failure->call_number != 0) {
        opd_notes_uint(notes, "", "call", failure->call_number);
    }
    note_place(notes, failure);
    note_crash(notes, failure);
    if (failure->label[0] != '\0') {
        opd_notes_text(notes, "", "label", failure->label);
        opd_notes_real(notes, "", "confidence", (double)failure->confidence);
    }
    if (failure->reason[0] != '\0') {
        opd_notes_text(notes, "", "reason", failure->reason);
    }
}

/* A failure without a time is put at the end of its call, or of the trace. */
static uint64_t time_of(const opd_scene *scene, const opd_failure *failure, opd_call *call)
{
    uint64_t position = 0;

    if (failure->time_ns != 0) {
        return failure->time_ns;
    }
    if (failure->call_number != 0 &&
        opd_bundle_find_call(&position, scene->bundle, failure->thread, failure->call_number) == OPD_OK &&
        opd_bundle_call(call, scene->bundle, position) == OPD_OK && call->end_ns != 0) {
        return call->end_ns;
    }
    return scene->end_ns;
}

static opd_status draw_failures(opd_canvas *canvas)
{
    const opd_scene *scene = canvas->scene;
    uint32_t count = opd_bundle_failure_count(scene->bundle);
    void *marks = NULL;
    void *call = NULL;

    opd_status status = opd_alloc_array(&marks, count, sizeof(opd_mark));
    if (status == OPD_OK) {
        status = opd_alloc(&call, sizeof(opd_call));
    }
    if (status == OPD_OK) {
        opd_mark *items = marks;
        for (uint32_t i = 0; i < count; i++) {
            const opd_failure *failure = opd_bundle_failure(scene->bundle, i);
            items[i] = (opd_mark){ .process = opd_scene_process_of(scene, failure->thread),
                                   .time_ns = time_of(scene, failure, call),
                                   .item = i };
        }
        status = opd_marks_draw(canvas, items, count, "failures", draw_failure);
    }
    opd_free(marks);
    opd_free(call);
    return status;
}

const opd_track opd_track_failures = { .name = "failures", .draw = draw_failures };
