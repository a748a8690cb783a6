/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reference of the same precision is an opinion: it is itself held against high precision, and blames nobody alone. Where it and high precision
 * differ by more than both may, that is said and the operator is not the only suspect. A candidate nearer to high precision than a framework never
 * fails.
 */
#include "references.h"

#include <stdio.h>
#include <string.h>

#include <opsdebug/kernel.h>

#include "phrases.h"
#include "screen.h"
#include "torch.h"

#define SANE 10

int opd_references_parse(const char *name)
{
    static const struct {
        const char *name;
        int bits;
    } names[] = { { "high-precision", 0 },
                  { "naive", OPD_REFERENCE_NAIVE },
                  { "library", OPD_REFERENCE_LIBRARY },
                  { "torch", OPD_REFERENCE_TORCH },
                  { "all", OPD_REFERENCE_ALL } };
    for (size_t i = 0; i < OPD_COUNT(names); i++) {
        if (strcmp(names[i].name, name) == 0) {
            return names[i].bits;
        }
    }
    return -1;
}

/* The call with the outputs of a result in place. */
static opd_call with_outputs(const opd_call *call, const opd_replay_result *result)
{
    opd_call made = *call;
    for (int i = 0; i < made.operand_count; i++) {
        for (int k = 0; k < result->output_count; k++) {
            if (strcmp(made.operands[i].name, result->outputs[k].name) == 0) {
                made.operands[i].view = result->outputs[k].view;
            }
        }
    }
    return made;
}

static opd_status plain_replay(opd_replay_result *out, const opd_case *item, const opd_replay_options *options,
                               const char *variant)
{
    opd_replay_options wish = { .repeat = 1,
                                .keep_outputs = true,
                                .with_metrics = true,
                                .variant = variant,
                                .library = options->library,
                                .engine = options->engine,
                                .timeout_ms = options->timeout_ms,
                                .threads = options->threads };
    return opd_replay(out, NULL, item, NULL, &wish);
}

/* Outputs from outside, held against high precision. */
static opd_status judge_given(opd_replay_result *out, const opd_case *item, const opd_call *given,
                              const opd_call *golden, const opd_replay_options *options)
{
    opd_replay_options wish = { .repeat = 1,
                                .keep_outputs = true,
                                .with_metrics = true,
                                .variant = "naive",
                                .library = options->library,
                                .given = given,
                                .golden = golden,
                                .golden_sureness = OPD_SURENESS_SAME };
    return opd_replay(out, NULL, item, NULL, &wish);
}

/* "variant netlib, libblas.so.3"; of a file that was asked for, whose it is: "openblas, libopenblas.so.0". */
static void name_maker(opd_reference_row *row, const char *variant, bool is_asked)
{
    const char *maker = row->itself.maker;
    const char *slash = strrchr(row->itself.library, '/');
    const char *file = slash != NULL ? slash + 1 : row->itself.library;
    if (is_asked) {
        snprintf(row->maker, sizeof row->maker, "%s, %.40s", maker[0] != '\0' ? maker : "of unknown maker", file);
        return;
    }
    bool is_other = maker[0] != '\0' && strcmp(maker, variant) != 0;
    snprintf(row->maker, sizeof row->maker, "variant %.12s%s%.20s%s%.10s%s", variant, file[0] != '\0' ? ", " : "", file,
             is_other ? " (" : "", is_other ? maker : "", is_other ? ")" : "");
}

/*
 * A library other than the one that ran, the first of these that can do the call; engine: one file is asked, whatever it is.
 * errors    E_UNSUPPORTED none can: the reason of the last, of one file all reasons.
 */
