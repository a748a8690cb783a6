// SPDX-License-Identifier: Apache-2.0
// Passes over values: whole case and whole operands to one value, then elements to zero by halving chunks (Lithium), then what
// is left to simpler numbers, equal ones together. Integers are never invented: they may be indices.
#include "judging.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_SURVIVORS = 24,    /* distinct values that are simplified one by one */
    MAX_LITHIUM = 1 << 20, /* elements of an operand that is cleaned element by element */
};

typedef enum simple_fill { FILL_ZERO, FILL_ONE, FILL_RAMP, FILL_COUNT } simple_fill;
static const char *const fill_text[FILL_COUNT] = { "0", "1", "1, 2, 3, ..." };

static bool is_changeable(const opd_operand *operand)
{
    return operand->view.data != NULL && opd_dtype_is_float(operand->view.dtype) &&
           (operand->flags & (OPD_OPERAND_RETURNED | OPD_OPERAND_FRESH)) == 0;
}

static void *element_at(const opd_tensor *view, const int64_t *index)
{
    return (char *)view->data + opd_tensor_offset(view, index);
}

static void fill_operand(opd_operand *operand, simple_fill fill)
{
    int64_t index[OPD_MAX_RANK] = { 0 };
    int64_t count = opd_tensor_count(&operand->view);
    for (int64_t flat = 0; flat < count; flat++) {
        opd_tensor_unflatten(&operand->view, flat, index);
        if (opd_tensor_exists(&operand->view, index)) {
            double value = fill == FILL_RAMP ? (double)(flat % 7 + 1) : (double)(fill == FILL_ONE);
            opd_element_store(operand->view.dtype, element_at(&operand->view, index), value, 0);
        }
    }
}

/* A copy of best to be changed; false (and state->status) when there is no memory. */
static bool begin(opd_search_state *state, opd_case *candidate)
{
    opd_status status = opd_may_go_on(state) ? opd_case_copy(candidate, &state->best) : OPD_E_LIMIT;
    if (status != OPD_OK && opd_may_go_on(state)) {
        state->status = status;
    }
    return status == OPD_OK;
}

/* Tries a changed copy; one that is equal to best is dropped without a question. */
static bool finish(opd_search_state *state, opd_case *candidate)
{
    opd_case_refresh(candidate);
    opd_digest a = opd_case_id(candidate);
    opd_digest b = opd_case_id(&state->best);
    if (opd_digest_equal(&a, &b)) {
        opd_case_done(candidate);
        return false;
    }
    return opd_try(state, candidate);
}

/* operand < 0: all of them. */
static bool try_fill(opd_search_state *state, int operand, simple_fill fill)
{
    opd_case candidate;
    if (!begin(state, &candidate)) {
        return false;
    }
    for (int i = 0; i < candidate.call.operand_count; i++) {
        if ((operand < 0 || operand == i) && is_changeable(&candidate.call.operands[i])) {
            fill_operand(&candidate.call.operands[i], fill);
        }
    }
    return finish(state, &candidate);
}

/* Simpler is smaller. */
static int complexity(double value)
{
    double size = fabs(value);
    int sign = signbit(value) ? 1 : 0;
    if (size == 0) {
        return sign;
    }
    if (size == 1) {
        return 2 + sign;
    }
    if (isnan(value) || isinf(value)) {
        return 4 + sign;
    }
    if (size <= 16 && size == trunc(size)) {
        return 6 + 2 * (int)size + sign;
    }
    int exponent = 0;
    double ten = pow(10, rint(log10(size)));
    if (size == ten || size == (double)(float)ten) {
        return 50 + sign;
    }
    if (frexp(size, &exponent) == 0.5) {
        return 52 + sign;
    }
    return (size < 1e6 && size == trunc(size) ? 60 : 80) + sign;
}

/*
 * Is no element less simple than those of the fill? Then the fill is not tried: it would undo the zeros of the sweep before. So each sweep that changes
 * something lowers the largest complexity, or leaves more zeros or simpler values under it, and the sweeps come to an end.
 */
