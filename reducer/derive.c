// SPDX-License-Identifier: Apache-2.0
// Candidates: slices of a case's data for a changed call. How a symbol reaches the dimensions of the operands is found by asking
// the contract twice (with the symbol as it is and one larger), so that no second description of an operator exists here.
#include "derive.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/dnnl.h>

/* shift[o][d]: first index of operand o, dimension d, that the slice takes. */
typedef struct shifts {
    int64_t of[OPD_MAX_OPERANDS][OPD_MAX_RANK];
} shifts;

bool opd_attribute_spec(char *spec, size_t size, const opd_op *op, const char *name)
{
    const char *cursor = op == NULL || op->attributes == NULL ? "" : op->attributes;
    size_t length = strlen(name);
    while (*cursor != '\0') {
        size_t token = strcspn(cursor, " ");
        if (token > length + 1 && strncmp(cursor, name, length) == 0 && cursor[length] == ':') {
            snprintf(spec, size, "%.*s", (int)(token - length - 1), cursor + length + 1);
            return true;
        }
        cursor += token;
        cursor += strspn(cursor, " ");
    }
    return false;
}

uint64_t opd_call_elements(const opd_call *call)
{
    uint64_t sum = 0;
    for (int i = 0; i < call->operand_count; i++) {
        sum += (uint64_t)opd_tensor_existing(&call->operands[i].view);
    }
    return sum;
}

/* Is dimension d of operand o as long as symbol s says, one for one? */
static bool is_linked(const opd_call *grown, const opd_call *call, int operand, int dim)
{
    const opd_tensor *a = &call->operands[operand].view;
    const opd_tensor *b = &grown->operands[operand].view;
    return a->rank == b->rank && a->mask.kind != OPD_MASK_BAND && a->mask.kind != OPD_MASK_PACKED &&
           b->shape[dim] == a->shape[dim] + 1;
}

static bool grow(opd_call *out, const opd_call *call, int symbol)
{
    *out = *call;
    return opd_call_set(out, call->symbols[symbol].name, call->symbols[symbol].i + 1) == OPD_OK;
}

bool opd_focus_is_outside(const opd_focus *focus, const opd_call *call)
{
    for (int s = 0; s < call->symbol_count; s++) {
        if (focus->at[s] >= call->symbols[s].i) {
            return true;
        }
    }
    return false;
}

static void shifts_find(shifts *out, const opd_call *call, const opd_focus *focus)
{
    memset(out, 0, sizeof(*out));
    for (int s = 0; s < call->symbol_count; s++) {
        opd_call grown;
        int64_t size = call->symbols[s].i;
        if (focus->at[s] < size || !grow(&grown, call, s)) {
            continue;
        }
        for (int o = 0; o < call->operand_count; o++) {
            for (int d = 0; d < call->operands[o].view.rank; d++) {
                if (is_linked(&grown, call, o, d)) {
                    out->of[o][d] = focus->at[s] - size + 1;
                }
            }
        }
    }
}

/* How much an element attracts attention: NaN, then Inf, then size. */
static double attraction(const opd_tensor *view, const int64_t *index)
{
    double re = 0;
    double im = 0;
    opd_element_load(view->dtype, (const char *)view->data + opd_tensor_offset(view, index), &re, &im);
    if (isnan(re) || isnan(im)) {
        return INFINITY;
    }
    double size = fmax(fabs(re), fabs(im));
    return isinf(size) ? 1.7e308 : size;
}

static void fix(opd_focus *focus, const opd_call *call, int operand, const int64_t *index, bool dims[][OPD_MAX_RANK])
{
    for (int s = 0; s < call->symbol_count; s++) {
        for (int d = 0; d < call->operands[operand].view.rank; d++) {
            if (dims[s * OPD_MAX_OPERANDS + operand][d] && focus->at[s] < 0) {
                focus->at[s] = index[d];
            }
        }
    }
}

