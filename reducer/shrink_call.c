// SPDX-License-Identifier: Apache-2.0
// Passes over the call: sizes (linked by the contract), layout (increments, leading dimensions, alignment, overlap),
// attributes. Candidates are real data first, as a prefix and, where that loses the bad element, as a window around it.
#include "judging.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "shape_search.h"

static bool is_size_attribute(const opd_call *call, const opd_value *value)
{
    char spec[OPD_NAME];
    return value->kind == OPD_VALUE_INT && opd_attribute_spec(spec, sizeof(spec), call->op, value->name) &&
           strcmp(spec, "dim") == 0;
}

static bool is_layout_value(const opd_call *call, const opd_value *value)
{
    char spec[OPD_NAME];
    return value->kind == OPD_VALUE_INT && !opd_attribute_spec(spec, sizeof(spec), call->op, value->name);
}

void opd_sizes_of(opd_sizes *out, opd_call *call)
{
    out->count = 0;
    for (int i = 0; i < call->symbol_count; i++) {
        out->name[out->count] = call->symbols[i].name;
        out->value[out->count] = call->symbols[i].i;
        out->least[out->count++] = call->symbols[i].i < 1 ? call->symbols[i].i : 1;
    }
    for (int i = 0; i < call->attr_count; i++) {
        if (is_size_attribute(call, &call->attrs[i])) {
            out->name[out->count] = call->attrs[i].name;
            out->value[out->count] = call->attrs[i].i;
            out->least[out->count++] = call->attrs[i].i < 0 ? call->attrs[i].i : 0;
        }
    }
}

/* Sets a value of a call whose arguments are illegal and stay so: no mending of the others. */
static void set_as_is(opd_call *call, const char *name, int64_t value)
{
    opd_value *slot = opd_call_value(call, name);
    if (slot != NULL) {
        slot->i = value;
    }
    opd_status ignored = opd_call_bind(call);
    (void)ignored;
}

static bool set_value(opd_call *call, const opd_search_state *state, const char *name, int64_t value)
{
    if (state->bad_arg != 0) {
        set_as_is(call, name, value);
        return true;
    }
    return opd_call_set(call, name, value) == OPD_OK;
}

/* Leading dimensions that were minimal stay minimal; one that was too small stays one too small. */
static bool keep_tight(opd_call *call, const opd_search_state *state)
{
    const opd_call *old = &state->best.call;
    opd_call old_least = *old;
    opd_call least = *call;
    if (opd_call_compact(&old_least) != OPD_OK || opd_call_compact(&least) != OPD_OK) {
        return state->bad_arg != 0;
    }
    for (int i = 0; i < call->attr_count; i++) {
        if (!is_layout_value(call, &call->attrs[i])) {
            continue;
        }
        int64_t was = old->attrs[i].i - old_least.attrs[i].i;
        int64_t wanted = was < 0 && state->bad_arg != 0 ? least.attrs[i].i - 1 : least.attrs[i].i;
        bool is_tight = was == 0 || (was < 0 && state->bad_arg != 0 && old->attrs[i].i > 0);
        if (is_tight && wanted != call->attrs[i].i && !set_value(call, state, call->attrs[i].name, wanted)) {
            return false;
        }
    }
    return true;
}

bool opd_call_with_sizes(opd_call *out, const opd_search_state *state, const opd_sizes *sizes, const int64_t *value)
{
    *out = state->best.call;
    for (int i = 0; i < sizes->count; i++) {
        const opd_value *slot = opd_call_value(out, sizes->name[i]);
        if (slot != NULL && slot->i != value[i] && !set_value(out, state, sizes->name[i], value[i])) {
            return false;
        }
    }
    return keep_tight(out, state);
}

/* Tries best's data under call. */
static bool try_call(opd_search_state *state, const opd_call *call, opd_slicing slicing, const opd_focus *focus)
{
    opd_case candidate;
    opd_status status = opd_derive(&candidate, &state->best, call, slicing, focus, OPD_CASE_LIMIT);
    if (status == OPD_E_NOMEM) {
        state->status = status;
    }
    if (status != OPD_OK) {
        state->report->invalid++;
        return false;
    }
    return opd_try(state, &candidate);
}

typedef struct shape_question {
    opd_search_state *state;
    opd_sizes sizes;
    opd_call names; /* owner of the names in sizes */
} shape_question;

