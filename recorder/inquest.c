/* SPDX-License-Identifier: Apache-2.0 */
/* What a wreck says about the call that is blamed, and its way into the bundle. */
#include "inquest.h"

#include <stdio.h>
#include <string.h>

#define BESIDE         (INT64_C(1) << 20)  /* an address farther from an operand than this has nothing to do with it */
#define OVERFLOW_BELOW (UINT64_C(1) << 20) /* guard pages are no larger, nor are most frames */

/* Below the lowest page of the stack, and the stack pointer there too. */
static bool is_overflow(const opd_wreck *wreck)
{
    uint64_t address = wreck->head.address;
    uint64_t sp = wreck->threads[0].thread.registers[OPD_REGISTER_SP];
    const opd_wrecked_range *stack = opd_wreck_mapping(wreck, wreck->threads[0].thread.stack);
    bool is_page_fault = wreck->head.access != OPD_ACCESS_UNKNOWN;
    return is_page_fault && stack != NULL && wreck->threads[0].stack_bytes > 0 && address < stack->start &&
           stack->start - address <= OVERFLOW_BELOW && sp + OVERFLOW_BELOW >= stack->start && sp < stack->start + 65536;
}

void opd_inquest_begin(opd_crash_info *info, const opd_wreck *wreck)
{
    *info = (opd_crash_info){ .thread = wreck->head.tid,
                              .access = (opd_access)wreck->head.access,
                              .address = wreck->head.address,
                              .index_rank = -1,
                              .threads = wreck->thread_count };
    memcpy(info->limits, wreck->head.limits, sizeof(info->limits));
    for (uint32_t i = 0; i < wreck->thread_count; i++) {
        info->silent += wreck->threads[i].thread.state >= OPD_STACK_WAITING;
    }
    info->is_overflow = is_overflow(wreck);
}

/* In the operand, else beside the nearest. */
void opd_inquest_place(opd_crash_info *info, const opd_call *call)
{
    int64_t nearest = BESIDE;
    for (int i = 0; i < call->operand_count && info->address != 0 && !info->is_overflow; i++) {
        const opd_operand *operand = &call->operands[i];
        int64_t low;
        int64_t high;
        if (operand->address == 0 || opd_tensor_count(&operand->view) == 0) {
            continue;
        }
        opd_tensor_span(&operand->view, &low, &high);
        uint64_t start = operand->address + (uint64_t)low;
        uint64_t end = operand->address + (uint64_t)high;
        bool is_before = info->address < start;
        bool is_in = !is_before && info->address < end;
        uint64_t far = is_in ? 0 : is_before ? start - info->address : info->address - end;
        if (far >= (uint64_t)nearest) {
            continue;
        }
        nearest = (int64_t)far;
        info->place = is_in ? OPD_PLACE_IN : is_before ? OPD_PLACE_BEFORE : OPD_PLACE_AFTER;
        info->distance = is_in ? (int64_t)(info->address - start) : (int64_t)far;
        info->index_rank = is_in ? operand->view.rank : -1;
        snprintf(info->operand, sizeof(info->operand), "%s", operand->name);
        if (is_in) {
            opd_window_index(info->index, &operand->view, info->distance);
            return;
        }
    }
}

/* "C[3, 100]" for an address inside, else how far it is. */
static void say_place(char *text, size_t size, const opd_crash_info *info)
{
    if (info->place != OPD_PLACE_IN) {
        bool is_before = info->place == OPD_PLACE_BEFORE;
        snprintf(text, size, "%lld byte%s %s %s", (long long)info->distance, info->distance == 1 ? "" : "s",
                 is_before ? "before" : "past the end of", info->operand);
        return;
    }
    size_t used = (size_t)snprintf(text, size, "at %s[", info->operand);
    for (int i = 0; i < info->index_rank && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i > 0 ? ", " : "", (long long)info->index[i]);
    }
    if (used < size) {
        snprintf(text + used, size - used, "]");
    }
}

void opd_inquest_say(char *text, size_t size, const opd_crash_info *info, const opd_failure *failure)
{
    char place[OPD_NAME + 24 * OPD_MAX_RANK] = "";
    const char *access = opd_access_name(info->access);
    size_t used = 0;
    text[0] = '\0';
    if (info->is_overflow) {
        used = (size_t)snprintf(text, size, ": the stack of the thread is full");
    } else if (info->place != OPD_PLACE_NOWHERE) {
        say_place(place, sizeof(place), info);
        used = (size_t)snprintf(text, size, ", %s%s%s", access, access[0] != '\0' ? " " : "", place);
    } else if (access[0] != '\0') {
        used = (size_t)snprintf(text, size, ", %s", access);
    }
    if (info->thread != failure->thread && failure->call_number != 0 && used < size) {
        snprintf(text + used, size - used, "; in thread %u, which worked for the call", info->thread);
    }
}