/* Does index agree with what the focus has fixed already? */
static bool agrees(const opd_focus *focus, const opd_call *call, int operand, const int64_t *index,
                   bool dims[][OPD_MAX_RANK])
{
    for (int s = 0; s < call->symbol_count; s++) {
        for (int d = 0; d < call->operands[operand].view.rank; d++) {
            if (dims[s * OPD_MAX_OPERANDS + operand][d] && focus->at[s] >= 0 && focus->at[s] != index[d]) {
                return false;
            }
        }
    }
    return true;
}

static void focus_on_operand(opd_focus *focus, const opd_call *call, int operand, bool dims[][OPD_MAX_RANK])
{
    const opd_tensor *view = &call->operands[operand].view;
    int64_t index[OPD_MAX_RANK] = { 0 };
    int64_t best_index[OPD_MAX_RANK] = { 0 };
    double best = -1;
    int64_t count = opd_tensor_count(view);
    for (int64_t flat = 0; flat < count && best < INFINITY; flat++) {
        opd_tensor_unflatten(view, flat, index);
        if (!agrees(focus, call, operand, index, dims) || !opd_tensor_exists(view, index)) {
            continue;
        }
        double now = attraction(view, index);
        if (now > best) {
            best = now;
            memcpy(best_index, index, sizeof(index));
        }
    }
    if (best >= 0) {
        fix(focus, call, operand, best_index, dims);
    }
}

void opd_focus_find(opd_focus *out, const opd_case *item, const opd_failure *failure)
{
    const opd_call *call = &item->call;
    bool dims[OPD_MAX_SYMBOLS * OPD_MAX_OPERANDS][OPD_MAX_RANK] = { { false } };
    for (int s = 0; s < OPD_MAX_SYMBOLS; s++) {
        out->at[s] = -1;
    }
    for (int s = 0; s < call->symbol_count; s++) {
        opd_call grown;
        if (!grow(&grown, call, s)) {
            continue;
        }
        for (int o = 0; o < call->operand_count; o++) {
            for (int d = 0; d < call->operands[o].view.rank; d++) {
                dims[s * OPD_MAX_OPERANDS + o][d] = is_linked(&grown, call, o, d);
            }
        }
    }
    for (int o = 0; o < call->operand_count; o++) {
        if (failure->operand[0] != '\0' && strcmp(call->operands[o].name, failure->operand) == 0 &&
            failure->index_rank == call->operands[o].view.rank) {
            fix(out, call, o, failure->index, dims);
        }
    }
    for (int o = 0; o < call->operand_count; o++) {
        const opd_operand *operand = &call->operands[o];
        if ((operand->role & OPD_ROLE_IN) != 0 && operand->view.data != NULL &&
            opd_dtype_is_float(operand->view.dtype)) {
            focus_on_operand(out, call, o, dims);
        }
    }
}

static void span_of(const opd_operand *operand, uintptr_t *low, uintptr_t *high)
{
    int64_t first = 0;
    int64_t last = 0;
    opd_tensor_span(&operand->view, &first, &last);
    *low = (uintptr_t)operand->view.data + (uintptr_t)first;
    *high = (uintptr_t)operand->view.data + (uintptr_t)last;
}

static bool shares(const opd_operand *a, const opd_operand *b)
{
    uintptr_t a_low = 0;
    uintptr_t a_high = 0;
    uintptr_t b_low = 0;
    uintptr_t b_high = 0;
    if (a->view.data == NULL || b->view.data == NULL) {
        return false;
    }
    if (a->view.data == b->view.data) {
        return true;
    }
    span_of(a, &a_low, &a_high);
    span_of(b, &b_low, &b_high);
    return a_low < b_high && b_low < a_high;
}

bool opd_case_overlaps(const opd_case *item)
{
    for (int i = 0; i < item->call.operand_count; i++) {
        for (int j = 0; j < i; j++) {
            const opd_operand *a = &item->call.operands[i];
            const opd_operand *b = &item->call.operands[j];
            if (a->view.data != b->view.data && shares(a, b)) {
                return true;
            }
        }
    }
    return false;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x100000001b3u + 0x9e37u;
}

