/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cases: operands of one call laid out in memory as they lay in the recorded process. A layout assigns every operand a
 * block and an offset; blocks are then made, filled with the canary, and the elements put in.
 */
#include "case.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "reader.h"

#define PAGE       4096u
#define CACHE_LINE 64u
/* A block of this size that is mostly gaps is mapped sparse. */
#define SPARSE_BYTES ((uint64_t)256 << 20)
#define SPARSE_RATIO 4
/* Each range of pages opened may take a mapping of its own; a process has 65530. */
#define SPARSE_RANGES_MAX 8192

static bool is_materialised(const opd_operand *operand)
{
    return operand->view.dtype != OPD_DTYPE_NONE;
}

/* ---------------------------------------------------------------------------------------------------- layout */

bool case_has_range(uint64_t *low, uint64_t *high, const opd_operand *operand)
{
    int64_t first = 0;
    int64_t last = 0;

    if (operand->address == 0 || !is_materialised(operand)) {
        return false;
    }
    opd_tensor_span(&operand->view, &first, &last);
    uint64_t a = operand->address + (uint64_t)first;
    uint64_t b = operand->address + (uint64_t)last;
    if ((first < 0 && a > operand->address) || (last > 0 && b < operand->address) || a >= b) {
        return false;
    }
    *low = a;
    *high = b;
    return true;
}

/* Puts operands i and k into the lower of their groups; false when they are in one already. */
static bool join_groups(case_layout *layout, int i, int k)
{
    int to = layout->group[i] < layout->group[k] ? layout->group[i] : layout->group[k];
    bool is_news = layout->group[i] != layout->group[k];

    layout->group[i] = layout->group[k] = to;
    return is_news;
}

/* Operands whose ranges meet get the same group: the number of their first. */
static void group_operands(case_layout *layout, const opd_call *call)
{
    uint64_t low[OPD_MAX_OPERANDS];
    uint64_t high[OPD_MAX_OPERANDS];
    bool has[OPD_MAX_OPERANDS];
    bool is_changed = true;

    for (int i = 0; i < call->operand_count; i++) {
        has[i] = case_has_range(&low[i], &high[i], &call->operands[i]);
        layout->group[i] = i;
    }
    while (is_changed) {
        is_changed = false;
        for (int i = 0; i < call->operand_count; i++) {
            for (int k = 0; k < i; k++) {
                bool do_meet = has[i] && has[k] && low[i] < high[k] && low[k] < high[i];
                is_changed = (do_meet && join_groups(layout, i, k)) || is_changed;
            }
        }
    }
    for (int i = 0; i < call->operand_count; i++) {
        case_span *span = &layout->spans[layout->group[i]];
        if (!has[i]) {
            continue;
        }
        span->low = span->is_placed && span->low < low[i] ? span->low : low[i];
        span->high = span->is_placed && span->high > high[i] ? span->high : high[i];
        span->is_placed = true;
    }
}

void case_layout_recorded(case_layout *out, const opd_call *call)
{
    *out = (case_layout){ .alignment = PAGE };
    group_operands(out, call);
}

void case_layout_separate(case_layout *out, const opd_call *call)
{
    *out = (case_layout){ .alignment = CACHE_LINE };
    for (int i = 0; i < call->operand_count; i++) {
        out->group[i] = i;
    }
}

/* Where operand i lies in its block: bytes from the block's base to the first byte of its span. */
static uint64_t place_in_block(const case_layout *layout, const opd_call *call, int i, uint64_t *bytes)
{
    const case_span *span = &layout->spans[layout->group[i]];
    uint64_t low = 0;
    uint64_t high = 0;
    int64_t first = 0;
    int64_t last = 0;

    if (span->is_placed && case_has_range(&low, &high, &call->operands[i])) {
        *bytes = span->high - span->low;
        return low - span->low;
    }
    opd_tensor_span(&call->operands[i].view, &first, &last);
    *bytes = (uint64_t)last - (uint64_t)first;
    return 0;
}

/* ---------------------------------------------------------------------------------------------------- blocks */

static void block_done(opd_block *block)
{
    if (block->is_sparse) {
        munmap(block->memory, block->size);
    } else {
        opd_free(block->memory);
    }
    *block = (opd_block){ 0 };
}

