/* SPDX-License-Identifier: Apache-2.0 */
/* Prints judged runs: few lines by default, every figure when asked. */
#include "findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "phrases.h"
#include "screen.h"

#define TITLE "%-12s "

static void print_operands(const opd_call *call)
{
    bool is_first = true;
    for (int i = 0; i < call->operand_count; i++) {
        char text[160];
        if ((call->operands[i].flags & OPD_OPERAND_ABSENT) != 0) {
            continue;
        }
        opd_tensor_describe(text, sizeof text, &call->operands[i].view);
        printf(TITLE "%s %s\n", is_first ? "operands" : "", call->operands[i].name, text);
        is_first = false;
    }
}

static void print_reference(const opd_replay_result *result)
{
    const opd_numbers *numbers = &result->numbers;
    char place[128];
    char naive[48] = "";
    if (!numbers->is_valid) {
        printf(TITLE "%s\n", "reference", result->observed.outcome == OPD_OUTCOME_OK ? "none ran" : "not reached");
        return;
    }
    char error[64];
    opd_phrase_error(error, sizeof error, numbers);
    if (numbers->naive_ratio > 0) {
        snprintf(naive, sizeof naive, " (naive %.3g)", numbers->naive_ratio);
    }
    printf(TITLE "high-precision, %s: ", "reference", opd_sureness_name(result->sureness));
    if (numbers->is_worst_other_class) {
        printf("a value of another class");
    } else {
        printf(result->sureness == OPD_SURENESS_EXACT && !(numbers->ratio > 0) ? "every bit is right" : "error %s%s",
               error, naive);
    }
    if (numbers->worst_rank >= 0 && (numbers->ratio > 0 || numbers->is_worst_other_class)) {
        opd_phrase_place(place, sizeof place, numbers->worst_operand, numbers->worst, numbers->worst_rank);
        printf(", worst at %s: got %.9g, right %.9g", place, numbers->got_re, numbers->want_re);
    }
    printf("\n");
}

/* How sure the reference is of itself. */
static void print_certificate(const opd_replay_result *result)
{
    if (result->numbers.is_valid && result->sureness != OPD_SURENESS_EXACT && result->doubt >= 0) {
        printf(TITLE "%s: off by at most %.3g of what is allowed, %s\n", "certificate",
               opd_sureness_name(result->sureness), result->doubt,
               result->certificate[0] != '\0' ? result->certificate : "by the contract's bound for its precision");
    }
}

/* How the limit at the worst element comes about. */
static void print_derivation(const opd_call *call, const opd_replay_result *result)
{
    const opd_numbers *numbers = &result->numbers;
    opd_bound bound = call->op != NULL ? call->op->bound : (opd_bound){ .kind = OPD_BOUND_GAUGE };
    if (!numbers->is_valid) {
        return;
    }
    if (result->sureness == OPD_SURENESS_EXACT || bound.kind == OPD_BOUND_BITS) {
        printf(TITLE "every bit counts: no rounding happens\n", "derivation");
    } else if (bound.kind == OPD_BOUND_ULP) {
        printf(TITLE "allowed at the worst element: %.3g, %.3g units in the last place\n", "derivation",
               numbers->allowed, numbers->limit);
    } else {
        printf(TITLE
               "allowed at the worst element: %.3g = %.3g x eps %.3g x gauge %.6g + half a unit in the last place\n",
               "derivation", numbers->allowed, bound.limit > 0 ? (double)bound.limit : 16, numbers->epsilon,
               numbers->gauge);
        printf(TITLE "up to 16: pass; up to %.6g: pass when at most twice the naive error; beyond: fail\n", "",
               numbers->cap);
    }
}

static void place_of(char *text, size_t size, const opd_operand *output, int64_t component)
{
    int64_t index[OPD_MAX_RANK];
    int parts = opd_dtype_is_complex(output->view.dtype) ? 2 : 1;
    text[0] = '\0';
    if (component >= 0 && output->view.rank > 0) {
        opd_tensor_unflatten(&output->view, component / parts, index);
        opd_phrase_place(text, size, " at ", index, output->view.rank);
    }
}

static void print_decades(const opd_metrics *metrics)
{
    printf(TITLE "|error| by decade: none %" PRIu64, "", metrics->decade[0]);
    for (int i = 1; i < OPD_DECADES; i++) {
        if (metrics->decade[i] > 0) {
            printf(", %s1e%d %" PRIu64, i == 1 ? "< " : ">= ", i == 1 ? -30 : i - 31, metrics->decade[i]);
        }
    }
    printf("\n");
}

