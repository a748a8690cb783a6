/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of presets.c on outputs. A NaN or Inf that the reference has not is wrong under each of them, whatever their authors do.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "component.h"
#include "convention.h"

const opd_rule *opd_convention_of(const opd_job *job)
{
    return job->convention[0] != '\0' ? opd_rule_find(job->convention) : NULL;
}

/* What is summed up over an output, of the candidate and of the benchmark. */
typedef struct errors {
    double largest, largest_rel, sum_rel, sum_square;
    double count;
} errors;

static void add_error(errors *to, double error, double want)
{
    double rel = error / fmax(fabs(want), 1e-30);
    to->largest = fmax(to->largest, error);
    to->largest_rel = fmax(to->largest_rel, error > 0 ? rel : 0);
    to->sum_rel += error > 0 ? rel : 0;
    to->sum_square += error * error;
    to->count++;
}

typedef struct state {
    const opd_judge *judge;
    opd_yardstick by; /* of the output at hand */
    errors candidate, benchmark;
} state;

void opd_yardstick_make(opd_yardstick *out, const opd_judge *judge, const opd_rule *rule, int operand)
{
    opd_dtype dtype = judge->call->operands[operand].view.dtype;
    opd_yardstick made = { .rule = rule, .threshold = opd_rule_threshold(judge->call->name, dtype) };
    opd_rule_numbers(&made.abs, &made.rel, rule, dtype);
    if (rule->meaning == NULL) {
        made.abs = judge->job->abs_err;
        made.rel = judge->job->rel_err;
    }
    *out = made;
}

/* The error that the rule lets pass; INFINITY where it looks at the whole only. */
static double tolerance_of(const opd_yardstick *by, const opd_component *item, double want, long double gauge)
{
    double size = fabs(want);
    opd_component plain = *item;
    switch (by->rule->kind) {
    case OPD_RULE_SUM:
        return by->abs + by->rel * size;
    case OPD_RULE_EITHER:
        return fmax(by->abs, by->rel * size);
    case OPD_RULE_GAUGE:
        plain.bound = (opd_bound){ .kind = OPD_BOUND_GAUGE };
        return opd_component_allowed(&plain, want, gauge);
    case OPD_RULE_CLASS:
        return size > 1e-5 ? by->threshold * size : fmax(by->threshold, 0x1p-23);
    case OPD_RULE_BITS:
        return 0;
    case OPD_RULE_THREE:
    case OPD_RULE_TWICE:
        break;
    }
    return (double)INFINITY;
}

static bool is_part_right(const opd_yardstick *by, const opd_component *item, int k, long double want,
                          long double gauge)
{
    double got = item->part[k];
    double rounded = opd_component_narrow(item->operand->view.dtype, want);
    if (!opd_same_class(got, rounded)) {
        return false;
    }
    if (by->rule->kind == OPD_RULE_BITS) {
        return isnan(got) || (got == rounded && signbit(got) == signbit(rounded));
    }
    if (!isfinite(rounded) || got == rounded) {
        return true;
    }
    double exact = item->parts == 1 ? (double)fabsl(item->exact - want) : (double)fabsl((long double)got - want);
    return exact <= tolerance_of(by, item, (double)want, gauge);
}

bool opd_yardstick_passes(const opd_yardstick *by, const opd_component *item, const long double *want,
                          long double gauge)
{
    bool is_right = true;
    for (int k = 0; k < item->parts; k++) {
        is_right &= is_part_right(by, item, k, want[k], gauge);
    }
    return is_right;
}

static void note_bad(opd_opinion *out, const opd_component *item)
{
    if (out->bad_count++ == 0) {
        snprintf(out->operand, sizeof out->operand, "%s", item->operand->name);
        out->rank = item->operand->view.rank;
        memcpy(out->first, item->index, sizeof out->first);
    }
}