static bool is_as_simple(const opd_operand *operand, simple_fill fill)
{
    static const double largest[FILL_COUNT] = { 0, 1, 7 };
    int64_t index[OPD_MAX_RANK] = { 0 };
    int64_t count = opd_tensor_count(&operand->view);
    for (int64_t flat = 0; flat < count; flat++) {
        double re = 0;
        double im = 0;
        opd_tensor_unflatten(&operand->view, flat, index);
        if (!opd_tensor_exists(&operand->view, index)) {
            continue;
        }
        opd_element_load(operand->view.dtype, element_at(&operand->view, index), &re, &im);
        if (complexity(re) > complexity(largest[fill]) || complexity(im) > complexity(0)) {
            return false;
        }
    }
    return true;
}

/* The whole case, at first and whenever it has become smaller. */
bool opd_pass_constants(opd_search_state *state)
{
    bool is_simple = true;
    state->pass = "constants";
    for (int i = 0; i < state->best.call.operand_count; i++) {
        const opd_operand *operand = &state->best.call.operands[i];
        is_simple = is_simple && (!is_changeable(operand) || is_as_simple(operand, FILL_ONE));
    }
    return !is_simple && try_fill(state, -1, FILL_ONE) && opd_commit(state, "values: all 1");
}

static bool fill_whole(opd_search_state *state, int operand)
{
    for (simple_fill fill = FILL_ZERO; fill < FILL_COUNT; fill++) {
        const opd_operand *now = &state->best.call.operands[operand];
        if (is_as_simple(now, fill)) {
            return false;
        }
        if (try_fill(state, operand, fill)) {
            return opd_commit(state, "%s: all %s", state->best.call.operands[operand].name, fill_text[fill]);
        }
    }
    return false;
}

/* Zeroes the existing elements first .. first + count of an operand (row-major); true when that changed one. */
static bool zero_range(opd_operand *operand, int64_t first, int64_t count)
{
    bool changed = false;
    int64_t index[OPD_MAX_RANK] = { 0 };
    int64_t total = opd_tensor_count(&operand->view);
    for (int64_t flat = first; flat < total && flat < first + count; flat++) {
        double re = 0;
        double im = 0;
        opd_tensor_unflatten(&operand->view, flat, index);
        if (!opd_tensor_exists(&operand->view, index)) {
            continue;
        }
        void *element = element_at(&operand->view, index);
        opd_element_load(operand->view.dtype, element, &re, &im);
        changed = changed || re != 0 || im != 0;
        opd_element_store(operand->view.dtype, element, 0, 0);
    }
    return changed;
}

static bool try_zero_range(opd_search_state *state, int operand, int64_t first, int64_t count)
{
    opd_case candidate;
    if (!begin(state, &candidate)) {
        return false;
    }
    if (!zero_range(&candidate.call.operands[operand], first, count)) {
        opd_case_done(&candidate);
        return false;
    }
    return finish(state, &candidate);
}

/* source: Lithium's minimise strategy: chunks of n/2, n/4, ... 1; the last size again until nothing more goes. */
static bool zero_by_halving(opd_search_state *state, int operand)
{
    int64_t total = opd_tensor_count(&state->best.call.operands[operand].view);
    if (total > MAX_LITHIUM || total < 2) {
        return false;
    }
    int64_t chunk = 1;
    while (chunk * 2 < total) {
        chunk *= 2;
    }
    bool again = true;
    while (chunk >= 1 && again && opd_may_go_on(state)) {
        bool took = false;
        for (int64_t first = 0; first < total && opd_may_go_on(state); first += chunk) {
            took = try_zero_range(state, operand, first, chunk) || took;
        }
        again = chunk > 1 || took;
        chunk = chunk > 1 ? chunk / 2 : 1;
    }
    return opd_commit(state, "%s: elements to 0", state->best.call.operands[operand].name);
}

/* ------------------------------------------------------------------------------------------------- survivors */

static bool same_number(double a, double b)
{
    return isnan(a) || isnan(b) ? isnan(a) && isnan(b) : a == b && signbit(a) == signbit(b);
}

