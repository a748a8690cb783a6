/* SPDX-License-Identifier: Apache-2.0 */
/* What a contract lets callers choose: its symbols, attributes and dtypes, for listings and for those who make up calls. */
#include <stdio.h>
#include <string.h>

#include "plan.h"

/* "N|T|C" of "NTC" */
static void list_letters(char *text, size_t size, const char *letters)
{
    size_t used = 0;
    text[0] = '\0';
    for (const char *letter = letters; *letter != '\0' && used < size; letter++) {
        used += (size_t)snprintf(text + used, size - used, "%s%c", used > 0 ? "|" : "", *letter);
    }
}

static void list_symbol(opd_op_value *out, const opd_plan_value *value)
{
    static const char *const endings[] = { "", "?", "...", "+" };
    snprintf(out->name, sizeof out->name, "%.*s%s", value->name.size, value->name.at, endings[value->reach]);
    out->kind = OPD_VALUE_INT;
    out->is_symbol = true;
    if (value->is_free) {
        return; /* what the shape function says */
    }
    if (value->reach == OPD_REACH_MANY) {
        snprintf(out->initial, sizeof out->initial, "%.*s", value->text.size, value->text.at);
    } else {
        snprintf(out->initial, sizeof out->initial, "%d", (int)value->initial);
    }
}

static void list_range(opd_op_value *out, const opd_plan_value *value)
{
    snprintf(out->legal, sizeof out->legal, "%.*s", value->range.text.size, value->range.text.at);
}

static void list_attribute(opd_op_value *out, const opd_plan_value *value)
{
    static const opd_value_kind kinds[] = {
        [OPD_USE_CHOICE] = OPD_VALUE_CHOICE, [OPD_USE_SCALAR] = OPD_VALUE_REAL, [OPD_USE_INT] = OPD_VALUE_INT,
        [OPD_USE_LD] = OPD_VALUE_INT,        [OPD_USE_INC] = OPD_VALUE_INT,     [OPD_USE_REAL] = OPD_VALUE_REAL,
        [OPD_USE_WORD] = OPD_VALUE_TEXT,     [OPD_USE_INTS] = OPD_VALUE_INTS,
    };
    snprintf(out->name, sizeof out->name, "%.*s", value->name.size, value->name.at);
    out->kind = kinds[value->use];
    out->is_optional = value->is_optional;
    switch (value->use) {
    case OPD_USE_CHOICE:
        list_letters(out->legal, sizeof out->legal, value->letters[0]);
        snprintf(out->initial, sizeof out->initial, "%c", value->letters[0][0]);
        break;
    case OPD_USE_WORD:
        snprintf(out->legal, sizeof out->legal, "%.*s", value->words.size, value->words.at);
        snprintf(out->initial, sizeof out->initial, "%.*s", value->is_optional ? 0 : value->text.size, value->text.at);
        break;
    case OPD_USE_REAL:
    case OPD_USE_INTS:
        list_range(out, value);
        snprintf(out->initial, sizeof out->initial, "%.*s", value->text.size, value->text.at);
        break;
    case OPD_USE_INT:
        list_range(out, value);
        snprintf(out->initial, sizeof out->initial, "%.*s",
                 value->text.size > 0 || value->is_optional ? value->text.size : 1,
                 value->text.size > 0 ? value->text.at : "1");
        break;
    default:
        snprintf(out->initial, sizeof out->initial, "1");
        break;
    }
}

int opd_op_values(const opd_op *op, opd_op_value *values, int capacity)
{
    const opd_plan *plan = opd_plan_of(op);
    int count = 0;
    for (int i = 0; plan != NULL && i < plan->slot_count && count < capacity; i++) {
        const opd_plan_value *value = &plan->values[i];
        if (value->use == OPD_USE_LD || value->use == OPD_USE_INC) {
            continue; /* of the layout, not of the operator */
        }
        opd_op_value *out = &values[count++];
        memset(out, 0, sizeof *out);
        if (value->use == OPD_USE_DIM) {
            list_symbol(out, value);
        } else {
            list_attribute(out, value);
        }
    }
    return count;
}

/* Those of a BLAS operator's routines. */
static int routine_dtypes(const opd_op *op, opd_dtype *dtypes, int capacity)
{
    int count = 0;
    for (int i = 0; i < opd_routine_count() && count < capacity; i++) {
        const opd_routine *routine = opd_routine_at(i);
        if (routine->op == op) {
            dtypes[count++] = routine->dtype;
        }
    }
    return count;
}

int opd_op_dtypes(const opd_op *op, opd_dtype *dtypes, int capacity)
{
    const opd_plan *plan = opd_plan_of(op);
    if (plan == NULL || !plan->is_general) {
        return plan != NULL ? routine_dtypes(op, dtypes, capacity) : 0;
    }
    int count = 0;
    for (int i = 0; i < plan->types[0].count && count < capacity; i++) {
        dtypes[count++] = (opd_dtype)plan->types[0].dtypes[i];
    }
    return count;
}