static void judge_output(opd_opinion *out, state *of, int number)
{
    opd_component item;
    const opd_judge_output *output = &of->judge->outputs[number];
    int64_t count = opd_tensor_count(&of->judge->call->operands[number].view);
    for (int64_t flat = 0; flat < count; flat++) {
        if (!opd_component_load(&item, of->judge, number, flat)) {
            continue;
        }
        for (int k = 0; k < item.parts; k++) {
            long double want = output->value[flat * item.parts + k];
            if (output->naive != NULL && isfinite(want) && isfinite(item.part[k])) {
                long double benchmark = output->naive[flat * item.parts + k];
                double rounded = opd_component_narrow(item.operand->view.dtype, benchmark);
                add_error(&of->candidate, (double)fabsl((long double)item.part[k] - want), (double)want);
                add_error(&of->benchmark, (double)fabsl((long double)rounded - want), (double)want);
            }
        }
        if (!opd_yardstick_passes(&of->by, &item, output->value + flat * item.parts, output->gauge[flat])) {
            note_bad(out, &item);
        }
        out->count++;
    }
}

/* Multiples of nothing are nothing: an error where the benchmark has none counts from half a unit of the type on. */
static double multiple(double candidate, double benchmark, double floor)
{
    return candidate / fmax(benchmark, floor);
}

static bool is_whole_right(char *text, size_t size, const state *of, opd_dtype dtype)
{
    double floor = 0.5 * opd_dtype_epsilon(opd_dtype_real(dtype));
    const opd_rule *rule = of->by.rule;
    const errors *candidate = &of->candidate;
    const errors *benchmark = &of->benchmark;
    if (rule->kind == OPD_RULE_TWICE) {
        snprintf(text, size, "largest error %.3g, of the naive variant %.3g (allowed 2 of it + %.3g)",
                 candidate->largest, benchmark->largest, rule->abs);
        return candidate->largest <= 2 * benchmark->largest + rule->abs;
    }
    double n = fmax(candidate->count, 1);
    double largest = multiple(candidate->largest_rel, benchmark->largest_rel, floor);
    double mean = multiple(candidate->sum_rel / n, benchmark->sum_rel / n, floor);
    double rms = multiple(sqrt(candidate->sum_square / n), sqrt(benchmark->sum_square / n), 1e-30);
    rms = candidate->sum_square > 0 ? rms : 0;
    snprintf(text, size,
             "in multiples of the naive variant: largest relative error %.3g of %.3g, mean %.3g of %.3g, "
             "root mean square %.3g of %.3g",
             largest, rule->max_rel, mean, rule->mean_rel, rms, rule->rms);
    return largest <= rule->max_rel && mean <= rule->mean_rel && rms <= rule->rms;
}

static void describe_elements(opd_opinion *out, const opd_yardstick *by)
{
    char limit[64] = "";
    if (by->rule->kind == OPD_RULE_SUM) {
        snprintf(limit, sizeof limit, " beyond %.3g + %.3g x |right|", by->abs, by->rel);
    } else if (by->rule->kind == OPD_RULE_EITHER) {
        snprintf(limit, sizeof limit, " beyond both %.3g and %.3g x |right|", by->abs, by->rel);
    } else if (by->rule->kind == OPD_RULE_GAUGE) {
        snprintf(limit, sizeof limit, " beyond 16 x eps x gauge");
    } else if (by->rule->kind == OPD_RULE_CLASS) {
        snprintf(limit, sizeof limit, " beyond %.3g x |right|", by->threshold);
    } else {
        snprintf(limit, sizeof limit, " with other bits");
    }
    snprintf(out->detail, sizeof out->detail, "%llu of %llu elements%s", (unsigned long long)out->bad_count,
             (unsigned long long)out->count, limit);
}

void opd_convention_judge(opd_opinion *out, const opd_judge *judge, const opd_rule *rule)
{
    opd_opinion opinion = { .is_valid = true, .is_deciding = judge->job->is_convention_deciding };
    state of = { .judge = judge, .by = { .rule = rule } };
    opd_dtype dtype = judge->call->dtype;
    bool is_whole = opd_rule_needs_naive(rule);
    snprintf(opinion.name, sizeof opinion.name, "%s", rule->name);
    for (int i = 0; i < judge->call->operand_count; i++) {
        if (judge->outputs[i].value == NULL) {
            continue;
        }
        dtype = judge->call->operands[i].view.dtype;
        opd_yardstick_make(&of.by, judge, rule, i);
        judge_output(&opinion, &of, i);
    }
    opinion.is_right = opinion.bad_count == 0;
    if (is_whole) {
        opinion.is_right &= is_whole_right(opinion.detail, sizeof opinion.detail, &of, dtype);
    } else {
        describe_elements(&opinion, &of.by);
    }
    *out = opinion;
}
