/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A BLAS call as raw words, both ways. The interposer makes words from registers and stack; the caller by
 * foreign-function interface makes registers and stack from words.
 */
#include <string.h>

#include "plan.h"

static bool has_two_words(const opd_plan_value *value, opd_dtype dtype)
{
    return value->use == OPD_USE_SCALAR && opd_dtype_is_complex(opd_plan_dtype(value->type, OPD_DTYPE_NONE, dtype));
}

int opd_routine_word_count(const opd_routine *routine)
{
    const opd_plan *plan = opd_plan_of(routine->op);
    if (plan == NULL) {
        return 0;
    }
    int count = routine->op->has_layout ? 1 : 0;
    for (int i = 0; i < plan->arg_count; i++) {
        int slot = plan->args[i].slot;
        count += slot >= 0 && has_two_words(&plan->values[slot], routine->dtype) ? 2 : 1;
    }
    return count;
}

static double word_to_double(uint64_t word)
{
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static uint64_t double_to_word(double value)
{
    uint64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

/* Element 0 from the pointer argument, and back; NULL stays NULL. */
static void *shift(void *pointer, int64_t bytes)
{
    return pointer != NULL ? (void *)((uintptr_t)pointer + (uintptr_t)bytes) : NULL;
}

static void take_values(opd_call *call, const opd_plan *plan, const uint64_t *words, const void *pointers[])
{
    int at = 0;
    for (int i = 0; i < plan->arg_count; i++) {
        const opd_plan_arg *arg = &plan->args[i];
        if (arg->slot < 0) {
            pointers[arg->operand] = (const void *)(uintptr_t)words[at++];
            continue;
        }
        const opd_plan_value *expected = &plan->values[arg->slot];
        opd_value *value = opd_plan_value_of(plan, call, arg->slot);
        if (expected->use != OPD_USE_SCALAR) {
            value->i = (int64_t)words[at++];
            continue;
        }
        value->re = word_to_double(words[at++]);
        if (has_two_words(expected, call->dtype)) {
            value->im = word_to_double(words[at++]);
        }
    }
}

static void take_order(opd_call *call, int64_t choice)
{
    call->flags |= choice == 'R' ? OPD_CALL_ROW_MAJOR : 0;
    if (choice != 'R' && choice != 'C') {
        call->flags |= OPD_CALL_BAD_ORDER;
        call->order = opd_choice_to_cblas("RC", choice);
    }
}

bool opd_call_order(int64_t *choice, const opd_call *call)
{
    bool is_cblas = (call->flags & OPD_CALL_CBLAS) != 0;
    if (call->op == NULL || !(is_cblas ? call->op->has_layout : call->op->has_order_argument)) {
        return false;
    }
    if ((call->flags & OPD_CALL_BAD_ORDER) != 0) {
        *choice = is_cblas ? OPD_CHOICE_NUMBER + call->order : call->order;
    } else {
        *choice = (call->flags & OPD_CALL_ROW_MAJOR) != 0 ? 'R' : 'C';
    }
    return true;
}

opd_status opd_call_from_words(opd_call *out, const opd_routine *routine, uint32_t flags, const uint64_t *words,
                               int count)
{
    const opd_plan *plan = opd_plan_of(routine->op);
    if (plan == NULL) {
        return OPD_E_INVALID;
    }
    int expected = opd_routine_word_count(routine);
    if (count != expected) {
        return opd_fail(OPD_E_INVALID, "%s has %d words, not %d", routine->name, expected, count);
    }
    opd_plan_fill(out, plan, routine->op, routine->name, routine->dtype);
    out->flags = flags & (OPD_CALL_CBLAS | OPD_CALL_ILP64 | OPD_CALL_DIRECT);
    if (routine->op->has_layout) {
        take_order(out, (int64_t)words[0]);
        words++;
    }
    const void *pointers[OPD_MAX_OPERANDS] = { NULL };
    take_values(out, plan, words, pointers);
    int64_t slots[OPD_PLAN_SLOTS];
    opd_plan_slots(slots, plan, out);
    (void)opd_plan_bind(out, plan, slots); /* what is wrong is in the call's and the operands' flags */
    for (int i = 0; i < plan->operand_count; i++) {
        const opd_plan_operand *operand = &plan->operands[i];
        opd_operand *bound = &out->operands[i];
        const void *pointer = pointers[operand->at >= 0 ? operand->at : i];
        int64_t start = opd_plan_start(operand, bound, slots) * (int64_t)opd_dtype_size(bound->view.dtype);
        bound->view.data = shift((void *)(uintptr_t)pointer, start);
        bound->address = (uint64_t)(uintptr_t)bound->view.data;
    }
    return OPD_OK;
}

int opd_call_to_words(uint64_t words[OPD_MAX_WORDS], const opd_call *call)
{
    const opd_plan *plan = opd_plan_of_call(call);
    if (plan == NULL) {
        return 0;
    }
    int64_t slots[OPD_PLAN_SLOTS];
    opd_plan_slots(slots, plan, call);
    int at = 0;
    if (call->op->has_layout) {
        int64_t order = 'C';
        (void)opd_call_order(&order, call);
        words[at++] = (uint64_t)order;
    }
    for (int i = 0; i < plan->arg_count; i++) {
        const opd_plan_arg *arg = &plan->args[i];
        if (arg->slot < 0) {
            const opd_operand *bound = &call->operands[arg->operand];
            int64_t start = opd_plan_start(&plan->operands[arg->operand], bound, slots);
            start *= (int64_t)opd_dtype_size(bound->view.dtype);
            words[at++] = (uint64_t)(uintptr_t)shift(bound->view.data, -start);
            continue;
        }
        const opd_plan_value *expected = &plan->values[arg->slot];
        const opd_value *value = opd_plan_value_at(plan, call, arg->slot);
        if (expected->use != OPD_USE_SCALAR) {
            words[at++] = (uint64_t)value->i;
            continue;
        }
        words[at++] = double_to_word(value->re);
        if (has_two_words(expected, call->dtype)) {
            words[at++] = double_to_word(value->im);
        }
    }
    return at;
}