static bool probe_shape(void *context, const int64_t *value)
{
    shape_question *question = context;
    opd_search_state *state = question->state;
    opd_call call;
    if (!opd_may_go_on(state) || !opd_call_with_sizes(&call, state, &question->sizes, value)) {
        return false;
    }
    if (!state->has_focus) {
        opd_focus_find(&state->focus, &state->best, &state->observed);
        state->has_focus = true;
    }
    const opd_focus focus = state->focus; /* an adopted candidate has another one */
    if (!opd_focus_is_outside(&focus, &call)) {
        return try_call(state, &call, OPD_SLICE_PREFIX, &focus);
    }
    opd_slicing first = state->prefers_window ? OPD_SLICE_WINDOW : OPD_SLICE_PREFIX;
    opd_slicing second = state->prefers_window ? OPD_SLICE_PREFIX : OPD_SLICE_WINDOW;
    if (try_call(state, &call, first, &focus)) {
        return true;
    }
    if (try_call(state, &call, second, &focus)) {
        state->prefers_window = second == OPD_SLICE_WINDOW;
        return true;
    }
    return false;
}

static bool settle_shape(void *context, const int64_t *before, const int64_t *value)
{
    shape_question *question = context;
    char text[160] = "";
    size_t used = 0;
    for (int i = 0; i < question->sizes.count && used < sizeof(text); i++) {
        if (before[i] != value[i]) {
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s: %lld -> %lld", used == 0 ? "" : ", ",
                                     question->sizes.name[i], (long long)before[i], (long long)value[i]);
        }
    }
    return opd_commit(question->state, "%s", text);
}

bool opd_pass_shapes(opd_search_state *state)
{
    shape_question question = { .state = state, .names = state->best.call };
    opd_search search = { .probe = probe_shape, .settle = settle_shape, .context = &question };
    state->pass = "shapes";
    opd_sizes_of(&question.sizes, &question.names);
    search.count = question.sizes.count < OPD_SEARCH_MAX ? question.sizes.count : OPD_SEARCH_MAX;
    for (int i = 0; i < search.count; i++) {
        search.value[i] = question.sizes.value[i];
        search.least[i] = question.sizes.least[i];
    }
    search.tiles = state->options->tiles;
    search.tile_count = state->options->tile_count;
    return opd_search_run(&search);
}

/* ---------------------------------------------------------------------------------------------------- layout */

typedef struct stride_question {
    opd_search_state *state;
    char name[OPD_NAME];
    int64_t sign;
} stride_question;

static bool probe_stride(void *context, const int64_t *value)
{
    stride_question *question = context;
    opd_search_state *state = question->state;
    opd_call call = state->best.call;
    if (!opd_may_go_on(state) || !set_value(&call, state, question->name, question->sign * value[0])) {
        return false;
    }
    const opd_value *set = opd_call_value(&call, question->name);
    return set != NULL && set->i == question->sign * value[0] && try_call(state, &call, OPD_SLICE_PREFIX, NULL);
}

/* One increment or leading dimension: to its smallest, keeping the sign only when it matters. */
static bool shrink_stride(opd_search_state *state, int slot)
{
    opd_call least = state->best.call;
    stride_question question = { .state = state };
    snprintf(question.name, sizeof(question.name), "%s", state->best.call.attrs[slot].name);
    int64_t now = state->best.call.attrs[slot].i;
    if (opd_call_compact(&least) != OPD_OK || now == least.attrs[slot].i || now == 0) {
        return false;
    }
    int64_t smallest = least.attrs[slot].i;
    question.sign = 1;
    bool is_least = probe_stride(&question, &smallest);
    question.sign = now < 0 ? -1 : 1;
    if (!is_least && now < 0) {
        is_least = probe_stride(&question, &smallest);
    }
    if (!is_least && question.sign * now > smallest) {
        opd_search search = { .count = 1, .probe = probe_stride, .context = &question };
        search.value[0] = question.sign * now;
        search.least[0] = smallest;
        opd_search_one(&search, 0);
    }
    return opd_commit(state, "%s = %lld", question.name, (long long)state->best.call.attrs[slot].i);
}

bool opd_pass_layout(opd_search_state *state)
{
    bool changed = false;
    opd_call call = state->best.call;
    state->pass = "layout";
    if (state->bad_arg == 0 && opd_call_compact(&call) == OPD_OK && try_call(state, &call, OPD_SLICE_SEPARATE, NULL)) {
        return opd_commit(state, "layout: compact, separate, aligned");
    }
    call = state->best.call;
    if (try_call(state, &call, OPD_SLICE_SEPARATE, NULL)) {
        changed = opd_commit(state, "layout: operands separate and aligned");
    }
    for (int i = 0; i < state->best.call.attr_count && opd_may_go_on(state); i++) {
        if (is_layout_value(&state->best.call, &state->best.call.attrs[i])) {
            changed = shrink_stride(state, i) || changed;
        }
    }
    return changed;
}

