/* SPDX-License-Identifier: Apache-2.0 */
/* A call in words and in numbers: its one-line text, its operations and bytes. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "binding.h"
#include "dnnl/dnnl_define.h"

struct line {
    char *text;
    size_t size;
    size_t used;
    const char *separator;
};

static void append(struct line *line, const char *format, ...) OPD_PRINTF(2, 3);
static void append(struct line *line, const char *format, ...)
{
    if (line->used >= line->size) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(line->text + line->used, line->size - line->used, format, arguments);
    va_end(arguments);
    line->used += count > 0 ? (size_t)count : 0;
}

static void append_item(struct line *line, const char *name, const char *format, ...) OPD_PRINTF(3, 4);
static void append_item(struct line *line, const char *name, const char *format, ...)
{
    char value[OPD_INTS_TEXT];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(value, sizeof value, format, arguments);
    va_end(arguments);
    append(line, "%s%s%s%s", line->separator, name, name[0] != '\0' ? "=" : "", value);
    line->separator = ", ";
}

/* Leading dimensions are told when they are not the smallest, increments when they are not 1. */
static bool is_telling(const opd_plan *plan, int slot, bool is_row_major, const int64_t *slots)
{
    int64_t smallest;
    int operand;
    if (plan->values[slot].use == OPD_USE_INC) {
        return slots[slot] != 1;
    }
    return plan->values[slot].use != OPD_USE_LD ||
           !opd_plan_smallest_ld(&smallest, &operand, plan, slot, is_row_major, slots) || slots[slot] != smallest;
}

void opd_value_print_ints(char *text, size_t size, const opd_value *value)
{
    struct line line = { .size = size, .separator = "" };
    line.text = text;
    append(&line, "[");
    for (int i = 0; i < value->i && i < OPD_MAX_INTS; i++) {
        append(&line, "%s%lld", i > 0 ? ", " : "", (long long)value->ints[i]);
    }
    append(&line, "]");
}

static void describe_value(struct line *line, const opd_value *value)
{
    char choice[OPD_CHOICE_TEXT];
    switch (value->kind) {
    case OPD_VALUE_CHOICE:
        opd_choice_print(choice, value->i);
        append_item(line, opd_choice_is_letter(value->i) ? "" : value->name, "%s", choice);
        break;
    case OPD_VALUE_REAL:
        append_item(line, value->name, "%.9g", value->re);
        break;
    case OPD_VALUE_COMPLEX:
        if (value->im == 0) {
            append_item(line, value->name, "%.9g", value->re);
        } else {
            append_item(line, value->name, "%.9g%+.9gi", value->re, value->im);
        }
        break;
    case OPD_VALUE_TEXT:
        append_item(line, value->name, "%.*s", (int)sizeof value->text, value->text);
        break;
    case OPD_VALUE_INTS: {
        char ints[OPD_INTS_TEXT];
        opd_value_print_ints(ints, sizeof ints, value);
        append_item(line, value->name, "%s", ints);
        break;
    }
    case OPD_VALUE_NONE:
        break;
    default:
        append_item(line, value->name, "%lld", (long long)value->i);
        break;
    }
}

/* A call without contract: what it carries, in its own order. */
static void describe_unknown(struct line *line, const opd_call *call)
{
    for (int i = 0; i < call->symbol_count && i < OPD_MAX_SYMBOLS; i++) {
        describe_value(line, &call->symbols[i]);
    }
    for (int i = 0; i < call->attr_count && i < OPD_MAX_ATTRS + OPD_MAX_OPERANDS; i++) {
        describe_value(line, &call->attrs[i]);
    }
}

static bool is_same_value(const opd_value *a, const opd_value *b)
{
    return a->kind == b->kind && a->i == b->i && a->re == b->re && a->im == b->im &&
           memcmp(a->text, b->text, sizeof a->text) == 0;
}

/* Operands that are there, then what attributes do not say by default. */
static void describe_general(struct line *line, const opd_call *call)
{
    opd_call plain;
    for (int i = 0; i < call->operand_count && (call->operands[i].role & OPD_ROLE_IN) != 0; i++) {
        char text[OPD_OPERAND_TEXT];
        if ((call->operands[i].flags & OPD_OPERAND_ABSENT) == 0) {
            opd_operand_describe(text, &call->operands[i]);
            append_item(line, "", "%s", text);
        }
    }
    bool is_known = opd_general_attributes(&plain, call->op) == OPD_OK;
    for (int i = 0; i < call->attr_count; i++) {
        if (!is_known || !is_same_value(&plain.attrs[i], &call->attrs[i])) {
            describe_value(line, &call->attrs[i]);
        }
    }
}

