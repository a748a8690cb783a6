/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The argument checks a BLAS makes before it works, in the order of its arguments: legal letters, dimensions >= 0, leading
 * dimensions, increments (level 2 and 3 only: level 1 takes any n and increment). The first that fails is reported, as
 * xerbla would.
 * source    netlib BLAS 3.11, the "Test the input parameters" part of each routine.
 */
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "binding.h"
#include "dnnl/dnnl_define.h"

/* A call under check. */
struct checked {
    const opd_call *call;
    const opd_plan *plan;
    const int64_t *slots;
    bool is_row_major;
};

/*
 * The branch of a chain c ? a : b that the values select: "t(transa) ? k : m" is "m" for 'N'. Only ?: outside
 * parentheses is followed.
 */
static opd_slice selected(const opd_plan *plan, opd_slice text, const int64_t *slots)
{
    opd_scope scope = { opd_plan_find_name, opd_plan_find_word, plan };
    const char *question;
    while ((question = memchr(text.at, '?', (size_t)text.size)) != NULL && text.at[0] != '(') {
        opd_instruction code[32];
        const char *why;
        int64_t value;
        int size = (int)(question - text.at);
        const char *colon = memchr(question, ':', (size_t)(text.size - size));
        int count = opd_expression_compile(code, (int)OPD_COUNT(code), text.at, size, &scope, &why);
        if (colon == NULL || count < 0 || !opd_expression_run(&value, code, count, slots, NULL)) {
            break;
        }
        const char *end = text.at + text.size;
        const char *from = value != 0 ? question + 1 : colon + 1;
        const char *to = value != 0 ? colon : end;
        while (from < to && *from == ' ') {
            from++;
        }
        while (from < to && to[-1] == ' ') {
            to--;
        }
        text = (opd_slice){ from, (int)(to - from) };
    }
    return text;
}

/* "lda = 3 is less than max(1, n) = 4" */
static void explain_ld(char *text, size_t size, const struct checked *checked, int slot, int operand, int64_t smallest)
{
    const opd_plan *plan = checked->plan;
    const opd_plan_operand *owner = &plan->operands[operand];
    opd_slice name = plan->values[slot].name;
    long long given = checked->slots[slot];
    if (owner->mask == OPD_MASK_BAND) {
        snprintf(text, size, "%.*s = %lld is less than %lld, the diagonals of the band of %.*s", name.size, name.at,
                 given, (long long)smallest, owner->name.size, owner->name.at);
        return;
    }
    opd_slice extent = selected(plan, owner->dims[checked->is_row_major ? 1 : 0].formula.text, checked->slots);
    snprintf(text, size, "%.*s = %lld is less than max(1, %.*s) = %lld", name.size, name.at, given, extent.size,
             extent.at, (long long)smallest);
}

/* Is the value of a slot legal? */
static bool is_legal(const struct checked *checked, int slot, char *text, size_t size)
{
    const opd_call *call = checked->call;
    const opd_plan_value *value = &checked->plan->values[slot];
    const char *letters = opd_plan_letters(value, call->dtype);
    int64_t smallest = 1;
    int operand = 0;
    int64_t given = checked->slots[slot];
    char choice[OPD_CHOICE_TEXT];
    switch (value->use) {
    case OPD_USE_CHOICE:
        if (given <= 0 || given > 127 || strchr(letters, (int)given) == NULL) {
            opd_choice_print(choice, given);
            snprintf(text, size, "%.*s = %s is not one of %s", value->name.size, value->name.at, choice, letters);
            return false;
        }
        return true;
    case OPD_USE_DIM:
        if (given >= 0 || call->op->level == 1) {
            return true;
        }
        snprintf(text, size, "%.*s = %lld is negative", value->name.size, value->name.at, (long long)given);
        return false;
    case OPD_USE_LD:
        if (opd_plan_smallest_ld(&smallest, &operand, checked->plan, slot, checked->is_row_major, checked->slots) &&
            given >= smallest) {
            return true;
        }
        explain_ld(text, size, checked, slot, operand, smallest);
        return false;
    case OPD_USE_INC:
        if (given != 0 || call->op->level == 1) {
            return true;
        }
        snprintf(text, size, "%.*s = 0", value->name.size, value->name.at);
        return false;
    default:
        return true;
    }
}

static void explain_order(char *text, size_t size, const opd_call *call)
{
    if ((call->flags & OPD_CALL_CBLAS) != 0) {
        snprintf(text, size, "order = %d is neither 101 (row-major) nor 102 (column-major)", (int)call->order);
        return;
    }
    char order[OPD_CHOICE_TEXT];
    opd_choice_print(order, call->order);
    snprintf(text, size, "order = %s is neither R (row-major) nor C (column-major)", order);
}

/*
 * A 64-bit integer whose low half alone would make sense: a caller with 32-bit integers in front of a library with 64-bit
 * ones. A multiple of 2^32 is left alone: it has no low half to speak for it.
 */
static bool is_abi_suspect(int64_t value)
{
    int64_t low = (int32_t)(uint32_t)((uint64_t)value & 0xffffffffU);
    return value != low && low != 0 && low > -1024 && low < (1 << 20);
}

static bool has_abi_suspect(const opd_call *call, const opd_plan *plan, const int64_t *slots)
{
    if ((call->flags & OPD_CALL_ILP64) == 0) {
        return false;
    }
    for (int i = 0; i < plan->slot_count; i++) {
        opd_use use = plan->values[i].use;
        if (use != OPD_USE_CHOICE && use != OPD_USE_SCALAR && is_abi_suspect(slots[i])) {
            return true;
        }
    }
    return false;
}