uint64_t opd_case_placement(const opd_case *item)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (int i = 0; i < item->call.operand_count; i++) {
        const opd_operand *operand = &item->call.operands[i];
        hash = mix(hash, operand->address % 64);
        for (int j = 0; j < i; j++) {
            const opd_operand *other = &item->call.operands[j];
            bool together = shares(operand, other);
            intptr_t apart = (intptr_t)operand->view.data - (intptr_t)other->view.data;
            hash = mix(hash, together ? (uint64_t)apart : UINT64_MAX);
        }
    }
    return hash;
}

/* An output of a general operator whose old content nobody recorded: the canaries in its memory are ours, and no operand's values. */
static bool is_unknown_output(const opd_call *call, const opd_operand *operand)
{
    return operand->role == OPD_ROLE_OUT && opd_digest_is_none(&operand->before) && strcmp(call->domain, "blas") != 0;
}

void opd_case_refresh(opd_case *item)
{
    for (int i = 0; i < item->call.operand_count; i++) {
        opd_operand *operand = &item->call.operands[i];
        operand->flags &=
            ~(uint32_t)(OPD_OPERAND_HAS_HEALTH | OPD_OPERAND_NOT_KEPT | OPD_OPERAND_KNOWN | OPD_OPERAND_TRACKED);
        memset(&operand->after, 0, sizeof(operand->after));
        memset(&operand->health_before, 0, sizeof(operand->health_before));
        memset(&operand->health_after, 0, sizeof(operand->health_after));
        if (operand->view.data == NULL) {
            memset(&operand->before, 0, sizeof(operand->before));
        } else if (!is_unknown_output(&item->call, operand)) {
            operand->before = opd_tensor_digest(&operand->view);
        }
    }
    item->call.seed = 0;
}

static void slice_operand(const opd_tensor *to, const opd_tensor *from, const int64_t *shift)
{
    size_t size = opd_dtype_size(to->dtype);
    int64_t count = opd_tensor_count(to);
    bool is_same_rank = to->rank == from->rank && to->dtype == from->dtype && opd_tensor_count(from) > 0;
    int64_t index[OPD_MAX_RANK] = { 0 };
    int64_t source[OPD_MAX_RANK] = { 0 };
    for (int64_t flat = 0; flat < count; flat++) {
        opd_tensor_unflatten(to, flat, index);
        if (!opd_tensor_exists(to, index)) {
            continue;
        }
        for (int d = 0; is_same_rank && d < to->rank; d++) {
            source[d] = (index[d] + shift[d]) % from->shape[d];
        }
        char *element = (char *)to->data + opd_tensor_offset(to, index);
        if (is_same_rank && opd_tensor_exists(from, source)) {
            memcpy(element, (const char *)from->data + opd_tensor_offset(from, source), size);
        } else {
            opd_element_store(to->dtype, element, 1, 0);
        }
    }
}

/* Views into a deep copy of from: keeps every overlap as it is. Strides must be unchanged and sizes not larger. */
static opd_status derive_in_place(opd_case *out, const opd_case *from, const opd_call *call, const shifts *shift)
{
    for (int o = 0; o < call->operand_count; o++) {
        const opd_tensor *to = &call->operands[o].view;
        const opd_tensor *old = &from->call.operands[o].view;
        bool fits = to->rank == old->rank;
        for (int d = 0; fits && d < to->rank; d++) {
            fits = to->shape[d] <= old->shape[d] && (to->stride[d] == old->stride[d] || to->shape[d] <= 1);
        }
        if (!fits) {
            return opd_fail(OPD_E_DECLINED, "operand %s overlaps another and would have to move",
                            call->operands[o].name);
        }
    }
    opd_case copy;
    opd_status status = opd_case_copy(&copy, from);
    if (status != OPD_OK) {
        return status;
    }
    opd_call bound = *call;
    for (int o = 0; o < bound.operand_count; o++) {
        const opd_tensor *old = &copy.call.operands[o].view;
        opd_tensor *to = &bound.operands[o].view;
        to->storage = old->storage;
        to->storage_bytes = old->storage_bytes;
        to->data = old->data == NULL ? NULL : (char *)old->data + opd_tensor_offset(old, shift->of[o]);
    }
    copy.call = bound;
    opd_case_refresh(&copy);
    *out = copy;
    return OPD_OK;
}