static void append_order(struct line *line, const opd_call *call)
{
    char text[OPD_CHOICE_TEXT];
    int64_t order = 0;
    if (opd_call_order(&order, call)) {
        opd_choice_print(text, order);
        append_item(line, "order", "%s", text);
    }
}

void opd_call_describe(char *text, size_t size, const opd_call *call)
{
    struct line line = { .size = size, .separator = "" };
    line.text = text;
    append(&line, "%.*s(", OPD_NAME, call->name);
    const opd_plan *plan = call->op != NULL && !opd_dnnl_is(call) ? opd_plan_of_call(call) : NULL;
    bool is_row_major = (call->flags & OPD_CALL_ROW_MAJOR) != 0;
    if (is_row_major) {
        append_item(&line, "", "row-major");
    }
    if ((call->flags & OPD_CALL_BAD_ORDER) != 0) {
        append_order(&line, call);
    }
    if (plan == NULL) {
        describe_unknown(&line, call);
    } else if (plan->is_general) {
        describe_general(&line, call);
    } else {
        int64_t slots[OPD_PLAN_SLOTS];
        opd_plan_slots(slots, plan, call);
        for (int i = 0; i < plan->arg_count; i++) {
            int slot = plan->args[i].slot;
            if (slot >= 0 && is_telling(plan, slot, is_row_major, slots)) {
                describe_value(&line, opd_plan_value_at(plan, call, slot));
            }
        }
    }
    append(&line, ")");
}

void opd_mxcsr_describe(char *text, size_t size, uint32_t mxcsr)
{
    static const char *const directions[] = { NULL, "down", "up", "toward zero" };
    static const char *const exceptions[] = {
        "invalid", "denormal", "zero-divide", "overflow", "underflow", "inexact"
    };
    struct line line = { .size = size, .separator = "" };
    line.text = text;
    append(&line, "%s", "");
    mxcsr &= OPD_MXCSR_CONTROL;
    if (mxcsr == 0) {
        return;
    }
    bool is_both = (mxcsr & OPD_MXCSR_FTZ) != 0 && (mxcsr & OPD_MXCSR_DAZ) != 0;
    if ((mxcsr & (OPD_MXCSR_FTZ | OPD_MXCSR_DAZ)) != 0) {
        append_item(&line, "", "%s", is_both ? "FTZ DAZ" : (mxcsr & OPD_MXCSR_FTZ) != 0 ? "FTZ" : "DAZ");
    }
    if (directions[mxcsr >> 13 & 3] != NULL) {
        append_item(&line, "", "round %s", directions[mxcsr >> 13 & 3]);
    }
    uint32_t trapped = ~mxcsr >> 7 & 63;
    for (uint32_t i = 0; i < OPD_COUNT(exceptions); i++) {
        if ((trapped >> i & 1) != 0) {
            append_item(&line, "", "traps %s", exceptions[i]);
        }
    }
}

double opd_call_flops(const opd_call *call)
{
    if (opd_dnnl_is(call)) {
        return opd_dnnl_work(call);
    }
    const opd_plan *plan = opd_plan_of_call(call);
    if (plan == NULL) {
        return 0;
    }
    int64_t count = 0;
    if (plan->flops.code != NULL && !opd_call_run(&count, plan, call, &plan->flops)) {
        return INFINITY;
    }
    /* A complex multiplication and addition take 8 real operations, a real pair 2. */
    return (double)(count > 0 ? count : 0) * (opd_dtype_is_complex(call->dtype) ? 4.0 : 1.0);
}

double opd_call_bytes(const opd_call *call)
{
    double bytes = 0;
    for (int i = 0; i < call->operand_count && i < OPD_MAX_OPERANDS; i++) {
        const opd_operand *operand = &call->operands[i];
        bool is_read = (operand->role & OPD_ROLE_IN) != 0 && (operand->flags & OPD_OPERAND_MUST_NOT_READ) == 0;
        if (is_read || (operand->role & OPD_ROLE_OUT) != 0) {
            bytes += (double)opd_tensor_existing(&operand->view) * (double)opd_dtype_size(operand->view.dtype);
        }
    }
    return bytes;
}
