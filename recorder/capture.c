/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading operands. What the routine must read is scanned where it lies. What it must not read, spans that are mostly
 * gaps, and operands of invalid calls may not be mapped at all: the kernel fetches them, piece by piece, and says so.
 * Allocates nothing and keeps its stack small: it runs on the caller's thread.
 */
#include "capture.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "crash.h"
#include "firsts.h"
#include "guarded.h"
#include "known.h"
#include "trigger.h"

#define GAPPY_SPAN     ((uint64_t)1 << 30) /* a span this long that is mostly gaps is fetched */
#define UNGUARDED_SPAN UINT64_C(65536) /* as long as this when the program handles faults: its gaps may be no memory */
#define FETCH_PIECES   32              /* extents of one system call */
#define FETCH_EXTENTS  ((int64_t)1 << 20) /* more extents than this are not fetched */

/* ----------------------------------------------------------------------------------------------- the kernel's way */

typedef struct fetching {
    struct iovec pieces[FETCH_PIECES];
    unsigned count;
    size_t bytes; /* of pieces */
    uint8_t *dst;
} fetching;

static bool flush_pieces(fetching *fetch)
{
    if (fetch->count == 0) {
        return true;
    }
    struct iovec local = { fetch->dst, fetch->bytes };
    ssize_t got = process_vm_readv(opd_recorder.pid, &local, 1, fetch->pieces, fetch->count, 0);
    bool is_whole = got == (ssize_t)fetch->bytes;
    fetch->dst += fetch->bytes;
    fetch->count = 0;
    fetch->bytes = 0;
    return is_whole;
}

static bool add_piece(fetching *fetch, const uint8_t *start, size_t bytes)
{
    fetch->pieces[fetch->count++] = (struct iovec){ (void *)(uintptr_t)start, bytes };
    fetch->bytes += bytes;
    return fetch->count < FETCH_PIECES || flush_pieces(fetch);
}

/* Copies the existing elements to dst in walk order; false when some cannot be read. */
static bool fetch_elements(const opd_tensor *view, void *dst)
{
    fetching fetch = { .dst = dst };
    int64_t size = (int64_t)opd_dtype_size(view->dtype);
    opd_runs runs;
    opd_run run;
    int saved = errno;
    bool is_good = true;
    int64_t extents = 0;
    opd_runs_begin(&runs, view);
    while (is_good && opd_runs_next(&runs, &run)) {
        const uint8_t *start = (const uint8_t *)view->data + run.offset;
        bool is_dense = run.step == size;
        int64_t pieces = is_dense ? 1 : run.count;
        extents += pieces;
        is_good = extents <= FETCH_EXTENTS;
        for (int64_t i = 0; is_good && i < pieces; i++) {
            is_good = add_piece(&fetch, start + i * run.step, (size_t)(is_dense ? run.count * size : size));
        }
    }
    is_good = is_good && flush_pieces(&fetch);
    errno = saved;
    return is_good;
}

/* --------------------------------------------------------------------------------------------------- one operand */

static bool is_mostly_gaps(const opd_tensor *view, uint64_t least)
{
    int64_t low;
    int64_t high;
    opd_tensor_span(view, &low, &high);
    uint64_t span = (uint64_t)(high - low);
    return span > least && opd_tensor_packed_bytes(view) < span / 2;
}

static bool keeps_inputs(const opd_open_call *open)
{
    return opd_recorder.control->capture >= OPD_CAPTURE_INPUTS || (open->flags & OPD_OPEN_VERIFY) != 0;
}

/* Are statistics of a sample enough? An operand that is no larger than one is read as ever. */
static bool is_sampled(const opd_open_call *open, const opd_tensor *view)
{
    return opd_recorder.control->samples_stats != 0 && (open->flags & OPD_OPEN_VERIFY) == 0 &&
           opd_tensor_existing(view) > OPD_SAMPLE_FIRST + OPD_SAMPLE_RANDOM;
}

/* Statistics of a sample, another one in each call; false: it cannot be read. */
static bool take_sample(const opd_slot *slot, const opd_tensor *view, opd_operand_part *part, opd_health *health)
{
    bool is_part = false;
    uint64_t seed = slot->number ^ (uint64_t)slot->tid << 40 ^ (uint64_t)(uintptr_t)view->data;
    if (!opd_guarded_sample(view, seed, &is_part, health)) {
        *health = (opd_health){ 0 };
        return false;
    }
    part->flags |= OPD_OPERAND_HAS_HEALTH | (is_part ? OPD_OPERAND_SAMPLED : 0);
    return true;
}

