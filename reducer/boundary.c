// SPDX-License-Identifier: Apache-2.0
// Explanation of the final form: for every feature that had to stay, the nearest neighbours that pass, and for sizes the simplest
// rule (threshold, residue, not a multiple) that agrees with everything asked around the final size.
#include "judging.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    REACH = 8, /* sizes asked above the final one */
};

typedef struct size_facts {
    const char *name;
    int64_t size;
    int64_t asked[64];
    opd_verdict verdict[64];
    int count;
} size_facts;

static void add_line(opd_search_state *state, const char *format, ...) OPD_PRINTF(2, 3);
static void add_line(opd_search_state *state, const char *format, ...)
{
    char *text = state->report->explain;
    size_t used = strlen(text);
    size_t room = sizeof(state->report->explain) - used;
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text + used, room, format, arguments);
    va_end(arguments);
    if (size < 0 || (size_t)size + 1 >= room) {
        text[used] = '\0';
        return;
    }
    text[used + (size_t)size] = '\n';
    text[used + (size_t)size + 1] = '\0';
}

static opd_verdict ask_call(opd_search_state *state, const opd_call *call)
{
    opd_case candidate;
    opd_failure observed;
    if (opd_derive(&candidate, &state->best, call, OPD_SLICE_PREFIX, NULL, OPD_CASE_LIMIT) != OPD_OK) {
        return OPD_VERDICT_INVALID;
    }
    opd_verdict verdict = opd_ask(state, &candidate, &observed);
    opd_case_done(&candidate);
    return verdict;
}

/* ----------------------------------------------------------------------------------------------------- sizes */

static opd_verdict ask_size(opd_search_state *state, size_facts *facts, const opd_sizes *sizes, int which, int64_t size)
{
    int64_t value[OPD_MAX_SYMBOLS + OPD_MAX_ATTRS];
    opd_call call;
    for (int i = 0; i < facts->count; i++) {
        if (facts->asked[i] == size) {
            return facts->verdict[i];
        }
    }
    memcpy(value, sizes->value, sizeof(value));
    value[which] = size;
    opd_verdict verdict = OPD_VERDICT_INVALID;
    if (size >= sizes->least[which] && opd_call_with_sizes(&call, state, sizes, value)) {
        verdict = ask_call(state, &call);
    }
    if (facts->count < (int)OPD_COUNT(facts->asked) && verdict <= OPD_VERDICT_PASS) {
        facts->asked[facts->count] = size;
        facts->verdict[facts->count++] = verdict;
    }
    return verdict;
}

static bool fails_at(const size_facts *facts, int i)
{
    return facts->verdict[i] == OPD_VERDICT_SAME;
}

/* Does "fails exactly when size % modulus == residue (or, inverted, != 0) and size >= final" agree with every answer? */
static bool agrees(const size_facts *facts, int64_t modulus, bool is_inverted)
{
    bool has_more = false;
    bool has_pass = false;
    for (int i = 0; i < facts->count; i++) {
        int64_t size = facts->asked[i];
        if (size < facts->size) {
            continue;
        }
        bool rule = is_inverted ? size % modulus != 0 : size % modulus == facts->size % modulus;
        if (rule != fails_at(facts, i)) {
            return false;
        }
        has_more = has_more || (rule && size > facts->size);
        has_pass = has_pass || !rule;
    }
    return has_more && has_pass;
}

static bool all_above_fail(const size_facts *facts)
{
    for (int i = 0; i < facts->count; i++) {
        if (facts->asked[i] > facts->size && !fails_at(facts, i)) {
            return false;
        }
    }
    return true;
}

/* Asks above the final size: near ones, then where a tile of the power of two (or kernel tile) just below would end. */
static void ask_above(opd_search_state *state, size_facts *facts, const opd_sizes *sizes, int which)
{
    for (int64_t step = 1; step <= REACH; step++) {
        ask_size(state, facts, sizes, which, facts->size + step);
        if (step == 2 && all_above_fail(facts)) {
            break;
        }
    }
    int64_t tile = facts->size - 1;
    if (all_above_fail(facts) && tile >= 4) {
        ask_size(state, facts, sizes, which, tile + tile / 2);
        ask_size(state, facts, sizes, which, 2 * tile);
        return;
    }
    bool is_alone = true;
    for (int i = 0; i < facts->count; i++) {
        is_alone = is_alone && !(facts->asked[i] > facts->size && fails_at(facts, i));
    }
    for (int64_t step = 2 * (int64_t)REACH; is_alone && step <= 128; step *= 2) {
        is_alone = ask_size(state, facts, sizes, which, facts->size + step) != OPD_VERDICT_SAME;
    }
}

