/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings of a case: placement against inaccessible pages, canaries, restoring and the search for stray writes. */
#include <string.h>
#include <sys/mman.h>

#include "arena.h"
#include "canary.h"

#define ZONE_BYTES ((uint64_t)4 << 20) /* inaccessible, on either side */
#define SLACK_BYTES \
    ((uint64_t)16 << 10) /* without guards: accessible canaries on either side, as a heap would have neighbours */
#define SPARSE_SPAN ((uint64_t)64 << 20) /* spans up to this are always filled */
#define SPAN_LIMIT  ((uint64_t)1 << 45)

static uint64_t page_up(uint64_t value)
{
    return (value + OPD_JOB_PAGE - 1) & ~(uint64_t)(OPD_JOB_PAGE - 1);
}

static bool is_output(const opd_call *call, int operand)
{
    return (call->operands[operand].role & OPD_ROLE_OUT) != 0;
}

static bool is_mapped(const opd_job_operand *slot)
{
    return slot->place != OPD_PLACE_NULL && slot->place != OPD_PLACE_RETURNED;
}

/* Bytes that operands of a group span, what they hold, and whether they are reserved only. */
typedef struct group_plan {
    uint64_t span, held;
    uint64_t page_offset; /* recorded place of the lowest byte in its page */
    bool is_used, is_unreadable;
} group_plan;

static group_plan plan_group(const opd_job *job, int group)
{
    group_plan plan = { .span = 0 };
    for (int i = 0; i < job->call.operand_count; i++) {
        const opd_job_operand *slot = &job->operands[i];
        if (slot->group != group || !is_mapped(slot)) {
            continue;
        }
        uint64_t end = (uint64_t)slot->group_offset + (uint64_t)(slot->high - slot->low);
        plan.span = end > plan.span ? end : plan.span;
        plan.held += slot->before_bytes;
        plan.is_used = true;
        plan.is_unreadable = slot->place == OPD_PLACE_UNREADABLE;
        if (slot->group_offset == 0) {
            plan.page_offset = (slot->address + (uint64_t)slot->low) % OPD_JOB_PAGE;
        }
    }
    return plan;
}

/* Reserves zone + accessible + zone and opens the middle. */
static opd_status map_group(opd_arena_group *group, const group_plan *plan, opd_guard pass)
{
    uint64_t slack = pass == OPD_GUARD_NONE ? SLACK_BYTES : 0;
    uint64_t before = 0; /* bytes of the accessible part in front of the span */
    uint64_t open_bytes = 0;
    if (plan->span > SPAN_LIMIT) {
        return opd_fail(OPD_E_LIMIT, "an operand spans %llu bytes", (unsigned long long)plan->span);
    }
    if (pass == OPD_GUARD_NONE) {
        before = slack + plan->page_offset;
        open_bytes = page_up(before + plan->span) + slack;
    } else {
        open_bytes = plan->span > 0 ? page_up(plan->span) : OPD_JOB_PAGE;
        before = pass == OPD_GUARD_END ? open_bytes - plan->span : 0;
    }
    group->reserve_bytes = ZONE_BYTES + open_bytes + ZONE_BYTES;
    void *reserve = mmap(NULL, group->reserve_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserve == MAP_FAILED) {
        return opd_fail(OPD_E_NOMEM, "cannot reserve %llu bytes for an operand",
                        (unsigned long long)group->reserve_bytes);
    }
    group->reserve = reserve;
    group->map_low = group->reserve + ZONE_BYTES;
    group->map_high = group->map_low + open_bytes;
    group->low = group->map_low + before;
    group->high = group->low + plan->span;
    if (plan->is_unreadable) {
        group->map_high = group->map_low;
        return OPD_OK;
    }
    if (mprotect(group->map_low, open_bytes, PROT_READ | PROT_WRITE) != 0) {
        return opd_fail(OPD_E_NOMEM, "cannot map %llu bytes for an operand", (unsigned long long)open_bytes);
    }
    group->is_sparse = plan->span > SPARSE_SPAN && plan->held < plan->span / 8;
    return OPD_OK;
}