void opd_inquest_survived(opd_failure *failure, const opd_crash_info *info, const opd_shared_trigger *trigger,
                          opd_watched *watched)
{
    const opd_process *process = watched->process;
    const char *name = "?";
    char path[sizeof(process->modules[0].path)];
    failure->fault_address = trigger->address;
    failure->pc = trigger->pc;
    for (uint32_t i = 0; i < OPD_PROCESS_MODULES && i < atomic_load(&process->module_count); i++) {
        const opd_shared_module *module = &process->modules[i];
        if (atomic_load(&module->is_ready) != 0 && trigger->pc >= module->start && trigger->pc < module->end) {
            snprintf(path, sizeof(path), "%.511s", module->path);
            opd_object_symbol(failure->pc_symbol, sizeof(failure->pc_symbol), path, module->start, trigger->pc);
            name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
        }
    }
    size_t size = sizeof(failure->reason);
    size_t used = strlen(failure->reason);
    used += (size_t)snprintf(
        failure->reason + used, size - used, ", which the program survived, at address 0x%llx, in %s of %s",
        (unsigned long long)trigger->address, failure->pc_symbol[0] != '\0' ? failure->pc_symbol : "?", name);
    if (used < size) {
        opd_inquest_say(failure->reason + used, size - used, info, failure);
    }
}

/* The innermost call that a thread had begun. */
static uint64_t call_of(opd_watched *watched, uint32_t tid, opd_ring_record *scratch)
{
    opd_process *process = watched->process;
    uint32_t used = atomic_load(&process->slots_used);
    for (uint32_t i = 0; i < used && i < OPD_PROCESS_THREADS; i++) {
        const opd_slot *slot = opd_session_slot(process, i);
        if (slot == NULL || slot->tid != tid || slot->depth == 0 || slot->depth > OPD_OPEN_DEPTH) {
            continue;
        }
        uint64_t position = slot->open[slot->depth - 1].position;
        if (position != OPD_NO_LIMIT && opd_ring_read(&process->slots[i], &position, scratch) == OPD_RING_RECORD &&
            (uint32_t)scratch->word[OPD_R_WHO] == tid) {
            return scratch->word[OPD_R_NUMBER];
        }
    }
    return 0;
}

/* Numbers in the bundle of the wreck's objects that hold code. */
static opd_status put_modules(uint32_t *numbers, opd_writer *writer, const opd_wreck *wreck)
{
    opd_status status = OPD_OK;
    for (size_t i = 0; status == OPD_OK && i < wreck->mapping_count; i++) {
        uint32_t number = wreck->mappings[i].object;
        if (number == 0 || !wreck->mappings[i].is_code || numbers[number] != 0) {
            continue;
        }
        const opd_wrecked_object *object = &wreck->objects[number - 1];
        opd_module module = { .start = object->start, .end = object->end };
        snprintf(module.path, sizeof(module.path), "%s", object->path);
        opd_object_build_id(module.build_id, sizeof(module.build_id), object->path);
        status = opd_writer_module(writer, &numbers[number], &module);
    }
    return status;
}

static opd_status put_stacks(opd_writer *writer, const uint32_t *numbers, const opd_wreck *wreck, opd_watched *watched,
                             opd_ring_record *scratch)
{
    opd_unwinder *unwinder = NULL;
    opd_frame *frames = NULL;
    opd_status status = opd_alloc_array((void **)&frames, OPD_FRAMES, sizeof(*frames));
    if (status == OPD_OK && opd_unwinder_open(&unwinder, wreck) != OPD_OK) {
        unwinder = NULL; /* registers and states are of use without frames */
    }
    for (uint32_t i = 0; status == OPD_OK && i < wreck->thread_count; i++) {
        const opd_wrecked_thread *from = &wreck->threads[i];
        opd_stack stack = { .thread = from->thread.tid,
                            .state = (opd_stack_state)from->thread.state,
                            .call_number = call_of(watched, from->thread.tid, scratch),
                            .frames = frames };
        snprintf(stack.name, sizeof(stack.name), "%s", from->thread.name);
        memcpy(stack.registers, from->thread.registers, sizeof(stack.registers));
        stack.frame_count = unwinder != NULL ? opd_unwind(frames, &stack.is_cut, unwinder, from) : 0;
        for (uint32_t k = 0; k < stack.frame_count; k++) {
            frames[k].module = numbers[frames[k].module];
        }
        status = opd_writer_stack(writer, &stack);
    }
    opd_unwinder_close(unwinder);
    opd_free(frames);
    return status;
}

opd_status opd_inquest_put(opd_writer *writer, const opd_crash_info *info, const opd_wreck *wreck, opd_watched *watched,
                           opd_ring_record *scratch)
{
    uint32_t *numbers = NULL;
    opd_status status = opd_alloc_array((void **)&numbers, wreck->object_count + 1, sizeof(*numbers));
    if (status == OPD_OK) {
        status = put_modules(numbers, writer, wreck);
    }
    if (status == OPD_OK) {
        status = put_stacks(writer, numbers, wreck, watched, scratch);
    }
    if (status == OPD_OK) {
        status = opd_writer_crash(writer, info);
    }
    opd_free(numbers);
    return status;
}