/* Content that the kernel fetched for us: kept, digested and summed up from the copy. */
static void take_fetched(opd_slot *slot, const opd_open_call *open, const opd_tensor *view, opd_operand_part *part)
{
    opd_process *process = opd_recorder.process;
    uint64_t bytes = opd_tensor_packed_bytes(view);
    void *copy = opd_arena_take(process, slot, bytes, &part->place_before, opd_here_populate);
    if (copy == NULL) {
        part->flags |= OPD_OPERAND_NOT_KEPT;
        return;
    }
    if (fetch_elements(view, copy)) {
        opd_tensor packed;
        int64_t count = (int64_t)(bytes / opd_dtype_size(view->dtype));
        part->before = opd_packed_digest(view, copy);
        if (opd_tensor_contiguous(&packed, view->dtype, 1, &count, copy) == OPD_OK) {
            opd_tensor_health(&part->health_before, &packed);
            part->flags |= OPD_OPERAND_HAS_HEALTH;
        }
    } else {
        part->flags |= OPD_OPERAND_UNREADABLE;
    }
    opd_arena_release(process, slot);
    if ((part->flags & OPD_OPERAND_UNREADABLE) != 0 || !keeps_inputs(open)) {
        part->place_before.bytes = 0;
    }
}

/* Could a routine that reads it nevertheless make a trigger fire by what is in it? */
static bool is_telling(const opd_tensor *view, const opd_health *health)
{
    const opd_control *control = opd_recorder.control;
    double size = health->max > -health->min ? health->max : -health->min;
    bool may_overflow =
        size > 1 && size > opd_dtype_largest(view->dtype) / size; /* products of smaller ones stay finite */
    bool has_limit = (control->triggers & opd_trigger_bit(OPD_OUTCOME_MAGNITUDE)) != 0;
    return health->nan + health->pos_inf + health->neg_inf > 0 || may_overflow ||
           (has_limit && size > control->magnitude / 2);
}

/*
 * An output's old content, which the routine does not read if it is right. It is kept only if it can be what a failure comes from: elsewhere replay
 * has NaN of its own there, which tell a routine that reads them. false: the kernel is to fetch it.
 */
static bool take_unread(const opd_open_call *open, const opd_operand *operand, opd_operand_part *part)
{
    const opd_control *control = opd_recorder.control;
    bool is_wanted = (open->flags & OPD_OPEN_VERIFY) != 0 || control->capture == OPD_CAPTURE_FULL ||
                     (control->triggers & OPD_TRIGGER_ALWAYS) != 0;
    /* What the routine does not write either may be no memory, and no fault is to be met there. */
    if (is_wanted || opd_crash_guards == 0 || (operand->role & OPD_ROLE_OUT) == 0) {
        return false;
    }
    if (!opd_guarded_scan(&operand->view, NULL, NULL, &part->health_before)) {
        part->flags |= OPD_OPERAND_UNREADABLE;
        part->health_before = (opd_health){ 0 };
        return true;
    }
    if (opd_dtype_largest(operand->view.dtype) > 0 && is_telling(&operand->view, &part->health_before)) {
        return false;
    }
    part->flags |= OPD_OPERAND_HAS_HEALTH;
    return true;
}

/* Content that the routine is about to read as well. */
static void take_plain(opd_slot *slot, const opd_open_call *open, const opd_tensor *view, opd_operand_part *part)
{
    opd_process *process = opd_recorder.process;
    void *copy = NULL;
    opd_sighting sighting;
    bool is_verified = (open->flags & OPD_OPEN_VERIFY) != 0; /* has a copy of its own, whatever is known */
    if (!is_verified && opd_known_take(&sighting, view, part)) {
        return;
    }
    if (keeps_inputs(open)) {
        copy = opd_arena_take(process, slot, opd_tensor_packed_bytes(view), &part->place_before, opd_here_populate);
        part->flags |= copy == NULL ? OPD_OPERAND_NOT_KEPT : 0;
    }
    bool is_mapped = opd_guarded_scan(view, copy, &part->before, &part->health_before);
    if (is_mapped) {
        part->flags |= OPD_OPERAND_HAS_HEALTH;
    } else {
        part->flags |= OPD_OPERAND_UNREADABLE;
        part->place_before.bytes = 0;
        part->before = (opd_digest){ { 0 } };
        part->health_before = (opd_health){ 0 };
    }
    opd_place lap = part->place_before;
    bool is_kept = is_mapped && !is_verified && opd_known_note(&sighting, part, copy);
    if (copy != NULL) {
        opd_arena_release(process, slot);
    }
    if (is_kept) {
        opd_arena_return(slot, &lap);
    }
}