static void print_metrics(const opd_operand *output, const opd_metrics *metrics, bool is_long)
{
    char abs_at[128];
    char rel_at[128];
    char ulp_at[128];
    if (metrics->differing == 0) {
        printf(TITLE "all %" PRIu64 " values are right to the last bit\n", output->name, metrics->count);
        return;
    }
    place_of(abs_at, sizeof abs_at, output, metrics->max_abs_at);
    place_of(rel_at, sizeof rel_at, output, metrics->max_rel_at);
    place_of(ulp_at, sizeof ulp_at, output, metrics->max_ulp_at);
    if (!is_long) {
        printf(TITLE "max abs %.3g, relative p99 %.3g, ulp p99 %.3g max %.3g, cosine %.9g\n", output->name,
               metrics->max_abs, metrics->rel[OPD_P99], metrics->ulp[OPD_P99], metrics->max_ulp, metrics->cosine);
        return;
    }
    printf(TITLE "%" PRIu64 " of %" PRIu64 " are not right to the last bit (%.3g %%), %" PRIu64 " of another class\n",
           output->name, metrics->differing, metrics->count, 100 * (double)metrics->differing / (double)metrics->count,
           metrics->class_differing);
    printf(TITLE "cosine %.12g, slope %.12g, offset %.3g\n", "", metrics->cosine, metrics->slope, metrics->offset);
    printf(TITLE "absolute: mean %.3g, root mean square %.3g, max %.3g%s\n", "", metrics->mean_abs, metrics->rmse,
           metrics->max_abs, abs_at);
    printf(TITLE "relative: p50 %.3g, p95 %.3g, p99 %.3g, max %.3g%s\n", "", metrics->rel[OPD_P50],
           metrics->rel[OPD_P95], metrics->rel[OPD_P99], metrics->max_rel, rel_at);
    printf(TITLE "ulp: p50 %.3g, p95 %.3g, p99 %.3g, max %.3g%s\n", "", metrics->ulp[OPD_P50], metrics->ulp[OPD_P95],
           metrics->ulp[OPD_P99], metrics->max_ulp, ulp_at);
    print_decades(metrics);
}

void opd_findings_print_opinion(const opd_opinion *opinion)
{
    char place[128];
    if (!opinion->is_valid) {
        return;
    }
    printf(TITLE "%s %s: ", "rule", opinion->name, opinion->is_right ? "agrees" : "disagrees");
    printf("%s", opinion->detail);
    if (opinion->bad_count > 0) {
        opd_phrase_place(place, sizeof place, opinion->operand, opinion->first, opinion->rank);
        printf(", first %s", place);
    }
    printf("\n");
}

void opd_findings_print(const opd_case *item, const opd_replay_result *result, bool is_long)
{
    char words[1024];
    char time[32];
    opd_call_describe(words, sizeof words, &item->call);
    printf(TITLE "%s\n", "call", words);
    print_operands(&item->call);
    opd_phrase_aside_time(time, sizeof time, result->run_ns);
    printf(TITLE "%s, %d thread%s%s\n", "variant", result->variant, result->threads,
           opd_phrase_plural((uint64_t)result->threads), time);
    print_reference(result);
    if (is_long) {
        print_derivation(&item->call, result);
        print_certificate(result);
    }
    for (int i = 0; i < result->output_count; i++) {
        if (result->metrics[i].count > 0) {
            print_metrics(&result->outputs[i], &result->metrics[i], is_long);
        }
    }
    opd_findings_print_opinion(&result->opinion);
    if (result->mistrust[0] != '\0' && result->observed.outcome == OPD_OUTCOME_OK) {
        printf(TITLE "%s: right here, but such data would hide a fault; another --fill or --seed shows more\n",
               "mistrust", result->mistrust);
    }
}

static void print_location(const opd_location *location)
{
    if (location->pattern == OPD_PATTERN_NONE) {
        return;
    }
    printf(TITLE "%s, %s: %" PRIu64 " of %" PRIu64 " elements, %s\n", "where", location->operand,
           opd_pattern_name(location->pattern), location->bad_count, location->count, location->text);
    if (location->reads[0] != '\0') {
        printf(TITLE "%s\n", "it reads", location->reads);
    }
}

void opd_findings_print_failure(const opd_replay_result *result)
{
    char words[1024];
    if (result->observed.outcome != OPD_OUTCOME_OK) {
        opd_phrase_failure(words, sizeof words, &result->observed);
        printf(TITLE "%s\n", "found", words);
        printf(TITLE "%s\n", "reason", result->observed.reason);
    }
    print_location(&result->location);
}

