/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What each dimension of an operand is: which symbol, and which of its dimensions. Symbols that stand for a fixed number
 * of dimensions come first, then those that may be missing, and what remains goes to NAME... .
 */
#include <opsdebug/memory.h>

#include "binding.h"

/* How many dimensions each item of an operand's pattern takes. */
struct widths {
    int of[OPD_MAX_RANK];
    int left; /* dimensions not given to an item yet */
};

enum { OPEN = -1 }; /* a width that depends on what is left */

static opd_status wrong_rank(const opd_binding *binding, int operand, int rank, const char *than)
{
    const opd_operand *bound = &binding->call->operands[operand];
    return opd_fail(OPD_E_INVALID, "%s: %s has %d dimension%s, %s", binding->call->op->name, bound->name, rank,
                    rank == 1 ? "" : "s", than);
}

static bool is_droppable(const opd_binding *binding, const opd_plan_dim *dim)
{
    return dim->kind == OPD_DIM_SYMBOL && dim->is_broadcast && binding->plan->values[dim->slot].reach == OPD_REACH_ONE;
}

/* The width of an item before anything is known of the operand's rank. */
static int fixed_width(const opd_binding *binding, const opd_plan_dim *dim)
{
    if (dim->kind == OPD_DIM_ANY) {
        return OPEN;
    }
    if (dim->kind != OPD_DIM_SYMBOL) {
        return 1;
    }
    switch (binding->plan->values[dim->slot].reach) {
    case OPD_REACH_ONE:
        return dim->is_broadcast ? OPEN : 1;
    case OPD_REACH_EACH:
        return 1;
    default:
        return dim->is_broadcast || binding->rank[dim->slot] < 0 ? OPEN : binding->rank[dim->slot];
    }
}

/* NAME~ from the right, then NAME? from the left, one dimension each while there are some. */
static void give_singles(struct widths *widths, const opd_binding *binding, const opd_plan_operand *pattern)
{
    for (int d = pattern->rank - 1; d >= 0; d--) {
        if (is_droppable(binding, &pattern->dims[d])) {
            widths->of[d] = widths->left > 0;
            widths->left -= widths->of[d];
        }
    }
    for (int d = 0; d < pattern->rank; d++) {
        const opd_plan_dim *dim = &pattern->dims[d];
        bool is_maybe = dim->kind == OPD_DIM_SYMBOL && binding->plan->values[dim->slot].reach == OPD_REACH_MAYBE;
        if (is_maybe && widths->of[d] == OPEN) {
            widths->of[d] = widths->left > 0;
            widths->left -= widths->of[d];
        }
    }
}

/* Dimensions of the first of two NAME...: what split() says. */
static opd_status split(int *out, const struct widths *widths, const opd_binding *binding, int operand, int rank)
{
    const opd_plan_operand *pattern = &binding->plan->operands[opd_binding_plan_operand(binding, operand)];
    int64_t at = 0;
    if (pattern->split.code == NULL) {
        return opd_fail(OPD_E_INVALID, "contract of %s: %s has two NAME... and no split()", binding->call->op->name,
                        binding->call->operands[operand].name);
    }
    bool is_known = opd_binding_run(&at, binding, &pattern->split);
    int64_t from_start = at < 0 ? at + rank : at;
    if (is_known && from_start >= 0 && from_start <= widths->left) {
        *out = (int)from_start;
        return OPD_OK;
    }
    char text[OPD_OPERAND_TEXT];
    opd_operand_describe(text, &binding->call->operands[operand]);
    return opd_fail(OPD_E_INVALID, "%s: %.*s = %lld is not in [%d, %d] for %s", binding->call->op->name,
                    pattern->split.text.size, pattern->split.text.at, (long long)at, -rank, widths->left, text);
}

static opd_status give_rest(struct widths *widths, const opd_binding *binding, int operand, int rank)
{
    const opd_plan_operand *pattern = &binding->plan->operands[opd_binding_plan_operand(binding, operand)];
    int open[OPD_MAX_RANK] = { 0 };
    int count = 0;
    for (int d = 0; d < pattern->rank; d++) {
        if (widths->of[d] == OPEN) {
            open[count++] = d;
        }
    }
    if (count == 0) {
        return widths->left == 0 ? OPD_OK : wrong_rank(binding, operand, rank, "which is too many");
    }
    if (count == 2) {
        int first = 0;
        opd_status status = split(&first, widths, binding, operand, rank);
        if (status != OPD_OK) {
            return status;
        }
        widths->of[open[0]] = first;
        widths->left -= first;
    }
    widths->of[open[count - 1]] = widths->left;
    widths->left = 0;
    return OPD_OK;
}

static opd_status find_widths(struct widths *widths, const opd_binding *binding, int operand, int rank)
{
    const opd_plan_operand *pattern = &binding->plan->operands[opd_binding_plan_operand(binding, operand)];
    int fixed = 0;
    for (int d = 0; d < pattern->rank; d++) {
        widths->of[d] = fixed_width(binding, &pattern->dims[d]);
        fixed += widths->of[d] > 0 ? widths->of[d] : 0;
    }
    widths->left = rank - fixed;
    if (widths->left < 0) {
        return wrong_rank(binding, operand, rank, "which is too few");
    }
    give_singles(widths, binding, pattern);
    return give_rest(widths, binding, operand, rank);
}

/* The symbol of an item that has one here: of a choice between two, the chosen one. */
static opd_status choose_slot(int *out, const opd_binding *binding, const opd_plan_dim *dim)
{
    int64_t is_first = 0;
    *out = -1;
    if (dim->kind == OPD_DIM_SYMBOL) {
        *out = dim->slot;
    } else if (dim->kind == OPD_DIM_SELECT) {
        if (!opd_binding_run(&is_first, binding, &dim->formula)) {
            return opd_fail(OPD_E_INVALID, "%s: %.*s has no value", binding->call->op->name, dim->formula.text.size,
                            dim->formula.text.at);
        }
        *out = is_first != 0 ? dim->slot : dim->other_slot;
    }
    return OPD_OK;
}

opd_status opd_binding_places(opd_place places[OPD_MAX_RANK], const opd_binding *binding, int operand, int rank)
{
    int p = opd_binding_plan_operand(binding, operand);
    const opd_plan_operand *pattern = &binding->plan->operands[p];
    struct widths widths = { .left = 0 };
    opd_status status = find_widths(&widths, binding, operand, rank);
    int at = 0;
    for (int d = 0; d < pattern->rank && status == OPD_OK; d++) {
        const opd_plan_dim *dim = &pattern->dims[d];
        int slot = -1;
        status = choose_slot(&slot, binding, dim);
        bool is_each = slot >= 0 && binding->plan->values[slot].reach == OPD_REACH_EACH;
        for (int i = 0; i < widths.of[d] && at < OPD_MAX_RANK; i++) {
            opd_place *place = &places[at++];
            *place = (opd_place){ .dim = dim, .slot = slot, .width = widths.of[d], .is_broadcast = dim->is_broadcast };
            place->element = is_each ? operand - binding->first[p] : i;
            if (dim->is_broadcast) { /* aligned at the end */
                place->element = i - widths.of[d] + (binding->rank[slot] >= 0 ? binding->rank[slot] : 0);
            }
        }
    }
    return status;
}
