/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of a bundle: the crash first and short, everything on demand. */
#include "stacks.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "document.h"
#include "phrases.h"

#define SHORT_FRAMES 12u

static const char *file_name(const opd_module *module)
{
    const char *slash = module != NULL ? strrchr(module->path, '/') : NULL;
    return module == NULL ? "" : slash != NULL ? slash + 1 : module->path;
}

static void print_frames(const opd_bundle *bundle, const opd_stack *stack, bool in_full)
{
    for (uint32_t i = 0; i < stack->frame_count && (in_full || i < SHORT_FRAMES); i++) {
        const opd_frame *frame = &stack->frames[i];
        const opd_module *module = opd_bundle_module(bundle, frame->module);
        char words[512];
        printf("  frame %-4u 0x%012" PRIx64 " %s", i, frame->address,
               opd_phrase_line(words, sizeof words, frame->symbol));
        if (module != NULL) {
            printf("%s%s", frame->symbol[0] != '\0' ? " of " : "",
                   opd_phrase_line(words, sizeof words, file_name(module)));
        }
        if (in_full && module != NULL && module->build_id[0] != '\0') {
            printf(", build-id %s", opd_phrase_line(words, sizeof words, module->build_id));
        }
        printf("\n");
    }
    if (!in_full && stack->frame_count > SHORT_FRAMES) {
        printf("  ... %u more frames: -v\n", stack->frame_count - SHORT_FRAMES);
    } else if (stack->is_cut) {
        printf("  ... and more, which were not kept\n");
    }
}

static void print_registers(const opd_stack *stack)
{
    const char *lead = "  registers  ";
    bool is_known = stack->state == OPD_STACK_CRASHED || stack->state == OPD_STACK_ANSWERED;
    for (int i = 0; is_known && i < OPD_REGISTERS; i++) {
        printf("%s%s=%016" PRIx64, i % 4 == 0 ? lead : " ", opd_register_name(i), stack->registers[i]);
        if (i % 4 == 3 || i == OPD_REGISTERS - 1) {
            printf("\n");
        }
        lead = "             ";
    }
}

static void print_limit(uint64_t limit)
{
    if (limit == OPD_LIMIT_UNLIMITED) {
        printf("unlimited");
    } else {
        printf("%" PRIu64, limit);
    }
}

static void print_limits(const opd_crash_info *crash)
{
    printf("limits      ");
    for (int i = 0; i < OPD_LIMITS; i++) {
        printf("%s %s ", i > 0 ? "," : "", opd_limit_name(i));
        print_limit(crash->limits[i][0]);
    }
    printf("\n");
}

static bool is_failing(const opd_bundle *bundle, uint32_t thread)
{
    const opd_crash_info *crash = opd_bundle_crash(bundle);
    bool is_one = crash != NULL && crash->thread == thread;
    for (uint32_t i = 0; !is_one && i < opd_bundle_failure_count(bundle); i++) {
        is_one = opd_bundle_failure(bundle, i)->thread == thread;
    }
    return is_one;
}

static void print_head(const opd_stack *stack)
{
    static const char *const notes[] = { [OPD_STACK_PLAIN] = "",
                                         [OPD_STACK_CRASHED] = ", crashed",
                                         [OPD_STACK_ANSWERED] = "",
                                         [OPD_STACK_WAITING] = ", did not answer: where the kernel has it waiting",
                                         [OPD_STACK_SILENT] = ", did not answer: nothing is known of it" };
    char words[64];
    size_t state = (size_t)stack->state;
    printf("thread       %u%s%s%s", stack->thread, stack->name[0] != '\0' ? " " : "",
           opd_phrase_line(words, sizeof words, stack->name), state < OPD_COUNT(notes) ? notes[state] : "");
    if (stack->call_number != 0) {
        printf(", in its call %" PRIu64, stack->call_number);
    }
    printf("\n");
}

void opd_stacks_print(const opd_bundle *bundle, bool in_full)
{
    const opd_crash_info *crash = opd_bundle_crash(bundle);
    uint32_t count = opd_bundle_stack_count(bundle);
    for (uint32_t i = 0; i < count; i++) {
        const opd_stack *stack = opd_bundle_stack(bundle, i);
        if (!in_full && !is_failing(bundle, stack->thread)) {
            continue;
        }
        if (stack->state != OPD_STACK_PLAIN) {
            print_head(stack);
        }
        print_frames(bundle, stack, in_full);
        if (in_full) {
            print_registers(stack);
        }
    }
    if (crash != NULL && in_full) {
        print_limits(crash);
    } else if (crash != NULL && crash->threads > 1) {
        printf("threads      %u", crash->threads);
        if (crash->silent > 0) {
            printf(", of them %u did not answer", crash->silent);
        }
        printf("; -v has all stacks, registers and limits\n");
    }
}