/* ------------------------------------------------------------------------------------------------ attributes */

static bool try_scalar(opd_search_state *state, int slot, double re, double im)
{
    opd_call call = state->best.call;
    call.attrs[slot].re = re;
    call.attrs[slot].im = im;
    opd_status status = opd_call_bind(&call);
    return (status == OPD_OK || state->bad_arg != 0) && try_call(state, &call, OPD_SLICE_PREFIX, NULL);
}

/* Operands of a role, and how many of them must be read when the scalar in slot has a value. */
static int count_read(int *count, const opd_search_state *state, int slot, double value, opd_role role)
{
    opd_call call = state->best.call;
    int read = 0;
    *count = 0;
    call.attrs[slot].re = value;
    call.attrs[slot].im = 0;
    opd_status ignored = opd_call_bind(&call);
    (void)ignored;
    for (int i = 0; i < call.operand_count; i++) {
        bool is_it = call.operands[i].role == role;
        *count += is_it;
        read += is_it && (call.operands[i].flags & OPD_OPERAND_MUST_NOT_READ) == 0;
    }
    return read;
}

/* Does 0 take an operand out of the call that only adds to the result (beta), rather than what the result is made of (alpha)? */
static bool is_zero_simpler(const opd_search_state *state, int slot)
{
    int inputs = 0;
    int outputs = 0;
    bool same_inputs =
        count_read(&inputs, state, slot, 0, OPD_ROLE_IN) == count_read(&inputs, state, slot, 1, OPD_ROLE_IN);
    return inputs > 0 && same_inputs &&
           count_read(&outputs, state, slot, 0, OPD_ROLE_INOUT) < count_read(&outputs, state, slot, 1, OPD_ROLE_INOUT);
}

/* beta = 0, else 1; alpha = 1, else 0: of alpha neither is simpler, and between them lies another rule about what must be read. */
static bool simplify_scalar(opd_search_state *state, int slot)
{
    const opd_value value = state->best.call.attrs[slot];
    bool zero_first = is_zero_simpler(state, slot);
    const double simple[] = { zero_first ? 0 : 1, zero_first ? 1 : 0, 2 };
    if (value.im == 0 && (value.re == 0 || (value.re == 1 && !zero_first))) {
        return false;
    }
    for (size_t i = 0; i < OPD_COUNT(simple); i++) {
        if (value.re == simple[i] && value.im == 0) {
            break; /* the rest is no simpler */
        }
        if (try_scalar(state, slot, simple[i], 0)) {
            return opd_commit(state, "%s = %g", value.name, simple[i]);
        }
    }
    if (value.im != 0 && try_scalar(state, slot, value.re, 0)) {
        return opd_commit(state, "%s = %g", value.name, value.re);
    }
    return false;
}

static bool simplify_integer(opd_search_state *state, int slot, int64_t wanted, const char *text)
{
    opd_call call = state->best.call;
    char name[OPD_NAME];
    memcpy(name, call.attrs[slot].name, sizeof(name));
    if (call.attrs[slot].i == wanted) {
        return false;
    }
    call.attrs[slot].i = wanted;
    opd_status status = opd_call_bind(&call);
    if (status != OPD_OK && state->bad_arg == 0) {
        /* Another letter may ask for another leading dimension: let the contract give the smallest. */
        call = state->best.call;
        if (opd_call_set(&call, name, wanted) != OPD_OK) {
            return false;
        }
    }
    if (!keep_tight(&call, state) || !try_call(state, &call, OPD_SLICE_PREFIX, NULL)) {
        return false;
    }
    return opd_commit(state, "%s = %s", name, text);
}

bool opd_pass_attributes(opd_search_state *state)
{
    bool changed = false;
    state->pass = "attributes";
    for (int i = 0; i < state->best.call.attr_count && opd_may_go_on(state); i++) {
        char spec[OPD_NAME];
        const opd_value *value = &state->best.call.attrs[i];
        if (!opd_attribute_spec(spec, sizeof(spec), state->best.call.op, value->name)) {
            continue;
        }
        if (value->kind == OPD_VALUE_CHOICE) {
            char letter[2] = { spec[0], '\0' };
            changed = simplify_integer(state, i, (unsigned char)spec[0], letter) || changed;
        } else if (value->kind == OPD_VALUE_REAL || value->kind == OPD_VALUE_COMPLEX) {
            changed = simplify_scalar(state, i) || changed;
        } else if (value->kind == OPD_VALUE_INT && !is_size_attribute(&state->best.call, value)) {
            changed = simplify_integer(state, i, 1, "1") || changed;
        }
    }
    return changed;
}