/* Copies the existing elements of view from one base to another; both bases stand for the view's element 0. */
static void copy_existing(uint8_t *to, const uint8_t *from, const opd_tensor *view)
{
    size_t size = opd_dtype_size(view->dtype);
    opd_runs runs;
    opd_run run;
    opd_runs_begin(&runs, view);
    while (opd_runs_next(&runs, &run)) {
        if (run.step == (int64_t)size) {
            memcpy(to + run.offset, from + run.offset, (size_t)run.count * size);
            continue;
        }
        for (int64_t i = 0; i < run.count; i++) {
            memcpy(to + run.offset + i * run.step, from + run.offset + i * run.step, size);
        }
    }
}

static void fill_content(opd_arena *arena, int index)
{
    const opd_job_operand *slot = &arena->job->operands[index];
    const opd_tensor *view = &arena->call->operands[index].view;
    if (slot->place == OPD_PLACE_DATA) {
        opd_tensor_unpack(view, opd_job_at(arena->job, slot->before));
        return;
    }
    if (slot->place != OPD_PLACE_CANARY || arena->groups[slot->group].is_sparse) {
        return;
    }
    size_t size = opd_dtype_size(view->dtype);
    opd_runs runs;
    opd_run run;
    opd_runs_begin(&runs, view);
    while (opd_runs_next(&runs, &run)) {
        for (int64_t i = 0; i < run.count; i++) {
            uint8_t *element = (uint8_t *)view->data + run.offset + i * run.step;
            opd_canary_fill(element, element + size, (uintptr_t)element, view->dtype, index, true);
        }
    }
}

/* Sets view.data, notes the region, and says whether the recorded place within a cache line could be kept. */
static void bind_operand(opd_arena *arena, int index)
{
    opd_job *job = arena->job;
    const opd_job_operand *slot = &job->operands[index];
    opd_operand *operand = &arena->call->operands[index];
    opd_job_region *region = &job->regions[index];
    *region = (opd_job_region){ .low = 0 };
    operand->view.storage = NULL;
    operand->view.storage_bytes = 0;
    operand->view.data = NULL;
    if (slot->place == OPD_PLACE_RETURNED) {
        operand->view.data = arena->returned[index];
    }
    if (!is_mapped(slot)) {
        return;
    }
    const opd_arena_group *group = &arena->groups[slot->group];
    uint8_t *low = group->low + slot->group_offset;
    operand->view.data = low - slot->low;
    operand->view.storage = group->low;
    operand->view.storage_bytes = (uint64_t)(group->high - group->low);
    region->low = (uint64_t)(uintptr_t)low;
    region->high = region->low + (uint64_t)(slot->high - slot->low);
    region->map_low = (uint64_t)(uintptr_t)group->map_low;
    region->map_high = (uint64_t)(uintptr_t)group->map_high;
    region->reserve_low = (uint64_t)(uintptr_t)group->reserve;
    region->reserve_high = region->reserve_low + group->reserve_bytes;
    job->alignment_changed[index] |= (((uint64_t)(uintptr_t)operand->view.data ^ slot->address) & 63) != 0;
}

opd_status opd_arena_build(opd_arena *arena, opd_job *job, opd_call *call, opd_guard pass)
{
    opd_status status = OPD_OK;
    memset(arena, 0, sizeof *arena);
    arena->job = job;
    arena->call = call;
    for (int i = 0; i < OPD_MAX_OPERANDS && status == OPD_OK; i++) {
        group_plan plan = plan_group(job, i);
        if (plan.is_used) {
            status = map_group(&arena->groups[i], &plan, pass);
        }
    }
    if (status != OPD_OK) {
        opd_arena_done(arena);
        return status;
    }
    for (int i = 0; i < call->operand_count; i++) {
        bind_operand(arena, i);
        opd_arena_group *group = &arena->groups[job->operands[i].group];
        if (call->operands[i].view.data != NULL && job->operands[i].group == i && group->reserve != NULL &&
            !group->is_sparse) {
            opd_canary_fill(group->map_low, group->map_high, (uintptr_t)call->operands[i].view.data,
                            call->operands[i].view.dtype, i, false);
        }
    }
    for (int i = 0; i < call->operand_count; i++) { /* where memory is shared, content that counts comes last */
        if (job->operands[i].place == OPD_PLACE_CANARY) {
            fill_content(arena, i);
        }
    }
    for (int i = 0; i < call->operand_count; i++) {
        if (job->operands[i].place == OPD_PLACE_DATA) {
            fill_content(arena, i);
        }
    }
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_arena_group *group = &arena->groups[i];
        size_t bytes = (size_t)(group->map_high - group->map_low);
        if (group->reserve == NULL || group->is_sparse || bytes == 0) {
            continue;
        }
        void *copy = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (copy == MAP_FAILED) {
            opd_arena_done(arena);
            return opd_fail(OPD_E_NOMEM, "cannot map %zu bytes for the copy of an operand", bytes);
        }
        group->pristine = copy;
        memcpy(copy, group->map_low, bytes);
    }
    return OPD_OK;
}