static void print_rule(char *text, size_t size, const size_facts *facts)
{
    const char *name = facts->name;
    long long final = (long long)facts->size;
    if (all_above_fail(facts)) {
        snprintf(text, size, "%s >= %lld", name, final);
        return;
    }
    for (int64_t modulus = 2; modulus <= 128; modulus += modulus < REACH ? 1 : modulus) {
        if (agrees(facts, modulus, false)) {
            const char *rest = final > modulus ? " and " : "";
            int used = snprintf(text, size, "%s %% %lld == %lld%s", name, (long long)modulus,
                                (long long)(final % modulus), rest);
            if (final > modulus && used > 0 && (size_t)used < size) {
                snprintf(text + used, size - (size_t)used, "%s >= %lld", name, final);
            }
            return;
        }
    }
    for (int64_t modulus = 2; modulus < facts->size; modulus++) {
        if (agrees(facts, modulus, true)) {
            snprintf(text, size, "%s %% %lld != 0 and %s >= %lld", name, (long long)modulus, name, final);
            return;
        }
    }
    snprintf(text, size, "%s == %lld", name, final);
}

static void explain_size(opd_search_state *state, const opd_sizes *sizes, int which)
{
    size_facts facts = { .name = sizes->name[which], .size = sizes->value[which] };
    ask_size(state, &facts, sizes, which, facts.size);
    ask_size(state, &facts, sizes, which, facts.size - 1);
    if (!state->is_flaky) {
        ask_above(state, &facts, sizes, which);
    }
    int64_t below = -1;
    int64_t above = -1;
    for (int i = 0; i < facts.count; i++) {
        int64_t size = facts.asked[i];
        if (facts.verdict[i] != OPD_VERDICT_PASS) {
            continue;
        }
        below = size < facts.size && size > below ? size : below;
        above = size > facts.size && (above < 0 || size < above) ? size : above;
    }
    char rule[160];
    char passes[80] = "";
    print_rule(rule, sizeof(rule), &facts);
    if (below >= 0 && above >= 0) {
        snprintf(passes, sizeof(passes), "; passes at %s = %lld, %lld", facts.name, (long long)below, (long long)above);
    } else if (below >= 0 || above >= 0) {
        snprintf(passes, sizeof(passes), "; passes at %s = %lld", facts.name, (long long)(below >= 0 ? below : above));
    }
    add_line(state, "fails: %s%s", rule, passes);
}

/* ------------------------------------------------------------------------------------------------ attributes */

static void explain_attribute(opd_search_state *state, int slot)
{
    char spec[OPD_NAME];
    opd_call call = state->best.call;
    opd_value *value = &call.attrs[slot];
    const opd_value old = *value;
    if (!opd_attribute_spec(spec, sizeof(spec), call.op, value->name)) {
        return;
    }
    char kept[64];
    char other[16];
    if (value->kind == OPD_VALUE_CHOICE && value->i != (unsigned char)spec[0]) {
        value->i = (unsigned char)spec[0];
        opd_choice_print(kept, old.i);
        snprintf(other, sizeof(other), "%c", spec[0]);
    } else if ((value->kind == OPD_VALUE_REAL || value->kind == OPD_VALUE_COMPLEX) &&
               (value->re != 1 || value->im != 0)) {
        value->re = 1;
        value->im = 0;
        snprintf(kept, sizeof(kept), "%g", old.re);
        snprintf(other, sizeof(other), "1");
    } else {
        return;
    }
    if (opd_call_set(&call, call.symbols[0].name, call.symbols[0].i) == OPD_OK &&
        ask_call(state, &call) == OPD_VERDICT_PASS) {
        add_line(state, "fails: %s = %s; passes at %s = %s", old.name, kept, old.name, other);
    }
}

void opd_explain(opd_search_state *state)
{
    opd_call names = state->best.call;
    opd_sizes sizes;
    state->pass = "explain";
    opd_sizes_of(&sizes, &names);
    for (int i = 0; i < sizes.count && opd_may_go_on(state); i++) {
        if (sizes.value[i] > sizes.least[i]) {
            explain_size(state, &sizes, i);
        }
    }
    for (int i = 0; i < names.attr_count && opd_may_go_on(state); i++) {
        explain_attribute(state, i);
    }
}