static opd_status ask_library(opd_reference_row *row, const opd_case *item, const opd_replay_result *result,
                              const opd_replay_options *options, const char *engine)
{
    static const char *const names[] = { "openblas", "netlib", "blis", "onednn" };
    const opd_kernel *kernel = opd_kernel_find(item->call.domain, item->call.name);
    opd_replay_options wish = *options;
    char reasons[400] = "";
    opd_status last = opd_fail(OPD_E_UNSUPPORTED, "no other library has %s", item->call.name);
    wish.engine = engine;
    for (size_t k = 0; k < OPD_COUNT(names); k++) {
        const opd_variant *variant = kernel != NULL ? opd_kernel_named(kernel, names[k]) : NULL;
        bool is_same = strcmp(names[k], result->variant) == 0;
        if (variant == NULL || (engine != NULL ? !variant->is_library : is_same)) {
            continue;
        }
        last = plain_replay(&row->itself, item, &wish, names[k]);
        if (last == OPD_OK) {
            name_maker(row, names[k], engine != NULL);
            return OPD_OK;
        }
        if (last != OPD_E_DECLINED && last != OPD_E_UNSUPPORTED && last != OPD_E_NOTFOUND) {
            return last;
        }
        const char *colon = last == OPD_E_DECLINED ? strstr(opd_error_text(), "declines: ") : NULL;
        const char *reason = colon != NULL ? colon + strlen("declines: ") : opd_error_text();
        size_t used = strlen(reasons);
        if (strstr(reasons, reason) == NULL) {
            snprintf(reasons + used, sizeof reasons - used, "%s%s", used > 0 ? "; " : "", reason);
        }
    }
    return engine != NULL && reasons[0] != '\0' ? opd_fail(last, "%s", reasons) : last;
}

static opd_status make_itself(opd_reference_row *row, const opd_case *item, const opd_replay_result *result,
                              const opd_replay_options *options, const char *engine)
{
    opd_case torch = { 0 };
    if (strcmp(row->name, "torch") == 0) {
        opd_status status = opd_torch_run(&torch, item);
        snprintf(row->maker, sizeof row->maker, "PyTorch");
        if (status == OPD_OK) {
            status = judge_given(&row->itself, item, &torch.call, NULL, options);
            opd_case_done(&torch);
        }
        return status;
    }
    if (strcmp(row->name, "library") == 0) {
        return ask_library(row, item, result, options, engine);
    }
    snprintf(row->maker, sizeof row->maker, "variant naive");
    return plain_replay(&row->itself, item, options, "naive");
}

static opd_status fill_row(opd_reference_row *row, const opd_case *item, const opd_replay_result *result,
                           const opd_replay_options *options, const char *engine)
{
    opd_status status = make_itself(row, item, result, options, engine);
    if (status == OPD_E_UNSUPPORTED || status == OPD_E_DECLINED || status == OPD_E_NOTFOUND || status == OPD_E_NAME) {
        if (engine != NULL && strcmp(row->name, "library") == 0) { /* the one file that was to be asked */
            return opd_fail_in(OPD_E_UNSUPPORTED, "--reference-library %s", engine);
        }
        snprintf(row->reason, sizeof row->reason, "%s", opd_error_text());
        return OPD_OK;
    }
    if (status != OPD_OK) {
        return status;
    }
    opd_outcome outcome = row->itself.observed.outcome;
    if (outcome != OPD_OUTCOME_OK && !row->itself.numbers.is_valid) {
        snprintf(row->reason, sizeof row->reason, "it does not come back: %.200s", row->itself.observed.reason);
        opd_replay_result_done(&row->itself);
        return OPD_OK;
    }
    opd_call given = with_outputs(&item->call, result);
    opd_call golden = with_outputs(&item->call, &row->itself);
    status = judge_given(&row->against, item, &given, &golden, options);
    if (status != OPD_OK) {
        opd_replay_result_done(&row->itself);
    }
    row->is_there = status == OPD_OK;
    return status;
}

static bool is_right(const opd_replay_result *result)
{
    return result->observed.outcome == OPD_OUTCOME_OK;
}

/* Only values are open to a second opinion; classes, crashes and stray writes are not. */
static bool is_of_values(const opd_replay_result *result)
{
    return result->observed.outcome == OPD_OUTCOME_MISMATCH && result->numbers.is_valid &&
           result->numbers.other_class == 0;
}