void opd_findings_print_word(const char *word, int exit_status)
{
    const char *meaning = strcmp(word, "MISTRUSTED") == 0 ? ": right, on data that show little"
                          : strcmp(word, "UNJUDGED") == 0 ? ": it ran, and there is nothing to judge it by"
                                                          : "";
    printf("%s%s%s%s\n", opd_paint_on(stdout, exit_status == OPD_EXIT_OK ? OPD_PAINT_GREEN : OPD_PAINT_RED), word,
           opd_paint_on(stdout, OPD_PAINT_OFF), meaning);
}

/* ------------------------------------------------------------------------------------------------------ JSON */

static json_t *percentiles_object(const double *values, double max, int64_t at)
{
    json_t *object = json_object();
    opd_document_put(object, "p50", opd_document_real(values[OPD_P50]));
    opd_document_put(object, "p95", opd_document_real(values[OPD_P95]));
    opd_document_put(object, "p99", opd_document_real(values[OPD_P99]));
    opd_document_put(object, "max", opd_document_real(max));
    opd_document_put(object, "max_at", json_integer(at));
    return object;
}

static json_t *decades_object(const opd_metrics *metrics)
{
    json_t *object = json_object();
    opd_document_put(object, "none", opd_document_count(metrics->decade[0]));
    for (int i = 1; i < OPD_DECADES; i++) {
        char name[16];
        snprintf(name, sizeof name, i == 1 ? "below 1e%d" : "1e%d", i == 1 ? -30 : i - 31);
        if (metrics->decade[i] > 0) {
            opd_document_put(object, name, opd_document_count(metrics->decade[i]));
        }
    }
    return object;
}

json_t *opd_findings_measures(const opd_metrics *metrics)
{
    json_t *object = json_object();
    opd_document_put(object, "count", opd_document_count(metrics->count));
    opd_document_put(object, "differing", opd_document_count(metrics->differing));
    opd_document_put(object, "class_differing", opd_document_count(metrics->class_differing));
    opd_document_put(object, "first_differing", json_integer(metrics->first_differing));
    opd_document_put(object, "cosine", opd_document_real(metrics->cosine));
    opd_document_put(object, "slope", opd_document_real(metrics->slope));
    opd_document_put(object, "offset", opd_document_real(metrics->offset));
    opd_document_put(object, "mean_abs", opd_document_real(metrics->mean_abs));
    opd_document_put(object, "rmse", opd_document_real(metrics->rmse));
    opd_document_put(object, "max_abs", opd_document_real(metrics->max_abs));
    opd_document_put(object, "max_abs_at", json_integer(metrics->max_abs_at));
    opd_document_put(object, "relative", percentiles_object(metrics->rel, metrics->max_rel, metrics->max_rel_at));
    opd_document_put(object, "ulp", percentiles_object(metrics->ulp, metrics->max_ulp, metrics->max_ulp_at));
    opd_document_put(object, "abs_by_decade", decades_object(metrics));
    return object;
}

json_t *opd_findings_opinion(const opd_opinion *opinion)
{
    char place[128];
    json_t *object = json_object();
    opd_document_put(object, "rule", json_string(opinion->name));
    opd_document_put(object, "is_right", json_boolean(opinion->is_right));
    opd_document_put(object, "bad_count", opd_document_count(opinion->bad_count));
    opd_document_put(object, "detail", json_string(opinion->detail));
    if (opinion->bad_count > 0) {
        opd_phrase_place(place, sizeof place, opinion->operand, opinion->first, opinion->rank);
        opd_document_put(object, "first", opd_document_text(place));
    }
    return object;
}

static json_t *range_array(const int64_t *values, int rank)
{
    json_t *array = json_array();
    for (int i = 0; i < rank; i++) {
        json_array_append_new(array, json_integer(values[i]));
    }
    return array;
}

json_t *opd_findings_location(const opd_location *location)
{
    json_t *object = json_object();
    opd_document_put(object, "pattern", json_string(opd_pattern_name(location->pattern)));
    opd_document_put(object, "operand", opd_document_text(location->operand));
    opd_document_put(object, "count", opd_document_count(location->count));
    opd_document_put(object, "bad_count", opd_document_count(location->bad_count));
    opd_document_put(object, "axis", json_integer(location->axis));
    opd_document_put(object, "low", range_array(location->low, location->rank));
    opd_document_put(object, "high", range_array(location->high, location->rank));
    opd_document_put(object, "factor", opd_document_real(location->factor));
    opd_document_put(object, "text", opd_document_text(location->text));
    opd_document_put(object, "reads", opd_document_text(location->reads));
    return object;
}

json_t *opd_findings_metrics(const opd_replay_result *result)
{
    json_t *object = json_object();
    for (int i = 0; i < result->output_count; i++) {
        if (result->metrics[i].count > 0) {
            opd_document_put(object, result->outputs[i].name, opd_findings_measures(&result->metrics[i]));
        }
    }
    return object;
}