static void write_part(opd_slot *slot, uint64_t at, const opd_operand_part *part)
{
    uint64_t words[OPD_PART_WORDS];
    memcpy(words, part, sizeof(words));
    for (size_t i = 0; i < OPD_PART_WORDS; i++) {
        opd_ring_set(slot, at + i, words[i]);
    }
}

static void read_part(opd_slot *slot, uint64_t at, opd_operand_part *part)
{
    uint64_t words[OPD_PART_WORDS];
    for (size_t i = 0; i < OPD_PART_WORDS; i++) {
        words[i] = opd_ring_get(slot, at + i);
    }
    memcpy(part, words, sizeof(words));
}

static uint64_t part_position(const opd_open_call *open, int index)
{
    return open->position + open->parts + (uint64_t)index * OPD_PART_WORDS;
}

/* Is NaN or Inf among the scalars? They are inputs like any operand. */
static void note_scalars(opd_open_call *open, const opd_call *call)
{
    for (int i = 0; i < call->attr_count; i++) {
        const opd_value *value = &call->attrs[i];
        if (value->kind == OPD_VALUE_REAL || value->kind == OPD_VALUE_COMPLEX) {
            double im = value->kind == OPD_VALUE_COMPLEX ? value->im : 0;
            open->flags |= isnan(value->re) || isnan(im) ? OPD_OPEN_HAD_NAN : 0;
            open->flags |= isinf(value->re) || isinf(im) ? OPD_OPEN_HAD_INF : 0;
        }
    }
}

static void note_health(opd_open_call *open, const opd_health *health)
{
    open->flags |= health->nan > 0 ? OPD_OPEN_HAD_NAN : 0;
    open->flags |= health->pos_inf + health->neg_inf > 0 ? OPD_OPEN_HAD_INF : 0;
}

/* A part that says no more than what the contract says. */
static void write_bare_parts(opd_slot *slot, const opd_open_call *open, const opd_call *call)
{
    for (int i = 0; i < call->operand_count; i++) {
        /* Whether a result is there is known when it has been made. */
        opd_operand_part part = { .flags = call->operands[i].flags & ~(uint32_t)OPD_OPERAND_ABSENT };
        write_part(slot, part_position(open, i), &part);
    }
}

static void read_operand(opd_slot *slot, opd_open_call *open, const opd_operand *operand, opd_operand_part *part)
{
    bool is_input = (operand->role & OPD_ROLE_IN) != 0;
    bool has_memory = (operand->flags & (OPD_OPERAND_RETURNED | OPD_OPERAND_FRESH)) == 0;
    if (!has_memory || opd_tensor_check(&operand->view) != OPD_OK || opd_tensor_existing(&operand->view) <= 0) {
        return;
    }
    bool must_read = is_input && (operand->flags & OPD_OPERAND_MUST_NOT_READ) == 0;
    part->flags |= must_read ? 0 : OPD_OPERAND_MUST_NOT_READ;
    bool has_gaps = is_mostly_gaps(&operand->view, opd_crash_guards != 0 ? GAPPY_SPAN : UNGUARDED_SPAN);
    bool is_invalid = (open->flags & OPD_OPEN_BAD_ARGS) != 0;
    if (is_sampled(open, &operand->view) && !is_invalid && operand->view.data != NULL) {
        bool is_read = must_read && take_sample(slot, &operand->view, part, &part->health_before);
        part->flags |= must_read && !is_read ? OPD_OPERAND_UNREADABLE : 0;
    } else if (is_invalid || operand->view.data == NULL || has_gaps ||
               (!must_read && !take_unread(open, operand, part))) {
        take_fetched(slot, open, &operand->view, part);
    } else if (must_read) {
        take_plain(slot, open, &operand->view, part);
    }
    if (must_read && (operand->flags & OPD_OPERAND_STATE) == 0) {
        note_health(open, &part->health_before);
    }
}

