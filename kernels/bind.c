/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Views of a call's operands, computed from its values by the contract: shape, strides, mask, what must not be read.
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "binding.h"
#include "dnnl/dnnl_define.h"

static void copy_name(char name[OPD_NAME], opd_slice slice)
{
    size_t size = (size_t)slice.size < OPD_NAME ? (size_t)slice.size : OPD_NAME - 1;
    memset(name, 0, OPD_NAME);
    memcpy(name, slice.at, size);
}

static bool is_letter(const int64_t *slots, int slot, int letter)
{
    return slot >= 0 && slots[slot] == letter;
}

static bool dimension(int64_t *out, const opd_formula *formula, const int64_t *slots)
{
    if (!opd_formula_run(out, formula, slots)) {
        return false;
    }
    *out = *out > 0 ? *out : 0;
    return true;
}

static bool bind_band(opd_tensor *view, const opd_plan_operand *operand, bool is_row_major, const int64_t *slots)
{
    opd_mask *mask = &view->mask;
    if (!dimension(&mask->kl, &operand->kl, slots) || !dimension(&mask->ku, &operand->ku, slots)) {
        return false;
    }
    int64_t depth;
    if (!opd_add_i64(&depth, mask->kl, mask->ku) || !opd_add_i64(&depth, depth, 1)) {
        return false;
    }
    mask->kind = OPD_MASK_BAND;
    mask->rows = view->shape[0];
    mask->cols = view->shape[1];
    mask->by_rows = is_row_major;
    view->shape[is_row_major ? 1 : 0] = depth;
    return true;
}

static bool bind_packed(opd_tensor *view, const opd_plan_operand *operand, bool is_row_major, const int64_t *slots)
{
    int64_t n = view->shape[0];
    int64_t next;
    int64_t twice;
    if (!opd_add_i64(&next, n, 1) || !opd_mul_i64(&twice, n, next)) {
        return false;
    }
    view->rank = 1;
    view->shape[0] = twice / 2;
    view->shape[1] = 0;
    view->stride[0] = 1;
    view->mask.kind = OPD_MASK_PACKED;
    view->mask.rows = n;
    view->mask.cols = n;
    /* The upper triangle by rows is the lower triangle of the transpose by columns. */
    view->mask.upper = is_letter(slots, operand->uplo, 'L') == is_row_major;
    return true;
}

static void bind_strides(opd_tensor *view, const opd_plan_operand *operand, bool is_row_major, const int64_t *slots)
{
    if (view->rank == 1) {
        view->stride[0] = operand->inc >= 0 ? slots[operand->inc] : 1;
    } else if (view->rank == 2) {
        int64_t ld = operand->ld >= 0 ? slots[operand->ld] : view->shape[is_row_major ? 1 : 0];
        view->stride[0] = is_row_major ? ld : 1;
        view->stride[1] = is_row_major ? 1 : ld;
    }
}

/* Do all offsets fit? Sizes that cannot overflow are not worth the full check. */
static bool fits(const opd_tensor *view)
{
    const int64_t harmless = 1 << 28;
    for (int i = 0; i < view->rank; i++) {
        if (view->shape[i] > harmless || view->stride[i] > harmless || view->stride[i] < -harmless) {
            return opd_tensor_check(view) == OPD_OK;
        }
    }
    bool is_small = view->mask.rows <= harmless && view->mask.cols <= harmless;
    return is_small || opd_tensor_check(view) == OPD_OK;
}

/* Shape, strides and mask of one operand; false when they do not fit int64. */
static bool bind_view(opd_tensor *view, const opd_plan_operand *operand, const opd_call *call, const int64_t *slots)
{
    bool is_row_major = (call->flags & OPD_CALL_ROW_MAJOR) != 0;
    void *data = view->data;
    void *storage = view->storage;
    uint64_t storage_bytes = view->storage_bytes;
    memset(view, 0, sizeof *view);
    view->data = data;
    view->storage = storage;
    view->storage_bytes = storage_bytes;
    view->dtype = opd_plan_dtype(operand->type, operand->dtype, call->dtype);
    view->rank = operand->rank;
    for (int i = 0; i < operand->rank; i++) {
        if (!dimension(&view->shape[i], &operand->dims[i].formula, slots)) {
            return false;
        }
    }
    if (operand->mask == OPD_MASK_BAND && !bind_band(view, operand, is_row_major, slots)) {
        return false;
    }
    bind_strides(view, operand, is_row_major, slots);
    if (operand->mask == OPD_MASK_PACKED && !bind_packed(view, operand, is_row_major, slots)) {
        return false;
    }
    if (operand->mask == OPD_MASK_UPPER) {
        view->mask.kind = is_letter(slots, operand->uplo, 'L') ? OPD_MASK_LOWER : OPD_MASK_UPPER;
    }
    view->mask.unit = is_letter(slots, operand->diag, 'U');
    return fits(view);
}

static void bind_nothing(opd_tensor *view)
{
    view->rank = 1;
    view->shape[0] = 0;
    view->stride[0] = 1;
    memset(&view->mask, 0, sizeof view->mask);
}

static uint32_t operand_flags(uint32_t before, const opd_plan_operand *operand, const int64_t *slots)
{
    uint32_t computed = OPD_OPERAND_MUST_NOT_READ | OPD_OPERAND_RETURNED | OPD_OPERAND_INDEX;
    uint32_t flags = (before & ~computed) | operand->flags;
    int64_t must_read = 1;
    bool is_read = (operand->role & OPD_ROLE_IN) != 0;
    if (is_read && opd_formula_run(&must_read, &operand->condition, slots) && must_read == 0) {
        flags |= OPD_OPERAND_MUST_NOT_READ;
    }
    return flags;
}

opd_status opd_plan_bind(opd_call *call, const opd_plan *plan, const int64_t *slots)
{
    opd_status status = OPD_OK;
    for (int i = 0; i < plan->operand_count; i++) {
        const opd_plan_operand *operand = &plan->operands[i];
        opd_operand *bound = &call->operands[i];
        copy_name(bound->name, operand->name);
        bound->role = operand->role;
        bound->flags = operand_flags(bound->flags, operand, slots);
        if (!bind_view(&bound->view, operand, call, slots)) {
            bind_nothing(&bound->view);
            bound->flags |= OPD_OPERAND_UNREADABLE;
            status = opd_fail(OPD_E_INVALID, "the span of %s does not fit 64 bits", bound->name);
        }
    }
    char text[160];
    if (!opd_plan_check(call, plan, slots, text, sizeof text)) {
        return opd_fail(OPD_E_INVALID, "%s", text);
    }
    return status;
}

opd_status opd_call_bind(opd_call *call)
{
    if (opd_call_is_foreign(call)) {
        return OPD_OK; /* its views are what they are */
    }
    if (opd_dnnl_is(call)) {
        return opd_dnnl_bind(call);
    }
    const opd_plan *plan = opd_plan_of(call->op);
    if (plan != NULL && plan->is_general) {
        return opd_general_bind(call, plan);
    }
    plan = plan != NULL ? opd_plan_of_call(call) : NULL;
    if (plan == NULL) {
        return OPD_E_INVALID;
    }
    int64_t slots[OPD_PLAN_SLOTS];
    opd_plan_slots(slots, plan, call);
    return opd_plan_bind(call, plan, slots);
}
