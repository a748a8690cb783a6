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
    out->flags = flags & (OPD_CALL_CBLAS | OPD_CALL_ILP64);
    if (routine->op->has_layout) {
        out->flags |= words[0] == 'R' ? OPD_CALL_ROW_MAJOR : 0;
        out->flags |= words[0] != 'R' && words[0] != 'C' ? OPD_CALL_BAD_ORDER : 0;
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
        bool is_row_major = (call->flags & OPD_CALL_ROW_MAJOR) != 0;
        words[at++] = (call->flags & OPD_CALL_BAD_ORDER) != 0 ? 0 : (uint64_t)(is_row_major ? 'R' : 'C');
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