/* As the reader of a bundle does, so that a candidate and its stored form are alike. */
static void fill_gaps(opd_case *item)
{
    for (int i = 0; i < item->block_count; i++) {
        if (!item->blocks[i].is_sparse) {
            memset(item->blocks[i].base, OPD_GAP_CANARY, (size_t)item->blocks[i].bytes);
        }
    }
}

/* Operands that are one pointer in from are one pointer in item again: the larger allocation serves both. */
static void join_same_pointers(opd_case *item, const opd_case *from)
{
    for (int i = 1; i < item->call.operand_count; i++) {
        for (int j = 0; j < i; j++) {
            opd_tensor *a = &item->call.operands[i].view;
            opd_tensor *b = &item->call.operands[j].view;
            const void *old = from->call.operands[i].view.data;
            bool was_one = old != NULL && old == from->call.operands[j].view.data;
            bool is_one = was_one || opd_call_shared(&item->call, i) == j;
            if (!is_one || a->data == NULL || b->data == NULL || a->data == b->data) {
                continue;
            }
            uintptr_t low[2];
            uintptr_t high[2];
            span_of(&item->call.operands[i], &low[0], &high[0]);
            span_of(&item->call.operands[j], &low[1], &high[1]);
            opd_tensor *larger = high[0] - low[0] > high[1] - low[1] ? a : b;
            opd_tensor *other = larger == a ? b : a;
            other->data = larger->data;
            other->storage = larger->storage;
            other->storage_bytes = larger->storage_bytes;
        }
    }
}

/* The same in a derived call, where it shares memory with no other operand. */
static bool is_left_alone(const opd_call *made, int index, const opd_case *from)
{
    for (int i = 0; i < made->operand_count; i++) {
        if (i != index && made->operands[i].view.data == made->operands[index].view.data) {
            return false;
        }
    }
    return is_unknown_output(&from->call, &from->call.operands[index]);
}

opd_status opd_derive(opd_case *out, const opd_case *from, const opd_call *call, opd_slicing slicing,
                      const opd_focus *focus, uint64_t limit)
{
    shifts shift;
    memset(&shift, 0, sizeof(shift));
    if (slicing == OPD_SLICE_WINDOW) {
        shifts_find(&shift, call, focus);
    }
    if (slicing != OPD_SLICE_SEPARATE && opd_case_overlaps(from)) {
        return derive_in_place(out, from, call, &shift);
    }
    opd_call bound = *call;
    for (int o = 0; o < bound.operand_count; o++) {
        bound.operands[o].view.data = NULL;
        bound.operands[o].view.storage = NULL;
        bound.operands[o].view.storage_bytes = 0;
        /* Memory that could not be read keeps its place: at 0 it would be a null pointer, which is another fault. */
        bool has_data = from->call.operands[o].view.data != NULL;
        bound.operands[o].address = slicing == OPD_SLICE_SEPARATE && has_data ? 0 : bound.operands[o].address;
    }
    opd_case made;
    opd_status status = opd_case_allocate(&made, &bound, limit);
    if (status != OPD_OK) {
        return status;
    }
    fill_gaps(&made);
    join_same_pointers(&made, from);
    for (int o = 0; o < made.call.operand_count; o++) {
        opd_operand *operand = &made.call.operands[o];
        const opd_tensor *old = &from->call.operands[o].view;
        if ((old->data == NULL && (operand->role & OPD_ROLE_IN) != 0) || is_left_alone(&made.call, o, from)) {
            operand->view.data = NULL;
        } else if (old->data != NULL) {
            slice_operand(&operand->view, old, shift.of[o]);
        }
    }
    opd_dnnl_pad(&made.call);
    opd_case_refresh(&made);
    *out = made;
    return OPD_OK;
}
