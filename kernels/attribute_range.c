/* SPDX-License-Identifier: Apache-2.0 */
/* Legal values of a general operator's attributes: "0:1" a span, "0|1" a list, "axis(X)" a dimension of the operand X, from the end when negative. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plan.h"

static bool read_span(opd_range *out, opd_slice text)
{
    const char *colon = memchr(text.at, ':', (size_t)text.size);
    opd_slice low = { text.at, (int)(colon - text.at) };
    opd_slice high = { colon + 1, text.size - low.size - 1 };
    out->kind = OPD_RANGE_SPAN;
    out->low = -HUGE_VAL;
    out->high = HUGE_VAL;
    return (low.size == 0 || opd_slice_real(&out->low, low)) && (high.size == 0 || opd_slice_real(&out->high, high)) &&
           out->low <= out->high;
}

static bool read_list(opd_range *out, opd_slice text)
{
    opd_slice item;
    out->kind = OPD_RANGE_LIST;
    while (opd_slice_next(&item, &text, '|')) {
        if (out->list_count == OPD_RANGE_LIST_SIZE || !opd_slice_int(&out->list[out->list_count++], item)) {
            return false;
        }
    }
    return out->list_count > 0;
}

bool opd_range_cut(opd_range *out, opd_slice *text)
{
    opd_slice inside;
    opd_range range = { .kind = OPD_RANGE_ANY };
    int at = text->size - 1;
    while (at > 0 && text->at[at] != '[') {
        at--;
    }
    bool is_last = at > 0 && text->at[text->size - 1] == ']';
    inside = is_last ? (opd_slice){ text->at + at + 1, text->size - at - 2 } : (opd_slice){ text->at, 0 };
    bool is_axis = inside.size > 4 && memcmp(inside.at, "axis", 4) == 0;
    bool is_span = inside.size > 0 && memchr(inside.at, ':', (size_t)inside.size) != NULL;
    bool is_list = inside.size > 0 && memchr(inside.at, '|', (size_t)inside.size) != NULL;
    bool is_good = true;
    if (is_axis) {
        range.kind = OPD_RANGE_AXIS;
        is_good = opd_slice_is(opd_slice_head(inside, &range.operand), "axis") && opd_slice_is_name(range.operand);
    } else if (is_span || is_list) {
        is_good = is_span ? read_span(&range, inside) : read_list(&range, inside);
    } else {
        *out = range;
        return true;
    }
    range.text = inside;
    text->size = at;
    *out = range;
    return is_good;
}

static bool is_within(const opd_range *range, double value)
{
    if (range->kind == OPD_RANGE_SPAN) {
        return value >= range->low && value <= range->high;
    }
    for (int i = 0; i < range->list_count; i++) {
        if (value == (double)range->list[i]) {
            return true;
        }
    }
    return false;
}

/* An operand without dimensions bounds no axis. */
static opd_status check_axis(const opd_call *call, const opd_plan_value *expected, int64_t axis)
{
    const opd_slice *name = &expected->range.operand;
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        bool is_named =
            strlen(operand->name) == (size_t)name->size && memcmp(operand->name, name->at, (size_t)name->size) == 0;
        int rank = operand->view.rank;
        if (is_named && rank > 0 && (axis < -rank || axis >= rank)) {
            return opd_fail(OPD_E_INVALID, "%s: %.*s %lld is out of range for %d dimensions", call->op->name,
                            expected->name.size, expected->name.at, (long long)axis, rank);
        }
    }
    return OPD_OK;
}

/* "0 or more", "from 0 to 1", "0 or 1". */
static void describe(char *text, size_t size, const opd_range *range)
{
    size_t used = 0;
    if (range->kind == OPD_RANGE_SPAN && isinf(range->high)) {
        snprintf(text, size, "%.9g or more", range->low);
    } else if (range->kind == OPD_RANGE_SPAN && isinf(range->low)) {
        snprintf(text, size, "%.9g or less", range->high);
    } else if (range->kind == OPD_RANGE_SPAN) {
        snprintf(text, size, "from %.9g to %.9g", range->low, range->high);
    }
    for (int i = 0; i < range->list_count && used < size; i++) {
        const char *link = i == 0 ? "" : i + 1 == range->list_count ? " or " : ", ";
        used += (size_t)snprintf(text + used, size - used, "%s%lld", link, (long long)range->list[i]);
    }
}

static opd_status check_number(const opd_call *call, const opd_plan_value *expected, double value)
{
    const opd_range *range = &expected->range;
    char may[96];
    if (range->kind == OPD_RANGE_AXIS) {
        return check_axis(call, expected, (int64_t)value);
    }
    if (is_within(range, value)) {
        return OPD_OK;
    }
    describe(may, sizeof may, range);
    return opd_fail(OPD_E_INVALID, "%s: %.*s is %.9g, it may be %s", call->op->name, expected->name.size,
                    expected->name.at, value, may);
}

opd_status opd_range_check(const opd_call *call, const opd_plan_value *expected, const opd_value *value)
{
    opd_status status = OPD_OK;
    if (expected->range.kind == OPD_RANGE_ANY || value->kind == OPD_VALUE_NONE) {
        return OPD_OK;
    }
    if (value->kind == OPD_VALUE_INT) {
        return check_number(call, expected, (double)value->i);
    }
    if (value->kind == OPD_VALUE_REAL) {
        return check_number(call, expected, value->re);
    }
    for (int64_t i = 0; value->kind == OPD_VALUE_INTS && i < value->i && i < OPD_MAX_INTS && status == OPD_OK; i++) {
        status = check_number(call, expected, (double)value->ints[i]);
    }
    return status;
}