/* The first operand whose last offset (n-1)*inc leaves int32, in a library that computes it there. */
static const opd_operand *find_overflow(const opd_call *call, const opd_plan *plan, const int64_t *slots)
{
    if ((call->flags & OPD_CALL_ILP64) != 0) {
        return NULL;
    }
    for (int i = 0; i < plan->operand_count; i++) {
        const opd_plan_operand *operand = &plan->operands[i];
        int64_t n;
        int64_t last;
        if (operand->inc < 0 || !opd_formula_run(&n, &operand->dims[0].formula, slots) || n <= 1) {
            continue;
        }
        if (!opd_mul_i64(&last, n - 1, slots[operand->inc]) || last != (int32_t)last) {
            return &call->operands[i];
        }
    }
    return NULL;
}

bool opd_plan_check(opd_call *call, const opd_plan *plan, const int64_t *slots, char *text, size_t size)
{
    struct checked checked = { call, plan, slots, (call->flags & OPD_CALL_ROW_MAJOR) != 0 };
    call->bad_arg = 0;
    call->flags &= ~(uint32_t)(OPD_CALL_BAD_ARGS | OPD_CALL_ABI_SUSPECT);
    text[0] = '\0';
    if (has_abi_suspect(call, plan, slots)) {
        call->flags |= OPD_CALL_ABI_SUSPECT;
    }
    if ((call->flags & OPD_CALL_BAD_ORDER) != 0) {
        explain_order(text, size, call);
        call->bad_arg = 1;
    }
    for (int i = 0; i < plan->arg_count && call->bad_arg == 0; i++) {
        int slot = plan->args[i].slot;
        if (slot >= 0 && !is_legal(&checked, slot, text, size)) {
            call->bad_arg = opd_plan_position(call, i);
        }
    }
    call->flags |= call->bad_arg != 0 ? OPD_CALL_BAD_ARGS : 0;
    return call->bad_arg == 0;
}

bool opd_call_bad_name(char name[OPD_NAME], const opd_call *call)
{
    const opd_plan *plan = call->bad_arg > 0 ? opd_plan_of_call(call) : NULL;
    if (plan == NULL) {
        opd_error_clear();
        return false;
    }
    if (plan->is_general) {
        bool is_operand = call->bad_arg <= call->operand_count;
        snprintf(name, OPD_NAME, "%s", is_operand ? call->operands[call->bad_arg - 1].name : "");
        return is_operand;
    }
    if ((call->flags & OPD_CALL_BAD_ORDER) != 0) {
        snprintf(name, OPD_NAME, "order");
        return true;
    }
    for (int i = 0; i < plan->arg_count; i++) {
        int slot = plan->args[i].slot;
        if (opd_plan_position(call, i) == call->bad_arg) {
            opd_slice found = slot >= 0 ? plan->values[slot].name : plan->operands[plan->args[i].operand].name;
            snprintf(name, OPD_NAME, "%.*s", found.size, found.at);
            return true;
        }
    }
    return false;
}

/* Would binding the call anew leave it as it is? plan: NULL where the operator binds its calls itself. */
static bool check_general(opd_call *call, const opd_plan *plan, char *text, size_t size)
{
    opd_call anew = *call;
    opd_status status = plan != NULL ? opd_general_bind(&anew, plan) : opd_call_bind(&anew);
    call->flags = (call->flags & ~(uint32_t)OPD_CALL_BAD_ARGS) | (anew.flags & OPD_CALL_BAD_ARGS);
    call->bad_arg = anew.bad_arg;
    if (status != OPD_OK) {
        snprintf(text, size, "%s", opd_error_text());
        return false;
    }
    text[0] = '\0';
    for (int i = 0; i < call->operand_count && i < anew.operand_count; i++) {
        const opd_tensor *is = &call->operands[i].view;
        const opd_tensor *should = &anew.operands[i].view;
        bool is_same = is->dtype == should->dtype && is->rank == should->rank &&
                       memcmp(is->shape, should->shape, (size_t)is->rank * sizeof is->shape[0]) == 0 &&
                       (plan != NULL || opd_tensor_same_places(is, should));
        if (!is_same) {
            char found[OPD_OPERAND_TEXT];
            char expected[OPD_OPERAND_TEXT];
            opd_operand_describe(found, &call->operands[i]);
            opd_operand_describe(expected, &anew.operands[i]);
            snprintf(text, size, "%s: %s, where it must be %s", call->op->name, found, expected);
            call->bad_arg = i + 1;
            call->flags |= OPD_CALL_BAD_ARGS;
            return false;
        }
    }
    if (anew.operand_count != call->operand_count) {
        snprintf(text, size, "%s: %d operands, where %d must be", call->op->name, call->operand_count,
                 anew.operand_count);
        return false;
    }
    return true;
}

bool opd_call_check(opd_call *call, char *text, size_t size, const opd_operand **overflow)
{
    char unwanted[1];
    if (size == 0) {
        text = unwanted;
        size = sizeof unwanted;
    }
    *overflow = NULL;
    if (opd_call_is_foreign(call)) {
        return true; /* its framework knows */
    }
    if (opd_dnnl_is(call)) {
        return check_general(call, NULL, text, size);
    }
    const opd_plan *plan = opd_plan_of_call(call);
    if (plan != NULL && plan->is_general) {
        return check_general(call, plan, text, size);
    }
    if (plan == NULL) {
        snprintf(text, size, "%s", opd_error_text());
        return false;
    }
    int64_t slots[OPD_PLAN_SLOTS];
    opd_plan_slots(slots, plan, call);
    *overflow = find_overflow(call, plan, slots);
    return opd_plan_check(call, plan, slots, text, size);
}
