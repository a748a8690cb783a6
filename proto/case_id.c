/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The content id of a case: a hash of everything that decides what the operator does, and of nothing else (no times, ids or
 * addresses), field by field, so that padding and unused array ends do not count.
 */
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* XXH3_state_t on the stack */
#include <xxhash.h>

#include "case.h"

static void add(XXH3_state_t *state, const void *bytes, size_t size)
{
    XXH3_128bits_update(state, bytes, size);
}

static void add_u64(XXH3_state_t *state, uint64_t value)
{
    add(state, &value, sizeof(value));
}

static void add_text(XXH3_state_t *state, const char *text, size_t size)
{
    size_t length = strnlen(text, size);

    add_u64(state, length);
    add(state, text, length);
}

static void add_value(XXH3_state_t *state, const opd_value *value)
{
    add_text(state, value->name, sizeof(value->name));
    add_u64(state, (uint64_t)value->kind);
    add_u64(state, (uint64_t)value->i);
    add(state, &value->re, sizeof(value->re));
    add(state, &value->im, sizeof(value->im));
    if (value->kind == OPD_VALUE_INTS) {
        for (int64_t i = 0; i < value->i && i < OPD_MAX_INTS; i++) {
            add_u64(state, (uint64_t)value->ints[i]);
        }
    } else {
        add_text(state, value->kind == OPD_VALUE_TEXT ? value->text : "", sizeof(value->text));
    }
}

static void add_view(XXH3_state_t *state, const opd_tensor *view)
{
    const opd_mask *mask = &view->mask;

    add_u64(state, (uint64_t)view->dtype);
    add_u64(state, (uint64_t)view->rank);
    for (int i = 0; i < view->rank && i < OPD_MAX_RANK; i++) {
        add_u64(state, (uint64_t)view->shape[i]);
        add_u64(state, (uint64_t)view->stride[i]);
    }
    add_u64(state, (uint64_t)mask->kind | (uint64_t)mask->unit << 8 | (uint64_t)mask->by_rows << 16 |
                       (uint64_t)mask->upper << 24);
    add_u64(state, (uint64_t)mask->kl);
    add_u64(state, (uint64_t)mask->ku);
    add_u64(state, (uint64_t)mask->rows);
    add_u64(state, (uint64_t)mask->cols);
}

/* Where an operand's elements are: in memory if they are there, else in the recorded process. */
static bool range_of(uint64_t *low, uint64_t *high, const opd_operand *operand)
{
    opd_operand here = *operand;

    if (operand->view.data) {
        here.address = (uint64_t)(uintptr_t)operand->view.data;
    }
    return case_has_range(low, high, &here);
}

/* The first operand before i that it overlaps, and how far apart they start. */
static void add_overlap(XXH3_state_t *state, const opd_call *call, int i)
{
    uint64_t low = 0;
    uint64_t high = 0;
    uint64_t other_low = 0;
    uint64_t other_high = 0;

    if (range_of(&low, &high, &call->operands[i])) {
        for (int k = 0; k < i; k++) {
            bool is_same_place = (call->operands[k].view.data != NULL) == (call->operands[i].view.data != NULL);
            if (is_same_place && range_of(&other_low, &other_high, &call->operands[k]) && low < other_high &&
                other_low < high) {
                add_u64(state, (uint64_t)k + 1);
                add_u64(state, low - other_low);
                return;
            }
        }
    }
    add_u64(state, 0);
}

static void add_content(XXH3_state_t *state, const opd_operand *operand)
{
    opd_digest digest = operand->before;

    if (operand->role == OPD_ROLE_OUT) {
        return;
    }
    if (operand->view.data && opd_tensor_check(&operand->view) == OPD_OK) {
        digest = opd_tensor_digest(&operand->view);
    }
    add(state, digest.bytes, sizeof(digest.bytes));
}

opd_digest opd_case_id(const opd_case *item)
{
    const opd_call *call = &item->call;
    XXH128_canonical_t canonical;
    opd_digest id;
    XXH3_state_t state;

    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    add_text(&state, call->domain, sizeof(call->domain));
    add_text(&state, call->name, sizeof(call->name));
    add_u64(&state, (uint64_t)call->dtype);
    add_u64(&state, call->flags & OPD_CALL_IDENTITY);
    add_u64(&state, call->mxcsr);
    if ((call->flags & OPD_CALL_BAD_ORDER) != 0) {
        add_u64(&state, (uint64_t)call->order);
    }
    for (int i = 0; i < call->symbol_count && i < OPD_MAX_SYMBOLS; i++) {
        add_value(&state, &call->symbols[i]);
    }
    for (int i = 0; i < call->attr_count && i < (int)OPD_COUNT(call->attrs); i++) {
        add_value(&state, &call->attrs[i]);
    }
    for (int i = 0; i < call->operand_count && i < OPD_MAX_OPERANDS; i++) {
        const opd_operand *operand = &call->operands[i];
        add_text(&state, operand->name, sizeof(operand->name));
        add_u64(&state, (uint64_t)operand->role);
        add_view(&state, &operand->view);
        add_overlap(&state, call, i);
        add_content(&state, operand);
    }
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
    memcpy(id.bytes, canonical.digest, sizeof(id.bytes));
    return id;
}