void opd_capture_before(opd_slot *slot, opd_open_call *open, const opd_call *call)
{
    const opd_control *control = opd_recorder.control;
    slot->pending.outcome = OPD_OUTCOME_OK;
    bool is_judged = (open->flags & OPD_OPEN_BAD_ARGS) != 0; /* a failure whatever is in its operands */
    bool is_verified = opd_verify_wants(control, slot->tid, slot->number) && !is_judged;
    open->flags |= is_verified ? OPD_OPEN_VERIFY : 0;
    if (control->first != 0 && !is_judged && !is_verified && !opd_firsts_wants(call, control->first)) {
        write_bare_parts(slot, open, call);
        open->flags &= ~(uint32_t)OPD_OPEN_DATA;
        return;
    }
    note_scalars(open, call);
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand_part part = { .flags = call->operands[i].flags & ~(uint32_t)OPD_OPERAND_ABSENT };
        read_operand(slot, open, &call->operands[i], &part);
        write_part(slot, part_position(open, i), &part);
    }
    uint64_t now = opd_here_ticks();
    opd_allowance_spend(slot, now - opd_ring_get(slot, open->position + OPD_R_BEGIN), now, false);
}

/* ----------------------------------------------------------------------------------------------------- on return */

/* Remembers the first thing that this call's return triggers. */
static void set_pending(opd_slot *slot, const opd_open_call *open, opd_outcome outcome, int operand)
{
    if (slot->pending.outcome != OPD_OUTCOME_OK || (opd_recorder.control->triggers & opd_trigger_bit(outcome)) == 0) {
        return;
    }
    slot->pending = (opd_shared_trigger){
        .outcome = outcome,
        .tid = slot->tid,
        .slot = (uint32_t)(slot - opd_recorder.process->slots),
        .operand = operand,
        .number = opd_ring_get(slot, open->position + OPD_R_NUMBER),
        .position = open->position,
        .ticks = opd_ring_get(slot, open->position + OPD_R_END),
        .element = -1,
    };
}

static void judge_health(opd_slot *slot, const opd_open_call *open, int index, const opd_health *health)
{
    uint64_t inf = health->pos_inf + health->neg_inf;
    bool had_nan = (open->flags & OPD_OPEN_HAD_NAN) != 0;
    bool had_inf = (open->flags & OPD_OPEN_HAD_INF) != 0;
    if (slot->pending.outcome != OPD_OUTCOME_OK) {
        return;
    }
    if (health->nan > 0 && !had_nan) {
        set_pending(slot, open, OPD_OUTCOME_NAN_BORN, index);
        slot->pending.element = health->first_nan;
        slot->pending.bad_count = health->nan;
    }
    if (inf > 0 && !had_inf && !had_nan && slot->pending.outcome == OPD_OUTCOME_OK) {
        set_pending(slot, open, OPD_OUTCOME_INF_BORN, index);
        slot->pending.element = health->first_inf;
        slot->pending.bad_count = inf;
    }
    double limit = opd_recorder.control->magnitude;
    if (slot->pending.outcome == OPD_OUTCOME_OK && (health->max > limit || health->min < -limit) &&
        health->min <= health->max) {
        set_pending(slot, open, OPD_OUTCOME_MAGNITUDE, index);
    }
}

static void scan_output(opd_slot *slot, const opd_open_call *open, const opd_tensor *view, int index)
{
    opd_operand_part part;
    read_part(slot, part_position(open, index), &part);
    opd_process *process = opd_recorder.process;
    void *copy = NULL;
    if (is_sampled(open, view)) {
        if (take_sample(slot, view, &part, &part.health_after)) {
            part.flags |= OPD_PART_HAS_AFTER;
            write_part(slot, part_position(open, index), &part);
            judge_health(slot, open, index, &part.health_after);
        }
        return;
    }
    if (opd_recorder.control->capture == OPD_CAPTURE_FULL || (open->flags & OPD_OPEN_VERIFY) != 0) {
        copy = opd_arena_take(process, slot, opd_tensor_packed_bytes(view), &part.place_after, opd_here_populate);
    }
    bool is_mapped = opd_guarded_scan(view, copy, &part.after, &part.health_after);
    if (copy != NULL) {
        opd_arena_release(process, slot);
    }
    if (!is_mapped) { /* the routine had nothing to write there */
        return;
    }
    part.flags |= OPD_PART_HAS_AFTER | OPD_OPERAND_HAS_HEALTH;
    write_part(slot, part_position(open, index), &part);
    judge_health(slot, open, index, &part.health_after);
}