static int simpler_values(double *out, double value)
{
    int count = 0;
    double size = fabs(value);
    out[count++] = 0;
    out[count++] = 1;
    out[count++] = -1;
    if (isnan(value) || isinf(value)) {
        out[count++] = isnan(value) ? (double)NAN : size;
        return count;
    }
    if (size < 1e6) {
        out[count++] = trunc(value);
        out[count++] = value < 0 ? -2 : 2;
    }
    int exponent = 0;
    frexp(size, &exponent);
    double ten = pow(10, floor(log10(size)));
    double two = ldexp(0.5, exponent);
    out[count++] = ten;
    out[count++] = copysign(ten, value);
    out[count++] = two;
    out[count++] = copysign(two, value);
    out[count++] = size;
    return count;
}

/* Replaces every part of an element that equals old, in all operands. */
static void replace_all(opd_case *item, double old, double now)
{
    for (int o = 0; o < item->call.operand_count; o++) {
        opd_operand *operand = &item->call.operands[o];
        int64_t index[OPD_MAX_RANK] = { 0 };
        int64_t count = is_changeable(operand) ? opd_tensor_count(&operand->view) : 0;
        for (int64_t flat = 0; flat < count; flat++) {
            double re = 0;
            double im = 0;
            opd_tensor_unflatten(&operand->view, flat, index);
            if (!opd_tensor_exists(&operand->view, index)) {
                continue;
            }
            void *element = element_at(&operand->view, index);
            opd_element_load(operand->view.dtype, element, &re, &im);
            if (same_number(re, old) || same_number(im, old)) {
                opd_element_store(operand->view.dtype, element, same_number(re, old) ? now : re,
                                  same_number(im, old) ? now : im);
            }
        }
    }
}

static void note(double *values, int *count, double value)
{
    for (int i = 0; i < *count; i++) {
        if (same_number(values[i], value)) {
            return;
        }
    }
    if (*count < MAX_SURVIVORS && !same_number(value, 0)) {
        values[(*count)++] = value;
    }
}

static int distinct_values(double *values, const opd_case *item)
{
    int found = 0;
    for (int o = 0; o < item->call.operand_count; o++) {
        const opd_operand *operand = &item->call.operands[o];
        int64_t index[OPD_MAX_RANK] = { 0 };
        int64_t count = is_changeable(operand) ? opd_tensor_count(&operand->view) : 0;
        for (int64_t flat = 0; flat < count && found < MAX_SURVIVORS; flat++) {
            double re = 0;
            double im = 0;
            opd_tensor_unflatten(&operand->view, flat, index);
            if (opd_tensor_exists(&operand->view, index)) {
                opd_element_load(operand->view.dtype, element_at(&operand->view, index), &re, &im);
                note(values, &found, re);
                note(values, &found, im);
            }
        }
    }
    return found;
}

static bool simplify_value(opd_search_state *state, double value)
{
    double simpler[10];
    int count = simpler_values(simpler, value);
    for (int i = 0; i < count; i++) {
        opd_case candidate;
        if (complexity(simpler[i]) >= complexity(value) || !begin(state, &candidate)) {
            continue;
        }
        replace_all(&candidate, value, simpler[i]);
        if (finish(state, &candidate)) {
            return opd_commit(state, "value %g -> %g", value, simpler[i]);
        }
    }
    return false;
}

bool opd_pass_values(opd_search_state *state)
{
    bool changed = false;
    double values[MAX_SURVIVORS];
    state->pass = "values";
    for (int o = 0; o < state->best.call.operand_count && opd_may_go_on(state); o++) {
        if (is_changeable(&state->best.call.operands[o])) {
            changed = fill_whole(state, o) || zero_by_halving(state, o) || changed;
        }
    }
    int count = distinct_values(values, &state->best);
    for (int i = 0; i < count && opd_may_go_on(state); i++) {
        changed = simplify_value(state, values[i]) || changed;
    }
    return changed;
}