static void weigh_failure(opd_references *out, const opd_replay_result *result)
{
    int against = 0;
    int there = 0;
    for (int i = 0; i < OPD_REFERENCE_ROWS; i++) {
        const opd_reference_row *row = &out->rows[i];
        if (!row->is_there) {
            continue;
        }
        bool is_framework = strcmp(row->name, "naive") != 0;
        there += is_framework;
        against += is_framework && !is_right(&row->itself) && !is_right(&row->against);
        /* A framework that is itself far beyond what rounding explains clears nobody. */
        bool is_sane =
            row->itself.numbers.other_class == 0 && row->itself.numbers.ratio <= SANE * row->itself.numbers.cap;
        if (is_framework && is_sane && result->numbers.max_abs <= row->itself.numbers.max_abs) {
            out->word = "PASS_DUAL";
            out->is_found = false;
            snprintf(out->reason, sizeof out->reason,
                     "its largest error, %.3g, is no larger than that of %s, %.3g, against high precision",
                     result->numbers.max_abs, row->name, row->itself.numbers.max_abs);
            return;
        }
        if (!is_right(&row->itself) && is_right(&row->against)) {
            out->word = "DISPUTED";
            out->sureness = OPD_SURENESS_SUSPECT;
            snprintf(out->reason, sizeof out->reason,
                     "it agrees with %s, which differs from high precision by more than both may", row->name);
        }
    }
    /* The naive variant stands by high precision where it is right by it: then it is two against one. */
    const opd_reference_row *naive = &out->rows[0];
    bool has_ally = naive->is_there && is_right(&naive->itself);
    if (there > 0 && against == there && !has_ally && strcmp(out->word, "DISPUTED") != 0) {
        out->word = "DISPUTED";
        out->sureness = OPD_SURENESS_CONFLICT;
        snprintf(out->reason, sizeof out->reason, "it, high precision and every other reference differ pairwise");
    }
}

/* The references that high precision bears out, "naive and torch"; their number. */
static int list_allies(char *text, size_t size, const opd_references *references)
{
    int count = 0;
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < OPD_REFERENCE_ROWS; i++) {
        const opd_reference_row *row = &references->rows[i];
        if (row->is_there && is_right(&row->itself) && used < size) {
            used += (size_t)snprintf(text + used, size - used, "%s%s", count > 0 ? " and " : "", row->name);
            count++;
        }
    }
    return count;
}

static void weigh_success(opd_references *out)
{
    char allies[64];
    int ally_count = list_allies(allies, sizeof allies, out);
    for (int i = 0; i < OPD_REFERENCE_ROWS; i++) {
        const opd_reference_row *row = &out->rows[i];
        if (row->is_there && !is_right(&row->itself)) {
            out->sureness = OPD_SURENESS_SUSPECT;
            snprintf(out->reason, sizeof out->reason,
                     "%s differs from high precision by more than both may%s%s%s: %.200s", row->name,
                     ally_count > 0 ? ", which " : "", allies,
                     ally_count == 1  ? " agrees with"
                     : ally_count > 1 ? " agree with"
                                      : "",
                     row->itself.observed.reason);
        }
        if (row->is_there && !is_right(&row->against)) {
            out->word = "DISPUTED"; /* by a reference of the same precision alone */
            snprintf(out->reason, sizeof out->reason, "wrong by %s, right by high precision%s%s: %.200s", row->name,
                     ally_count > 0 ? " and by " : "", allies, row->against.observed.reason);
        }
    }
}

/* Do two references that both differ from high precision differ from each other as well? Then no two of the three agree. */
static opd_status find_conflict(opd_references *out, const opd_case *item, const opd_replay_options *options)
{
    for (int i = 0; i < OPD_REFERENCE_ROWS; i++) {
        for (int k = i + 1; k < OPD_REFERENCE_ROWS; k++) {
            const opd_reference_row *one = &out->rows[i];
            const opd_reference_row *two = &out->rows[k];
            opd_replay_result pair;
            if (!one->is_there || !two->is_there || is_right(&one->itself) || is_right(&two->itself)) {
                continue;
            }
            opd_call given = with_outputs(&item->call, &one->itself);
            opd_call golden = with_outputs(&item->call, &two->itself);
            opd_status status = judge_given(&pair, item, &given, &golden, options);
            if (status != OPD_OK) {
                return status;
            }
            if (!is_right(&pair)) {
                out->sureness = OPD_SURENESS_CONFLICT;
                snprintf(out->reason, sizeof out->reason,
                         "high precision, %s and %s differ pairwise by more than they may", one->name, two->name);
            }
            opd_replay_result_done(&pair);
        }
    }
    return OPD_OK;
}

