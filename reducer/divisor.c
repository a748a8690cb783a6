/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triangular solves divide by diagonal elements: which of them is the smallest, and whether dividing by it leaves the range.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evidence.h"

/* Where the diagonal element i lies in an operand. */
static void place_of(int64_t index[2], const opd_tensor *view, int64_t i)
{
    const opd_mask *mask = &view->mask;
    index[0] = i;
    index[1] = i;
    if (mask->kind == OPD_MASK_BAND) {
        index[mask->by_rows ? 1 : 0] = mask->by_rows ? mask->kl : mask->ku;
    } else if (mask->kind == OPD_MASK_PACKED) {
        index[0] = mask->upper ? i * (i + 1) / 2 + i : i * mask->rows - i * (i - 1) / 2;
    }
}

static int64_t order_of(const opd_tensor *view)
{
    const opd_mask *mask = &view->mask;
    if (mask->kind == OPD_MASK_BAND || mask->kind == OPD_MASK_PACKED) {
        return mask->rows;
    }
    return view->rank == 2 && view->shape[0] == view->shape[1] ? view->shape[0] : 0;
}

static const opd_operand *divisor_of(const evidence *facts, const opd_health **health)
{
    const char *name = facts->call->op != NULL ? facts->call->op->divisor : NULL;
    for (int i = 0; name != NULL && i < facts->call->operand_count; i++) {
        const opd_operand *operand = &facts->call->operands[i];
        if (strcmp(operand->name, name) == 0 && operand->view.mask.unit == 0 && opd_must_be_read(operand)) {
            *health = &facts->before[i];
            return facts->has_health[i] ? operand : NULL;
        }
    }
    return NULL;
}

/* How far, as a power of ten, a solution may grow: each diagonal element that is next to nothing beside the matrix adds to it. */
static double growth_of(int64_t *smallest, double *least, const opd_tensor *view, double largest)
{
    double epsilon = opd_dtype_epsilon(view->dtype);
    double growth = 0;
    for (int64_t i = 0; i < order_of(view); i++) {
        int64_t index[2];
        double re = 0;
        double im = 0;
        place_of(index, view, i);
        opd_element_load(view->dtype, (const char *)view->data + opd_tensor_offset(view, index), &re, &im);
        double size = hypot(re, im);
        if (i == 0 || size < *least) {
            *least = size;
            *smallest = i;
        }
        growth += size > 0 && size < epsilon * largest ? log10(largest) - log10(size) : 0;
    }
    return growth;
}

/* As a power of ten: the largest element of what is solved for, and the scalar before it. */
static double right_side_of(const evidence *facts)
{
    double right = 0;
    opd_call copy = *facts->call;
    const opd_value *alpha = opd_call_value(&copy, "alpha");
    for (int i = 0; i < copy.operand_count; i++) {
        bool is_changed = (copy.operands[i].role & OPD_ROLE_OUT) != 0 && facts->has_health[i];
        right = is_changed ? fmax(right, opd_largest(&facts->before[i])) : right;
    }
    double scale = alpha != NULL && alpha->kind != OPD_VALUE_INT ? hypot(alpha->re, alpha->im) : 1;
    return right > 0 && scale > 0 ? log10(right) + log10(scale) : 0;
}

double opd_divides_too_far(char *text, size_t size, const evidence *facts)
{
    const opd_health *health = NULL;
    const opd_operand *operand = divisor_of(facts, &health);
    const opd_tensor *view = operand != NULL ? &operand->view : NULL;
    int64_t at = -1;
    double least = 0;
    if (view == NULL || health->nan + health->pos_inf + health->neg_inf > 0) {
        return 0;
    }
    if (view->data == NULL || (operand->flags & OPD_OPERAND_UNREADABLE) != 0) {
        snprintf(text, size, "%s holds zeros and %s divides by its diagonal", operand->name, facts->call->name);
        return health->zero > 0 ? 0.7 : 0; /* they may lie beside the diagonal */
    }
    double growth = growth_of(&at, &least, view, opd_largest(health));
    if (at < 0) {
        return 0;
    }
    snprintf(text, size, "%s[%" PRId64 ",%" PRId64 "] of the diagonal is %s%.3g and %s divides by it", operand->name,
             at, at, least > 0 ? "of size " : "", least, facts->call->name);
    double range = log10(opd_dtype_largest(facts->call->dtype)) - 0.5;
    double right = right_side_of(facts);
    return least == 0 || right - log10(least) > range || right + growth > range ? 0.9 : 0;
}

bool opd_rule_division(opd_failure *out, const evidence *facts)
{
    char text[160];
    double sureness = facts->outcome == OPD_OUTCOME_INF_BORN ? opd_divides_too_far(text, sizeof(text), facts) : 0;
    if (sureness <= 0) {
        return false;
    }
    for (int i = 0; i < facts->call->operand_count; i++) {
        bool is_read = opd_must_be_read(&facts->call->operands[i]);
        if (is_read && facts->before[i].pos_inf + facts->before[i].neg_inf > 0) {
            return false; /* the Inf came in */
        }
    }
    return opd_decide(out, "overflow", sureness, "all operands are finite; %s: the quotient is beyond the range of %s",
                      text, opd_dtype_name(facts->call->dtype));
}
