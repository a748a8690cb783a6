/* SPDX-License-Identifier: Apache-2.0 */
/* The record of an execution: the words packed when the primitive was made, with the addresses of this time. */
#include "dnnl_primitives.h"

#include "calls.h"
#include "capture.h"
#include "counts.h"
#include "here.h"
#include "packed.h"

static void *address_of(const opd_dnnl_execution *execution, int operand)
{
    const opd_dnnl_primitive *primitive = execution->primitive;
    const dnnl_exec_arg_t *args = execution->args;
    void *handle = NULL;
    if ((primitive->fixed_bits >> operand & 1) != 0) {
        return (void *)(uintptr_t)primitive->fixed[operand];
    }
    for (int i = 0; i < execution->count; i++) {
        if (args[i].arg == primitive->args[operand]) {
            bool is_there = args[i].memory != NULL &&
                            primitive->library->memory_handle(args[i].memory, &handle) == dnnl_success &&
                            handle != NULL;
            return is_there ? (uint8_t *)handle + primitive->starts[operand] : NULL;
        }
    }
    return NULL;
}

static void write_record(opd_slot *slot, const opd_open_call *open, uint32_t size, const opd_dnnl_execution *execution,
                         void *const *addresses)
{
    const opd_dnnl_primitive *primitive = execution->primitive;
    uint64_t position = open->position;
    _Atomic uint64_t *record = opd_ring_at(slot, position);
    bool has_data = (open->flags & OPD_OPEN_DATA) != 0;
    uint64_t modules = execution->target->modules | (uint64_t)opd_here_mxcsr() << 48;
    if (slot->depth > 1) {
        modules |= (uint64_t)OPD_CALL_NESTED << 32;
    }
    opd_ring_put(record, OPD_R_HEAD,
                 opd_ring_head_word(size, OPD_RECORD_PACKED, slot->depth - 1, primitive->word_count,
                                    has_data ? primitive->operand_count : 0, 0));
    opd_ring_put(record, OPD_R_STATE, has_data ? OPD_STATE_PUBLISHED : OPD_STATE_SUBMITTED);
    opd_ring_put(record, OPD_R_NUMBER, slot->number);
    opd_ring_put(record, OPD_R_WHO, (uint64_t)slot->tid | (uint64_t)has_data << 48);
    opd_ring_put(record, OPD_R_MODULES, modules);
    opd_ring_put(record, OPD_R_END, 0);
    opd_ring_put(record, OPD_R_SEED, slot->seed);
    opd_ring_put(record, OPD_R_ADDRESS, (uint64_t)(uintptr_t)execution->return_address);
    for (uint32_t i = 0; i < primitive->word_count; i++) {
        opd_ring_put(record, OPD_R_WORDS + i, primitive->words[i]);
    }
    for (uint32_t i = 0; i < primitive->operand_count; i++) {
        opd_ring_put(record, OPD_R_WORDS + primitive->address_at[i], (uint64_t)(uintptr_t)addresses[i]);
    }
    opd_ring_put(record, OPD_R_BEGIN, opd_here_ticks());
}

static void capture_operands(opd_slot *slot, opd_open_call *open, const opd_dnnl_primitive *primitive,
                             void *const *addresses)
{
    opd_call *call = &slot->scratch;
    if (!opd_unpack_call(call, primitive->words, primitive->word_count)) {
        open->flags &= ~(uint32_t)OPD_OPEN_DATA;
        return;
    }
    call->op = primitive->op;
    for (int i = 0; i < primitive->operand_count && i < call->operand_count; i++) {
        call->operands[i].view.data = addresses[i];
        call->operands[i].address = (uint64_t)(uintptr_t)addresses[i];
    }
    opd_capture_before(slot, open, call);
}

void opd_dnnl_begin(opd_wrapped *frame, const opd_site *site, const opd_dnnl_execution *execution)
{
    const opd_dnnl_primitive *primitive = execution->primitive;
    const opd_control *control = opd_recorder.control;
    opd_slot *slot = opd_here_slot();
    uint64_t place = (uint64_t)(uintptr_t)frame;
    void *addresses[OPD_MAX_OPERANDS]; /* as many as it has operands are set */
    frame->slot = NULL;
    if (slot == NULL || primitive->word_count == 0 || !primitive->is_watched || !opd_calls_enter(slot, place)) {
        return;
    }
    opd_open_call *open = opd_calls_push(slot, place, OPD_CALLER_PROGRAM);
    if (open == NULL || !opd_calls_in_range(control, slot->number)) {
        opd_calls_leave(slot, open);
        return;
    }
    frame->slot = slot;
    frame->site = site;
    frame->depth = slot->depth - 1;
    bool is_inner = frame->depth > 0 && (slot->open[frame->depth - 1].flags & OPD_OPEN_BLAS) != 0;
    open->flags = OPD_OPEN_BLAS;
    const bool is_counting = control->capture == OPD_CAPTURE_COUNTS;
    if (is_counting && !opd_counts_begin(slot, open, opd_counts_base(slot, primitive->kind),
                                         opd_mix((uint64_t)(uintptr_t)primitive->op, 2), NULL)) {
        atomic_signal_fence(memory_order_seq_cst);
        slot->busy = 0;
        return;
    }
    if (!is_inner && opd_capture_wants(control, slot->number)) {
        open->flags |= OPD_OPEN_DATA;
    }
    for (int i = 0; i < primitive->operand_count; i++) {
        addresses[i] = address_of(execution, i);
    }
    uint32_t size = OPD_R_WORDS + primitive->word_count;
    if ((open->flags & OPD_OPEN_DATA) != 0) {
        open->parts = size;
        size += primitive->operand_count * (uint32_t)OPD_PART_WORDS;
    }
    if (opd_calls_reserve(slot, &open->position, size)) {
        uint64_t at = open->position;
        write_record(slot, open, size, execution, addresses);
        opd_ring_publish(slot, at, size);
        if ((open->flags & OPD_OPEN_DATA) != 0) {
            capture_operands(slot, open, primitive, addresses);
            opd_ring_set(slot, at + OPD_R_BEGIN, opd_here_ticks());
            opd_ring_state(slot, at, OPD_STATE_SUBMITTED);
        }
        if (is_counting) {
            opd_counts_recorded(slot, open->parts);
        }
    }
    atomic_signal_fence(memory_order_seq_cst);
    slot->busy = 0;
}
