/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug attribute: statistics of the inputs and errors of one call over a range of indices of an output, beside those of the whole.
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "document.h"
#include "findings.h"
#include "making.h"
#include "phrases.h"
#include "region.h"
#include "screen.h"

enum { KEY_RANGE = 0x100, KEY_OPERAND };

typedef struct attribute_options {
    opd_shared shared;
    opd_making making;
    const char *path;
    int path_count;
    const char *range, *operand;
    opd_region region; /* range, parsed */
} attribute_options;

static const struct argp_option options[] = {
    OPD_MAKING_OPTIONS,
    { "range", KEY_RANGE, "[I, J..K, ..]", 0,
      "Indices of the output, both ends included; .. is a whole dimension (required)", 0 },
    { "operand", KEY_OPERAND, "NAME", 0, "The output that the range is of; default: the first", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    attribute_options *o = state->input;
    switch (key) {
    case KEY_RANGE:
        o->range = arg;
        if (opd_region_parse(&o->region, arg) != OPD_OK) {
            opd_usage_error(state, "--%s", opd_error_text());
        }
        return 0;
    case KEY_OPERAND:
        o->operand = arg;
        return 0;
    case ARGP_KEY_ARG:
        opd_take_argument(state, &o->path, &o->path_count, 1, arg);
        return 0;
    case ARGP_KEY_END:
        if ((o->path == NULL) == (o->making.op == NULL)) {
            opd_usage_error(state, "give a bundle, or an operator with --op");
        }
        if (o->range == NULL) {
            opd_usage_error(state, "give the indices with --range");
        }
        return 0;
    default:
        return opd_making_parse(key, arg, state, &o->making);
    }
}

typedef struct attribution {
    opd_case item;
    opd_replay_result result, right; /* the variant, and the reference as outputs of its own */
    bool has_result, has_right;
    int output;
    opd_region region;
} attribution;

static opd_status run_both(attribution *of, const attribute_options *o)
{
    bool is_blas = strcmp(of->item.call.domain, "blas") == 0;
    opd_replay_options wish = { .repeat = 1,
                                .keep_outputs = true,
                                .with_metrics = true,
                                .library = o->making.library,
                                .variant = o->making.variant };
    opd_status status = opd_replay(&of->result, NULL, &of->item, NULL, &wish);
    of->has_result = status == OPD_OK;
    if (is_blas) {
        wish.library = "naive";
    } else {
        wish.variant = "high-precision";
    }
    if (status == OPD_OK) {
        status = opd_replay(&of->right, NULL, &of->item, NULL, &wish);
        of->has_right = status == OPD_OK;
        if (status == OPD_E_NAME) {
            status =
                opd_fail(OPD_E_UNSUPPORTED, "%s has no definition to hold its outputs against", of->item.call.name);
        }
    }
    if (status == OPD_OK && of->result.output_count == 0) {
        status = opd_fail(OPD_E_NOFAILURE, "the call does not come back: %s", of->result.observed.reason);
    }
    return status;
}

static opd_status find_output(attribution *of, const attribute_options *o)
{
    const opd_call *call = &of->item.call;
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        bool is_there = (operand->role & OPD_ROLE_OUT) != 0 && (operand->flags & OPD_OPERAND_ABSENT) == 0;
        if (is_there && (o->operand == NULL || strcmp(operand->name, o->operand) == 0)) {
            of->output = i;
            return opd_region_fit(&of->region, operand->name, &operand->view);
        }
    }
    return opd_fail(OPD_E_NAME, "%s has no output %s", call->name, o->operand);
}

static const opd_tensor *view_of(const opd_replay_result *result, const char *name)
{
    for (int i = 0; i < result->output_count; i++) {
        if (strcmp(result->outputs[i].name, name) == 0 && result->outputs[i].view.data != NULL) {
            return &result->outputs[i].view;
        }
    }
    return NULL;
}

/* Errors in the region and in the whole. */
static opd_status compare(opd_metrics *part, opd_metrics *whole, const attribution *of)
{
    const char *name = of->item.call.operands[of->output].name;
    const opd_tensor *got = view_of(&of->result, name);
    const opd_tensor *want = view_of(&of->right, name);
    if (got == NULL || want == NULL) {
        return opd_fail(OPD_E_LIMIT, "%s is too large to be brought back", name);
    }
    opd_tensor got_part = opd_region_view(got, &of->region);
    opd_tensor want_part = opd_region_view(want, &of->region);
    opd_status status = opd_metrics_compare(part, &got_part, &want_part);
    return status == OPD_OK ? opd_metrics_compare(whole, got, want) : status;
}

static void print_health(const char *title, const char *name, const opd_tensor *view)
{
    char words[256];
    opd_health health;
    opd_tensor_health(&health, view);
    opd_phrase_health(words, sizeof words, &health);
    printf("%-12s %s: %llu elements, %llu zero, %s\n", title, name, (unsigned long long)health.count,
           (unsigned long long)health.zero, words);
}

static void print_errors(const char *name, const opd_metrics *metrics)
{
    printf(
        "%-12s %s: %llu of %llu differ from the right value, max abs %.3g, mean abs %.3g, rms %.3g, relative p99 %.3g max "
        "%.3g, ulp p99 %.3g max %.3g\n",
        "errors", name, (unsigned long long)metrics->differing, (unsigned long long)metrics->count, metrics->max_abs,
        metrics->mean_abs, metrics->rmse, metrics->rel[OPD_P99], metrics->max_rel, metrics->ulp[OPD_P99],
        metrics->max_ulp);
}