opd_status opd_references_run(opd_references *out, const opd_case *item, const opd_replay_result *result,
                              const opd_replay_options *options, int wanted, const char *engine)
{
    static const char *const names[OPD_REFERENCE_ROWS] = { "naive", "library", "torch" };
    opd_status status = OPD_OK;
    memset(out, 0, sizeof *out);
    out->word = opd_replay_word(result);
    out->sureness = result->sureness;
    out->is_found = !is_right(result);
    for (int i = 0; i < OPD_REFERENCE_ROWS && status == OPD_OK; i++) {
        if ((wanted & 1 << i) != 0) {
            out->rows[i].name = names[i];
            status = result->numbers.is_valid ? fill_row(&out->rows[i], item, result, options, engine) : OPD_OK;
        }
    }
    if (status == OPD_OK && is_of_values(result)) {
        weigh_failure(out, result);
    } else if (status == OPD_OK && is_right(result)) {
        weigh_success(out);
    }
    if (status == OPD_OK) {
        status = find_conflict(out, item, options);
    }
    if (status != OPD_OK) {
        opd_references_done(out);
    }
    return status;
}

void opd_references_done(opd_references *references)
{
    for (int i = 0; i < OPD_REFERENCE_ROWS; i++) {
        if (references->rows[i].is_there) {
            opd_replay_result_done(&references->rows[i].itself);
            opd_replay_result_done(&references->rows[i].against);
            references->rows[i].is_there = false;
        }
    }
}

static const char *says(const opd_replay_result *result)
{
    return is_right(result) ? "right" : "wrong";
}

opd_status opd_references_print(const opd_references *references, const opd_replay_result *result)
{
    static const char *const titles[] = { "REFERENCE", "LABEL", ">ITS ERROR", ">ERROR AGAINST IT", ">MAX ABS", "SAYS" };
    char error[64];
    opd_table *table = NULL;
    opd_status status = opd_table_new(&table, titles, OPD_COUNT(titles));
    if (status != OPD_OK) {
        return status;
    }
    opd_table_row(table);
    opd_table_cell(table, 0, "high-precision");
    opd_table_cell(table, 1, "%s", opd_sureness_name(result->sureness));
    opd_phrase_error(error, sizeof error, &result->numbers);
    opd_table_cell(table, 3, "%s", error);
    opd_table_cell(table, 4, "%.3g", result->numbers.max_abs);
    opd_table_cell(table, 5, "%s", says(result));
    for (int i = 0; i < OPD_REFERENCE_ROWS; i++) {
        const opd_reference_row *row = &references->rows[i];
        if (row->name == NULL) {
            continue;
        }
        opd_table_row(table);
        opd_table_cell(table, 0, "%s", row->name);
        if (!row->is_there) {
            opd_table_cell(table, 5, "%s", row->reason);
            continue;
        }
        opd_table_cell(table, 1, "%s", is_right(&row->itself) ? "SAME" : "SUSPECT");
        opd_phrase_error(error, sizeof error, &row->itself.numbers);
        opd_table_cell(table, 2, "%s", error);
        opd_phrase_error(error, sizeof error, &row->against.numbers);
        opd_table_cell(table, 3, "%s", error);
        opd_table_cell(table, 4, "%.3g", row->against.numbers.max_abs);
        opd_table_cell(table, 5, "%s (%s)", says(&row->against), row->maker);
    }
    return opd_table_print(table);
}

json_t *opd_references_document(const opd_references *references)
{
    json_t *array = json_array();
    for (int i = 0; i < OPD_REFERENCE_ROWS; i++) {
        const opd_reference_row *row = &references->rows[i];
        json_t *object = json_object();
        if (row->name == NULL) {
            json_decref(object);
            continue;
        }
        opd_document_put(object, "name", json_string(row->name));
        opd_document_put(object, "maker", opd_document_text(row->maker));
        opd_document_put(object, "is_there", json_boolean(row->is_there));
        if (row->is_there) {
            opd_document_put(object, "label", json_string(is_right(&row->itself) ? "SAME" : "SUSPECT"));
            opd_document_put(object, "itself", opd_document_result(&row->itself));
            opd_document_put(object, "against", opd_document_result(&row->against));
        } else {
            opd_document_put(object, "reason", opd_document_text(row->reason));
        }
        json_array_append_new(array, object);
    }
    return array;
}