static json_t *hex(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "0x%" PRIx64, value);
    return json_string(text);
}

static json_t *stack_object(const opd_bundle *bundle, const opd_stack *stack)
{
    json_t *object = json_object();
    json_t *frames = json_array();
    json_t *registers = json_object();
    bool is_known = stack->state == OPD_STACK_CRASHED || stack->state == OPD_STACK_ANSWERED;
    for (int i = 0; i < OPD_REGISTERS; i++) {
        bool is_told = stack->state == OPD_STACK_WAITING && (i == OPD_REGISTER_PC || i == OPD_REGISTER_SP);
        if (is_known || is_told) {
            opd_document_put(registers, opd_register_name(i), hex(stack->registers[i]));
        }
    }
    for (uint32_t i = 0; i < stack->frame_count; i++) {
        const opd_module *module = opd_bundle_module(bundle, stack->frames[i].module);
        json_t *frame = json_object();
        opd_document_put(frame, "address", hex(stack->frames[i].address));
        opd_document_put(frame, "symbol", opd_document_text(stack->frames[i].symbol));
        if (module != NULL) {
            opd_document_put(frame, "module", opd_document_text(module->path));
            opd_document_put(frame, "offset", hex(stack->frames[i].address - module->start));
            opd_document_put(frame, "build_id", opd_document_text(module->build_id));
        }
        json_array_append_new(frames, frame);
    }
    opd_document_put(object, "thread", json_integer(stack->thread));
    opd_document_put(object, "name", opd_document_text(stack->name));
    opd_document_put(object, "state", json_string(opd_stack_state_name(stack->state)));
    opd_document_put(object, "call", opd_document_count(stack->call_number));
    opd_document_put(object, "registers", registers);
    opd_document_put(object, "frames", frames);
    opd_document_put(object, "is_cut", json_boolean(stack->is_cut));
    return object;
}

static json_t *crash_object(const opd_crash_info *crash)
{
    static const char *const places[] = { "", "in", "before", "after" };
    json_t *object = json_object();
    json_t *limits = json_object();
    opd_document_put(object, "thread", json_integer(crash->thread));
    opd_document_put(object, "access", json_string(opd_access_name(crash->access)));
    opd_document_put(object, "address", hex(crash->address));
    opd_document_put(object, "is_stack_overflow", json_boolean(crash->is_overflow));
    opd_document_put(object, "threads", json_integer(crash->threads));
    opd_document_put(object, "threads_silent", json_integer(crash->silent));
    if ((unsigned)crash->place < OPD_COUNT(places) && crash->place != OPD_PLACE_NOWHERE) {
        json_t *index = json_array();
        for (int i = 0; i < crash->index_rank; i++) {
            json_array_append_new(index, json_integer(crash->index[i]));
        }
        opd_document_put(object, "place", json_string(places[crash->place]));
        opd_document_put(object, "operand", opd_document_text(crash->operand));
        opd_document_put(object, "distance", json_integer(crash->distance));
        opd_document_put(object, "index", index);
    }
    for (int i = 0; i < OPD_LIMITS; i++) {
        json_t *pair = json_array();
        for (int k = 0; k < 2; k++) {
            uint64_t limit = crash->limits[i][k];
            json_array_append_new(pair, limit == OPD_LIMIT_UNLIMITED ? json_null() : opd_document_count(limit));
        }
        opd_document_put(limits, opd_limit_name(i), pair);
    }
    opd_document_put(object, "limits", limits);
    return object;
}

void opd_stacks_document(json_t *object, const opd_bundle *bundle)
{
    json_t *stacks = json_array();
    if (opd_bundle_crash(bundle) != NULL) {
        opd_document_put(object, "crash", crash_object(opd_bundle_crash(bundle)));
    }
    for (uint32_t i = 0; i < opd_bundle_stack_count(bundle); i++) {
        json_array_append_new(stacks, stack_object(bundle, opd_bundle_stack(bundle, i)));
    }
    opd_document_put(object, "stacks", stacks);
}