/* Bytes to skip so that memory + skip has the wanted residue. */
static size_t skip_to(const void *memory, uint64_t wanted, uint64_t alignment)
{
    return (size_t)((wanted - (uint64_t)(uintptr_t)memory) & (alignment - 1));
}

static opd_status block_new(opd_block *out, uint64_t bytes, uint64_t address, uint64_t alignment, bool is_sparse)
{
    opd_block block = { .bytes = bytes, .is_sparse = is_sparse };
    opd_status status = OPD_OK;

    if (bytes > SIZE_MAX - 4 * (uint64_t)PAGE) {
        return opd_fail(OPD_E_LIMIT, "a block of %" PRIu64 " bytes", bytes);
    }
    block.size = (size_t)bytes + (size_t)2 * PAGE;
    if (is_sparse) {
        block.memory = mmap(NULL, block.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (block.memory == MAP_FAILED) {
            status = opd_fail(OPD_E_NOMEM, "cannot map %zu bytes", block.size);
        }
    } else {
        status = opd_alloc(&block.memory, block.size);
    }
    if (status != OPD_OK) {
        return status;
    }
    block.base = (char *)block.memory + skip_to(block.memory, address, alignment);
    *out = block;
    return OPD_OK;
}

/* Makes the pages of [from, to) of a sparse block usable, filled with the canary. */
static opd_status open_range(char *from, const char *to)
{
    char *start = from - ((uintptr_t)from & (PAGE - 1));
    size_t size = (size_t)(to - start);

    if (mprotect(start, size, PROT_READ | PROT_WRITE) != 0) {
        return opd_fail(OPD_E_NOMEM, "cannot make %zu bytes of a sparse operand usable", size);
    }
    memset(start, OPD_GAP_CANARY, (size + PAGE - 1) / PAGE * PAGE);
    return OPD_OK;
}

/* Ranges of pages that the elements of a view need: dense runs whole, wide ones element by element. */
static opd_status open_view(const opd_tensor *view, uint64_t *ranges, bool is_counting)
{
    int64_t element = (int64_t)opd_dtype_size(view->dtype);
    opd_status status = OPD_OK;
    opd_runs runs;
    opd_run run;

    opd_runs_begin(&runs, view);
    while (status == OPD_OK && *ranges <= SPARSE_RANGES_MAX && opd_runs_next(&runs, &run)) {
        bool is_dense = run.step <= PAGE;
        int64_t pieces = is_dense ? 1 : run.count;
        int64_t length = is_dense ? (run.count - 1) * run.step + element : element;
        *ranges += (uint64_t)pieces;
        for (int64_t i = 0; !is_counting && status == OPD_OK && i < pieces; i++) {
            char *from = (char *)view->data + run.offset + i * run.step;
            status = open_range(from, from + length);
        }
    }
    return status;
}

static opd_status open_sparse(const opd_block *block, const opd_call *call)
{
    opd_status status = OPD_OK;
    uint64_t ranges = 0;

    for (int i = 0; i < call->operand_count; i++) {
        if (call->operands[i].view.data && call->operands[i].view.storage == block->base) {
            status = open_view(&call->operands[i].view, &ranges, true);
        }
    }
    if (ranges > SPARSE_RANGES_MAX) {
        /* Too many to open one by one: everything is usable and, never touched, costs nothing. */
        if (mprotect(block->memory, block->size, PROT_READ | PROT_WRITE) != 0) {
            return opd_fail(OPD_E_NOMEM, "cannot make %zu bytes of a sparse operand usable", block->size);
        }
        return OPD_OK;
    }
    ranges = 0;
    for (int i = 0; status == OPD_OK && i < call->operand_count; i++) {
        if (call->operands[i].view.data && call->operands[i].view.storage == block->base) {
            status = open_view(&call->operands[i].view, &ranges, false);
        }
    }
    return status;
}

/* Bytes of elements in a group, and whether its block should be sparse. */
static uint64_t group_elements(const case_layout *layout, const opd_call *call, int group)
{
    uint64_t total = 0;

    for (int i = 0; i < call->operand_count; i++) {
        uint64_t packed = is_materialised(&call->operands[i]) ? opd_tensor_packed_bytes(&call->operands[i].view) : 0;
        if (layout->group[i] == group && !layout->is_null[i] && packed <= UINT64_MAX / OPD_MAX_OPERANDS) {
            total += packed;
        }
    }
    return total;
}

static opd_status add_block(opd_case *item, const case_layout *layout, int first, uint64_t bytes, uint64_t *left)
{
    const case_span *span = &layout->spans[layout->group[first]];
    const opd_operand *operand = &item->call.operands[first];
    uint64_t elements = group_elements(layout, &item->call, layout->group[first]);
    bool is_sparse = bytes > SPARSE_BYTES && bytes / SPARSE_RATIO > elements;
    uint64_t charge = is_sparse ? elements : bytes;
    int64_t low = 0;
    int64_t high = 0;

    if (charge > *left) {
        return opd_fail(OPD_E_LIMIT, "operand %s: %" PRIu64 " bytes are over the limit, %" PRIu64 " are left",
                        operand->name, charge, *left);
    }
    opd_tensor_span(&operand->view, &low, &high);
    uint64_t address = span->is_placed ? span->low : operand->address + (uint64_t)low;
    opd_status status = block_new(&item->blocks[item->block_count], bytes, address, layout->alignment, is_sparse);
    if (status == OPD_OK) {
        *left -= charge;
        item->block_count++;
    }
    return status;
}

/*
 * Gives every operand that is not null a place. Blocks are made at the first operand of each group; afterwards sparse ones are opened
 * and the others filled.
 */
opd_status case_place(opd_case *item, const case_layout *layout, int fill, uint64_t limit)
{
    int block_of[OPD_MAX_OPERANDS];
    opd_call *call = &item->call;
    opd_status status = OPD_OK;

    memset(block_of, -1, sizeof(block_of));
    for (int i = 0; status == OPD_OK && i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        uint64_t bytes = 0;
        int64_t low = 0;
        int64_t high = 0;
        int group = layout->group[i];
        operand->view.data = NULL;
        operand->view.storage = NULL;
        if (layout->is_null[i] || !is_materialised(operand)) {
            continue;
        }
        uint64_t place = place_in_block(layout, call, i, &bytes);
        if (block_of[group] < 0) {
            block_of[group] = item->block_count;
            status = add_block(item, layout, i, bytes, &limit);
        }
        if (status == OPD_OK) {
            opd_tensor_span(&operand->view, &low, &high);
            operand->view.storage = item->blocks[block_of[group]].base;
            operand->view.storage_bytes = bytes;
            operand->view.data = (char *)operand->view.storage + place - low;
        }
    }
    for (int i = 0; status == OPD_OK && i < item->block_count; i++) {
        opd_block *block = &item->blocks[i];
        if (block->is_sparse) {
            status = open_sparse(block, call);
        } else if (fill != 0) {
            memset(block->memory, fill, block->size);
        }
    }
    return status;
}

void opd_case_done(opd_case *item)
{
    if (!item) {
        return;
    }
    for (int i = 0; i < item->block_count; i++) {
        block_done(&item->blocks[i]);
    }
    item->block_count = 0;
}

opd_status case_check_views(const opd_call *call)
{
    if (call->operand_count < 0 || call->operand_count > OPD_MAX_OPERANDS) {
        return opd_fail(OPD_E_INVALID, "%s: %d operands", call->name, call->operand_count);
    }
    for (int i = 0; i < call->operand_count; i++) {
        if (is_materialised(&call->operands[i])) {
            opd_status status = opd_tensor_check(&call->operands[i].view);
            if (status != OPD_OK) {
                return opd_fail_in(status, "%s: operand %s", call->name, call->operands[i].name);
            }
        }
    }
    return OPD_OK;
}

opd_status opd_case_allocate(opd_case *out, const opd_call *call, uint64_t limit)
{
    opd_case item = { .call = *call };
    case_layout layout;
    opd_status status = case_check_views(call);

    if (status == OPD_OK) {
        case_layout_separate(&layout, call);
        status = case_place(&item, &layout, 0, limit);
    }
    if (status != OPD_OK) {
        opd_case_done(&item);
        return status;
    }
    *out = item;
    return OPD_OK;
}