/* Index of the existing element of operand that holds the byte at address; false when it is in none. */
static bool find_element(int64_t *index, const opd_tensor *view, const uint8_t *address)
{
    int64_t count = opd_tensor_count(view);
    int64_t size = (int64_t)opd_dtype_size(view->dtype);
    for (int64_t flat = 0; flat < count; flat++) {
        opd_tensor_unflatten(view, flat, index);
        int64_t from = address - ((uint8_t *)view->data + opd_tensor_offset(view, index));
        if (from >= 0 && from < size && opd_tensor_exists(view, index)) {
            return true;
        }
    }
    return false;
}

/* Writes come in whole elements, of which some bytes may happen to be what they were. */
static int64_t floor_to(int64_t distance, int64_t size)
{
    int64_t rest = distance % size;
    return distance - (rest < 0 ? rest + size : rest);
}

/* Names a changed byte: an input's element, a gap inside an operand, or a distance outside the nearest one. */
static void explain_stray(opd_job_stray *stray, const opd_arena *arena, int group, const uint8_t *at)
{
    uint64_t address = (uint64_t)(uintptr_t)at;
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < arena->call->operand_count; i++) {
        const opd_job_region *region = &arena->job->regions[i];
        if (arena->job->operands[i].group != group || region->map_high == 0) {
            continue;
        }
        bool is_inside = address >= region->low && address < region->high;
        uint64_t away = is_inside ? 0 : address >= region->high ? address - region->high + 1 : region->low - address;
        if (is_inside && !is_output(arena->call, i) && find_element(stray->index, &arena->call->operands[i].view, at)) {
            stray->operand = i;
            stray->is_input = true;
            return;
        }
        if (away < best) {
            best = away;
            stray->operand = i;
            stray->is_gap = is_inside;
            stray->distance = is_inside || address < region->low ? (int64_t)(address - region->low)
                                                                 : (int64_t)(address - region->high);
            stray->distance = floor_to(stray->distance, (int64_t)opd_dtype_size(arena->call->operands[i].view.dtype));
        }
    }
}

static void check_group(opd_arena *arena, int number, opd_job_stray *stray)
{
    opd_arena_group *group = &arena->groups[number];
    size_t bytes = (size_t)(group->map_high - group->map_low);
    if (group->pristine == NULL || memcmp(group->map_low, group->pristine, bytes) == 0) {
        return;
    }
    for (size_t i = 0; i < bytes; i++) {
        if (group->map_low[i] != group->pristine[i]) {
            if (!stray->is_found) {
                stray->is_found = true;
                explain_stray(stray, arena, number, group->map_low + i);
            }
            stray->bytes++;
        }
    }
    memcpy(group->map_low, group->pristine, bytes);
}

void opd_arena_restore(opd_arena *arena, opd_job_stray *stray)
{
    *stray = (opd_job_stray){ .operand = -1 };
    for (int i = 0; i < arena->call->operand_count; i++) {
        const opd_tensor *view = &arena->call->operands[i].view;
        const opd_job_operand *slot = &arena->job->operands[i];
        const opd_arena_group *group = &arena->groups[slot->group];
        if (!is_output(arena->call, i) || !is_mapped(slot) || slot->place == OPD_PLACE_UNREADABLE) {
            continue;
        }
        if (group->pristine != NULL) {
            copy_existing(view->data, group->pristine + ((uint8_t *)view->data - group->map_low), view);
        } else {
            fill_content(arena, i);
        }
    }
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        check_group(arena, i, stray);
    }
}

void opd_arena_done(opd_arena *arena)
{
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_arena_group *group = &arena->groups[i];
        if (group->pristine != NULL) {
            munmap(group->pristine, (size_t)(group->map_high - group->map_low));
        }
        if (group->reserve != NULL) {
            munmap(group->reserve, group->reserve_bytes);
        }
        *group = (opd_arena_group){ .reserve = NULL };
    }
}