static opd_region whole_of(const opd_tensor *view)
{
    opd_region region = { .rank = view->rank };
    memcpy(region.high, view->shape, sizeof region.high);
    return region;
}

static opd_status report(const attribution *of)
{
    const opd_call *call = &of->item.call;
    char words[1024];
    opd_metrics part;
    opd_metrics whole;
    opd_status status = compare(&part, &whole, of);
    if (status != OPD_OK) {
        return status;
    }
    opd_call_describe(words, sizeof words, call);
    printf("%-12s %s\n", "call", words);
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        if ((operand->role & OPD_ROLE_IN) == 0 || operand->view.data == NULL) {
            continue;
        }
        opd_region region = opd_region_of(call, i, of->output, &of->region);
        opd_tensor view = opd_region_view(&operand->view, &region);
        opd_region_print(words, sizeof words, operand->name, &region);
        print_health("input", words, &view);
    }
    const char *name = call->operands[of->output].name;
    const opd_tensor *got = view_of(&of->result, name);
    opd_tensor view = opd_region_view(got, &of->region);
    opd_region all = whole_of(got);
    opd_region_print(words, sizeof words, name, &of->region);
    print_health("output", words, &view);
    print_errors(words, &part);
    opd_region_print(words, sizeof words, name, &all);
    print_errors(words, &whole);
    return OPD_OK;
}

static json_t *health_object(const opd_tensor *view, const char *words)
{
    opd_health health;
    json_t *object = json_object();
    opd_tensor_health(&health, view);
    opd_document_put(object, "region", opd_document_text(words));
    opd_document_put(object, "count", opd_document_count(health.count));
    opd_document_put(object, "zero", opd_document_count(health.zero));
    opd_document_put(object, "nan", opd_document_count(health.nan));
    opd_document_put(object, "inf", opd_document_count(health.pos_inf + health.neg_inf));
    opd_document_put(object, "min", opd_document_real(health.min));
    opd_document_put(object, "max", opd_document_real(health.max));
    opd_document_put(object, "mean", opd_document_real(health.mean));
    return object;
}

static opd_status report_json(const attribution *of, int exit_status)
{
    const opd_call *call = &of->item.call;
    char words[512];
    opd_metrics part;
    opd_metrics whole;
    opd_status status = compare(&part, &whole, of);
    if (status != OPD_OK) {
        return status;
    }
    json_t *document = json_object();
    json_t *inputs = json_array();
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        if ((operand->role & OPD_ROLE_IN) != 0 && operand->view.data != NULL) {
            opd_region region = opd_region_of(call, i, of->output, &of->region);
            opd_tensor view = opd_region_view(&operand->view, &region);
            opd_region_print(words, sizeof words, operand->name, &region);
            json_array_append_new(inputs, health_object(&view, words));
        }
    }
    const opd_tensor *got = view_of(&of->result, call->operands[of->output].name);
    opd_tensor view = opd_region_view(got, &of->region);
    opd_region_print(words, sizeof words, call->operands[of->output].name, &of->region);
    opd_document_put(document, "call", opd_document_call(call, true));
    opd_document_put(document, "inputs", inputs);
    opd_document_put(document, "output", health_object(&view, words));
    opd_document_put(document, "errors", opd_findings_measures(&part));
    opd_document_put(document, "errors_of_whole", opd_findings_measures(&whole));
    opd_document_put(document, "exit_status", json_integer(exit_status));
    opd_document_print(document, exit_status);
    return OPD_OK;
}

static int run(const opd_command *self, int argc, char **argv)
{
    attribute_options o = { .making = OPD_MAKING_INIT };
    attribution of = { .output = -1 };
    opd_command_parse(self, &o.shared, argc, argv);
    of.region = o.region;
    opd_ruling unused;
    opd_status status = opd_making_or_bundle(&of.item, &unused, &o.making, o.path, &o.shared);
    if (status == OPD_OK) {
        status = find_output(&of, &o);
    }
    if (status == OPD_OK) {
        status = run_both(&of, &o);
    }
    if (status == OPD_OK) {
        status = o.shared.is_json ? report_json(&of, OPD_EXIT_OK) : o.shared.is_quiet ? OPD_OK : report(&of);
    }
    int exit_status = status == OPD_OK ? OPD_EXIT_OK : opd_trouble();
    if (of.has_result) {
        opd_replay_result_done(&of.result);
    }
    if (of.has_right) {
        opd_replay_result_done(&of.right);
    }
    opd_case_done(&of.item);
    return exit_status;
}

const opd_command opd_command_attribute = {
    .name = "attribute",
    .synopsis = "--op NAME|BUNDLE --range '[I, J..K]'",
    .summary = "Show inputs and errors over a range of an output's indices",
    .examples = "  ops-debug attribute --op Softmax --input-shapes '[64,128]' --range '[16, 100..110]'\n"
                "  ops-debug attribute failing.opsb --range '[3, .., 0..7]'\n",
    .options = options,
    .parse = parse,
    .run = run,
};
