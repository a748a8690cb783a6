/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls of another framework's operators, which have no contract here: what can be said of their sizes from the views alone. Dimensions of
 * the same size are taken for the same one and change together; where that is wrong the operator refuses the changed call.
 *
 * Which dimensions a symbol stands for is kept in its integers, which a symbol does not use otherwise: one bit for each dimension of each
 * operand and each element of each integer list. A symbol read from a file has none; opd_call_infer() makes them anew.
 */
#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "infer.h"

#define LIST_BITS (OPD_MAX_OPERANDS * OPD_MAX_RANK) /* bits of operands; then those of lists */

enum { LISTED_ATTRS = 32 }; /* the first ones of a call; lists behind them follow no symbol */

_Static_assert((LIST_BITS + (int)LISTED_ATTRS * OPD_MAX_INTS) <= OPD_MAX_INTS * 64, "a bit for each");

bool opd_call_is_foreign(const opd_call *call)
{
    return call->op == NULL && strcmp(call->domain, "aten") == 0;
}

static bool has_bit(const opd_value *symbol, int bit)
{
    return ((uint64_t)symbol->ints[bit / 64] >> bit % 64 & 1) != 0;
}

static void set_bit(opd_value *symbol, int bit)
{
    symbol->ints[bit / 64] = (int64_t)((uint64_t)symbol->ints[bit / 64] | UINT64_C(1) << bit % 64);
}

static int bit_of(int operand, int dim)
{
    return operand * OPD_MAX_RANK + dim;
}

static int list_bit(int attr, int element)
{
    return LIST_BITS + attr * OPD_MAX_INTS + element;
}

static bool has_sizes(const opd_operand *operand)
{
    return (operand->flags & (OPD_OPERAND_ABSENT | OPD_OPERAND_STATE)) == 0 && operand->view.rank >= 0 &&
           operand->view.rank <= OPD_MAX_RANK;
}

/* Lists that say a shape, by the names PyTorch gives them; others (strides, dims, paddings) may hold the same number by chance. */
static bool is_shape_list(const opd_value *attr)
{
    static const char *const names[] = { "size",        "normalized_shape", "output_size", "self_sizes",
                                         "input_sizes", "input_size",       "sizes" };
    for (size_t i = 0; i < OPD_COUNT(names); i++) {
        if (attr->kind == OPD_VALUE_INTS && strcmp(attr->name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The symbol of a size, made when it is the first of it; NULL: size 1, or no room. */
static opd_value *symbol_of(opd_call *call, int64_t size)
{
    if (size <= 1) {
        return NULL;
    }
    for (int i = 0; i < call->symbol_count; i++) {
        if (call->symbols[i].i == size) {
            return &call->symbols[i];
        }
    }
    if (call->symbol_count == OPD_MAX_SYMBOLS) {
        return NULL;
    }
    opd_value *made = &call->symbols[call->symbol_count];
    memset(made, 0, sizeof *made);
    made->name[0] = 'n';
    made->name[1] = (char)(call->symbol_count < 10 ? '0' + call->symbol_count : 'a' + call->symbol_count - 10);
    made->kind = OPD_VALUE_INT;
    made->i = size;
    call->symbol_count++;
    return made;
}

void opd_call_infer(opd_call *call)
{
    if (!opd_call_is_foreign(call)) {
        return;
    }
    call->symbol_count = 0;
    for (int i = 0; i < call->operand_count; i++) {
        for (int d = 0; has_sizes(&call->operands[i]) && d < call->operands[i].view.rank; d++) {
            opd_value *symbol = symbol_of(call, call->operands[i].view.shape[d]);
            if (symbol != NULL) {
                set_bit(symbol, bit_of(i, d));
            }
        }
    }
    for (int a = 0; a < call->attr_count && a < LISTED_ATTRS; a++) {
        const opd_value *attr = &call->attrs[a];
        for (int e = 0; is_shape_list(attr) && e < attr->i && e < OPD_MAX_INTS; e++) {
            for (int s = 0; s < call->symbol_count; s++) {
                if (call->symbols[s].i == attr->ints[e]) {
                    set_bit(&call->symbols[s], list_bit(a, e));
                }
            }
        }
    }
}

/* Strides without gaps, the dimensions in the order in memory that they have; what repeats goes on repeating. */
static void close_up(opd_tensor *view)
{
    int order[OPD_MAX_RANK];
    for (int d = 0; d < view->rank; d++) {
        int at = d;
        while (at > 0 && llabs(view->stride[order[at - 1]]) < llabs(view->stride[d])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = d;
    }
    int64_t step = 1;
    for (int k = view->rank - 1; k >= 0; k--) {
        int d = order[k];
        if (view->stride[d] == 0) {
            continue;
        }
        view->stride[d] = step;
        if (__builtin_mul_overflow(step, view->shape[d] > 0 ? view->shape[d] : 1, &step)) {
            step = INT64_MAX; /* which no check of the view lets through */
        }
    }
}

static opd_status resize(opd_operand *operand, int index, const opd_value *symbol, int64_t value)
{
    opd_tensor *view = &operand->view;
    bool changed = false;
    for (int d = 0; has_sizes(operand) && d < view->rank; d++) {
        if (has_bit(symbol, bit_of(index, d)) && view->shape[d] != value) {
            view->shape[d] = value;
            changed = true;
        }
    }
    if (changed) {
        close_up(view);
    }
    return !changed || opd_tensor_check(view) == OPD_OK ? OPD_OK : opd_fail_in(OPD_E_INVALID, "%s", operand->name);
}

opd_status opd_infer_set(opd_call *call, const char *name, int64_t value)
{
    opd_value *symbol = NULL;
    for (int i = 0; i < call->symbol_count; i++) {
        symbol = strcmp(call->symbols[i].name, name) == 0 ? &call->symbols[i] : symbol;
    }
    if (symbol == NULL || value < 0) {
        return opd_fail(OPD_E_INVALID, "%s has no size %s, or it cannot be %lld", call->name, name, (long long)value);
    }
    symbol->i = value;
    for (int i = 0; i < call->operand_count; i++) {
        opd_status status = resize(&call->operands[i], i, symbol, value);
        if (status != OPD_OK) {
            return status;
        }
    }
    for (int a = 0; a < call->attr_count && a < LISTED_ATTRS; a++) {
        for (int e = 0; e < OPD_MAX_INTS && call->attrs[a].kind == OPD_VALUE_INTS; e++) {
            if (has_bit(symbol, list_bit(a, e))) {
                call->attrs[a].ints[e] = value;
            }
        }
    }
    return OPD_OK;
}

opd_status opd_infer_compact(opd_call *call)
{
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        opd_tensor made;
        if (!has_sizes(operand)) {
            continue;
        }
        opd_status status = opd_tensor_contiguous(&made, operand->view.dtype, operand->view.rank, operand->view.shape,
                                                  operand->view.data);
        if (status != OPD_OK) {
            return opd_fail_in(status, "%s", operand->name);
        }
        memcpy(operand->view.stride, made.stride, sizeof made.stride);
    }
    return OPD_OK;
}
