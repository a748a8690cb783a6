/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A mark per thread of a process that crashed, at the time of the crash: its stack, and where the crashed one stood.
 */
#include <stdio.h>

#include "marks.h"

static void note_crash(opd_notes *notes, const opd_crash_info *crash)
{
    static const char *const places[] = { "", "inside", "before", "past the end of" };

    opd_notes_text(notes, "", "access", opd_access_name(crash->access));
    opd_notes_pointer(notes, "", "address", crash->address);
    if (crash->is_overflow) {
        opd_notes_bool(notes, "", "stack_overflow", true);
    }
    if ((unsigned)crash->place < OPD_COUNT(places) && crash->place != OPD_PLACE_NOWHERE) {
        opd_notes_text(notes, "", "place", places[crash->place]);
        opd_notes_text(notes, "", "operand", crash->operand);
        opd_notes_int(notes, "", "distance", crash->distance);
    }
}

static void draw_stack(opd_track_event *event, opd_notes *notes, const opd_scene *scene, uint32_t item)
{
    const opd_stack *stack = opd_bundle_stack(scene->bundle, item);

    event->name = stack->frame_count > 0 && stack->frames[0].symbol[0] != '\0' ? stack->frames[0].symbol : stack->name;
    event->category = "stack";
    opd_notes_uint(notes, "", "thread", stack->thread);
    opd_notes_text(notes, "", "name", stack->name);
    opd_notes_text(notes, "", "state", opd_stack_state_name(stack->state));
    if (stack->call_number != 0) {
        opd_notes_uint(notes, "", "call", stack->call_number);
    }
    if (stack->state == OPD_STACK_CRASHED && opd_bundle_crash(scene->bundle) != NULL) {
        note_crash(notes, opd_bundle_crash(scene->bundle));
    }
    for (uint32_t i = 0; i < stack->frame_count; i++) {
        const opd_module *module = opd_bundle_module(scene->bundle, stack->frames[i].module);
        char number[12];
        char text[640];
        snprintf(number, sizeof(number), "%u", i);
        snprintf(text, sizeof(text), "%s of %.500s", stack->frames[i].symbol[0] != '\0' ? stack->frames[i].symbol : "?",
                 module != NULL ? module->path : "?");
        opd_notes_text(notes, "frame.", number, text);
    }
}

static opd_status draw_stacks(opd_canvas *canvas)
{
    const opd_scene *scene = canvas->scene;
    uint32_t count = opd_bundle_crash(scene->bundle) != NULL ? opd_bundle_stack_count(scene->bundle) : 0;
    uint64_t time_ns = scene->end_ns;
    void *marks = NULL;
    opd_status status = opd_alloc_array(&marks, (size_t)count + 1, sizeof(opd_mark));

    for (uint32_t i = 0; i < opd_bundle_failure_count(scene->bundle); i++) {
        const opd_failure *failure = opd_bundle_failure(scene->bundle, i);
        time_ns = failure->outcome == OPD_OUTCOME_CRASH && failure->time_ns != 0 ? failure->time_ns : time_ns;
    }
    if (status == OPD_OK && count > 0) {
        opd_mark *items = marks;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t thread = opd_bundle_stack(scene->bundle, i)->thread;
            items[i] = (opd_mark){ .process = opd_scene_process_of(scene, thread), .time_ns = time_ns, .item = i };
        }
        status = opd_marks_draw(canvas, items, count, "stacks", draw_stack);
    }
    opd_free(marks);
    return status;
}

const opd_track opd_track_stacks = { .name = "stacks", .draw = draw_stacks };