/* At level full an input is digested again: the call may not have changed it. */
static void check_input(opd_slot *slot, const opd_open_call *open, const opd_tensor *view, int index)
{
    opd_operand_part part;
    read_part(slot, part_position(open, index), &part);
    if (opd_digest_is_none(&part.before) || (part.flags & OPD_OPERAND_MUST_NOT_READ) != 0) {
        return;
    }
    if (!opd_guarded_scan(view, NULL, &part.after, NULL)) {
        return;
    }
    part.flags |= OPD_PART_HAS_AFTER;
    write_part(slot, part_position(open, index), &part);
    if (!opd_digest_equal(&part.before, &part.after)) {
        set_pending(slot, open, OPD_OUTCOME_INPUT_MUTATED, index);
    }
}

/* The outputs of a failing call are kept at every level that keeps inputs. */
static void keep_output(opd_slot *slot, const opd_open_call *open, const opd_tensor *view, int index)
{
    opd_operand_part part;
    read_part(slot, part_position(open, index), &part);
    if (part.place_after.bytes != 0 || (part.flags & OPD_PART_HAS_AFTER) == 0) {
        return;
    }
    opd_process *process = opd_recorder.process;
    void *copy = opd_arena_take(process, slot, opd_tensor_packed_bytes(view), &part.place_after, opd_here_populate);
    if (copy != NULL) {
        bool is_mapped = opd_guarded_scan(view, copy, &part.after, NULL);
        opd_arena_release(process, slot);
        part.place_after.bytes = is_mapped ? part.place_after.bytes : 0;
        write_part(slot, part_position(open, index), &part);
    }
}

/* The view of an output; false when there is nothing to read. A returned value lies in the wrapper's frame. */
static bool output_view(opd_tensor *view, const opd_operand *operand, const void *result)
{
    *view = operand->view;
    if ((operand->flags & OPD_OPERAND_RETURNED) != 0) {
        view->data = (void *)(uintptr_t)result;
    }
    return view->data != NULL && opd_tensor_check(view) == OPD_OK && opd_tensor_existing(view) > 0 &&
           !is_mostly_gaps(view, GAPPY_SPAN);
}

/* Is the operand's memory an output's too, by contract? Then the call may change it. */
static bool is_rewritten(const opd_call *call, int index)
{
    for (int i = 0; i < call->operand_count; i++) {
        if ((call->operands[i].role & OPD_ROLE_OUT) != 0 && opd_call_shared(call, i) == index) {
            return true;
        }
    }
    return false;
}

static void look_at_outputs(opd_slot *slot, opd_open_call *open, const opd_call *call, const void *result)
{
    const opd_control *control = opd_recorder.control;
    opd_tensor view;
    if ((open->flags & OPD_OPEN_BAD_ARGS) != 0) {
        set_pending(slot, open, OPD_OUTCOME_BAD_ARGS, -1);
        memcpy(slot->pending.reason, slot->reason, sizeof(slot->pending.reason));
        memcpy(slot->pending.routine, call->name, sizeof(slot->pending.routine));
        return;
    }
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        if (!output_view(&view, operand, result)) {
            continue;
        }
        if ((operand->role & OPD_ROLE_OUT) != 0) {
            scan_output(slot, open, &view, i);
        } else if (control->capture == OPD_CAPTURE_FULL && !is_rewritten(call, i)) {
            check_input(slot, open, &view, i);
        }
    }
    if ((control->triggers & OPD_TRIGGER_ALWAYS) != 0) {
        set_pending(slot, open, OPD_OUTCOME_REQUESTED, -1);
    }
    if (slot->pending.outcome != OPD_OUTCOME_OK && slot->pending.outcome != OPD_OUTCOME_REQUESTED) {
        memcpy(slot->pending.routine, call->name, sizeof(slot->pending.routine));
    }
    for (int i = 0; slot->pending.outcome != OPD_OUTCOME_OK && keeps_inputs(open) && i < call->operand_count; i++) {
        if ((call->operands[i].role & OPD_ROLE_OUT) != 0 && output_view(&view, &call->operands[i], result)) {
            keep_output(slot, open, &view, i);
        }
    }
}

void opd_capture_after(opd_slot *slot, opd_open_call *open, const opd_call *call, const void *result)
{
    look_at_outputs(slot, open, call, result);
    uint64_t now = opd_here_ticks();
    opd_allowance_spend(slot, now - opd_ring_get(slot, open->position + OPD_R_END), now, true);
}
