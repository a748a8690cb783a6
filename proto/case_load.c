/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Filling a case: from a bundle, or from another case.
 */
#include <inttypes.h>
#include <string.h>

#include "case.h"

static bool has_content(const opd_bundle *bundle, const opd_operand *operand)
{
    return !opd_digest_is_none(&operand->before) && (operand->flags & OPD_OPERAND_RETURNED) == 0 &&
           (opd_bundle_has_tensor(bundle, &operand->before) || (operand->flags & OPD_OPERAND_NOT_KEPT) == 0);
}

static bool must_be_read(const opd_call *call, const opd_operand *operand)
{
    return (operand->role & OPD_ROLE_IN) && (call->flags & OPD_CALL_BAD_ARGS) == 0 &&
           (operand->flags & (OPD_OPERAND_MUST_NOT_READ | OPD_OPERAND_UNREADABLE | OPD_OPERAND_RETURNED)) == 0;
}

/* The packed form is the memory itself: one dense run. */
static bool is_dense(const opd_tensor *view, int64_t *offset)
{
    opd_runs runs;
    opd_run run;

    opd_runs_begin(&runs, view);
    if (!opd_runs_next(&runs, &run) || run.step != (int64_t)opd_dtype_size(view->dtype) ||
        (uint64_t)run.count * (uint64_t)run.step != opd_tensor_packed_bytes(view)) {
        return false;
    }
    *offset = run.offset;
    return true;
}

static opd_status read_operand(const opd_tensor *view, const opd_bundle *bundle, const opd_digest *digest,
                               uint64_t limit)
{
    uint64_t size = opd_tensor_packed_bytes(view);
    int64_t offset = 0;
    void *packed = NULL;

    if (is_dense(view, &offset)) {
        return opd_bundle_tensor((char *)view->data + offset, (size_t)size, bundle, digest, view);
    }
    if (size > limit) {
        return opd_fail(OPD_E_LIMIT, "%" PRIu64 " bytes are over the limit", size);
    }
    opd_status status = opd_alloc(&packed, (size_t)size);
    if (status == OPD_OK) {
        status = opd_bundle_tensor(packed, (size_t)size, bundle, digest, view);
    }
    if (status == OPD_OK) {
        opd_tensor_unpack(view, packed);
    }
    opd_free(packed);
    return status;
}

static opd_status fill_operand(const opd_call *call, const opd_operand *operand, const opd_bundle *bundle,
                               uint64_t limit)
{
    opd_status status = OPD_OK;

    if (!operand->view.data || opd_tensor_existing(&operand->view) == 0) {
        return OPD_OK; /* an empty operand has no content to miss */
    }
    if (!has_content(bundle, operand)) {
        if (!must_be_read(call, operand)) {
            return OPD_OK;
        }
        return opd_fail(OPD_E_NOTFOUND, "%s: operand %s: %s", call->name, operand->name,
                        operand->flags & OPD_OPERAND_NOT_KEPT
                            ? "too large for the recording budget, its content was not kept"
                            : "its content was not recorded (capture meta or stats, or the call ended before)");
    }
    status = read_operand(&operand->view, bundle, &operand->before, limit);
    if (status == OPD_E_NOTFOUND && !must_be_read(call, operand)) {
        opd_error_clear();
        return OPD_OK; /* a digest was taken, the content not kept: the canary stays */
    }
    return status == OPD_OK ? OPD_OK : opd_fail_in(status, "%s: operand %s", call->name, operand->name);
}

opd_status opd_case_load(opd_case *out, const opd_bundle *bundle, const opd_call *call, uint64_t limit)
{
    opd_case item = { .call = *call };
    case_layout layout;
    opd_status status = case_check_views(call);

    if (status != OPD_OK) {
        return status;
    }
    case_layout_recorded(&layout, call);
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        layout.is_null[i] =
            (operand->flags & OPD_OPERAND_UNREADABLE) != 0 && !opd_bundle_has_tensor(bundle, &operand->before);
    }
    status = case_place(&item, &layout, OPD_GAP_CANARY, limit);
    for (int i = 0; status == OPD_OK && i < call->operand_count; i++) {
        status = fill_operand(call, &item.call.operands[i], bundle, limit);
    }
    if (status != OPD_OK) {
        opd_case_done(&item);
        return status;
    }
    *out = item;
    return OPD_OK;
}

/* ----------------------------------------------------------------------------------------------------- copy */

/*
 * The layout a case has now: operands of one block form a group whose addresses are those of this memory. Operands outside the blocks
 * stand alone.
 */
static void layout_of_case(case_layout *layout, opd_case *item, const opd_case *from)
{
    case_layout_separate(layout, &from->call);
    layout->alignment = 4096;
    for (int i = 0; i < from->call.operand_count; i++) {
        const opd_tensor *view = &from->call.operands[i].view;
        layout->is_null[i] = view->data == NULL;
        item->call.operands[i].address = (uint64_t)(uintptr_t)view->data;
        for (int b = 0; view->data && b < from->block_count; b++) {
            if (view->storage != from->blocks[b].base) {
                continue;
            }
            for (int k = 0; k < i; k++) {
                if (from->call.operands[k].view.data && from->call.operands[k].view.storage == view->storage) {
                    layout->group[i] = layout->group[k];
                    break;
                }
            }
            case_span *span = &layout->spans[layout->group[i]];
            span->low = (uint64_t)(uintptr_t)from->blocks[b].base;
            span->high = span->low + from->blocks[b].bytes;
            span->is_placed = true;
        }
    }
}

/* Elements of one operand, through their packed form. */
static opd_status copy_elements(const opd_tensor *to, const opd_tensor *from)
{
    void *packed = NULL;
    opd_status status = opd_alloc(&packed, (size_t)opd_tensor_packed_bytes(from));

    if (status == OPD_OK) {
        opd_tensor_pack(packed, from);
        opd_tensor_unpack(to, packed);
    }
    opd_free(packed);
    return status;
}

static opd_status copy_operand(const opd_case *item, const opd_case *from, int i)
{
    const opd_tensor *to_view = &item->call.operands[i].view;
    const opd_tensor *from_view = &from->call.operands[i].view;

    if (!to_view->data) {
        return OPD_OK;
    }
    for (int b = 0; b < from->block_count; b++) {
        if (from->blocks[b].base == from_view->storage && !from->blocks[b].is_sparse) {
            /* The gaps too: a canary, or what a replay left there. */
            memcpy(to_view->storage, from_view->storage, (size_t)from->blocks[b].bytes);
            return OPD_OK;
        }
    }
    return copy_elements(to_view, from_view);
}

opd_status opd_case_copy(opd_case *out, const opd_case *from)
{
    opd_case item = { .call = from->call };
    case_layout layout;
    opd_status status = case_check_views(&from->call);

    if (status != OPD_OK) {
        return status;
    }
    layout_of_case(&layout, &item, from);
    status = case_place(&item, &layout, OPD_GAP_CANARY, UINT64_MAX);
    for (int i = 0; status == OPD_OK && i < from->call.operand_count; i++) {
        item.call.operands[i].address = from->call.operands[i].address;
        status = copy_operand(&item, from, i);
    }
    if (status != OPD_OK) {
        opd_case_done(&item);
        return status;
    }
    *out = item;
    return OPD_OK;
}
