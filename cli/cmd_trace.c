/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug trace: the inner stages of one call, each held against the operator's definition, to the first that goes wrong.
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "document.h"
#include "findings.h"
#include "making.h"
#include "screen.h"

enum { KEY_CHECKPOINTS = 0x100 };

typedef struct trace_options {
    opd_shared shared;
    opd_making making;
    const char *path;
    int path_count;
    const char *checkpoints;
} trace_options;

static const struct argp_option options[] = {
    OPD_MAKING_OPTIONS,
    { "checkpoint-mode", KEY_CHECKPOINTS, "all|LIST", 0, "Stages to look at, by the names of ops NAME; default: all",
      0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    trace_options *o = state->input;
    switch (key) {
    case KEY_CHECKPOINTS:
        o->checkpoints = arg;
        return 0;
    case ARGP_KEY_ARG:
        opd_take_argument(state, &o->path, &o->path_count, 1, arg);
        return 0;
    case ARGP_KEY_END:
        if ((o->path == NULL) == (o->making.op == NULL)) {
            opd_usage_error(state, "give a bundle, or an operator with --op");
        }
        return 0;
    default:
        return opd_making_parse(key, arg, state, &o->making);
    }
}

/* Is name a word of the list "a,b"? */
static bool is_listed(const char *list, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += size) {
        bool is_start = at == list || at[-1] == ',' || at[-1] == ' ';
        if (is_start && (at[size] == '\0' || at[size] == ',' || at[size] == ' ')) {
            return true;
        }
    }
    return false;
}

/* Every word must be a stage of the contract. */
static opd_status check_list(const trace_options *o, const opd_call *call)
{
    const char *stages = call->op->checkpoints;
    if (stages == NULL) {
        return opd_fail(OPD_E_UNSUPPORTED, "%s declares no inner stages", call->name);
    }
    for (const char *at = o->checkpoints; *at != '\0';) {
        char word[OPD_NAME];
        size_t size = strcspn(at, ", ");
        snprintf(word, sizeof word, "%.*s", (int)size, at);
        if (size > 0 && strcmp(o->checkpoints, "all") != 0 && (size >= sizeof word || !is_listed(stages, word))) {
            return opd_fail(OPD_E_NOTFOUND, "%s has no stage %.*s; it has: %s", call->name, (int)size, at, stages);
        }
        at += size;
        at += strspn(at, ", ");
    }
    return OPD_OK;
}

static bool is_wanted(const trace_options *o, const opd_stage_report *stage)
{
    return strcmp(o->checkpoints, "all") == 0 || is_listed(o->checkpoints, stage->name);
}

/* The first wrong stage; -1 = none. *is_monotone: every later one that was compared is wrong as well. */
static int first_wrong(bool *is_monotone, const trace_options *o, const opd_replay_result *result)
{
    int first = -1;
    *is_monotone = true;
    for (int i = 0; i < result->stage_count; i++) {
        const opd_stage_report *stage = &result->stages[i];
        if (!stage->is_compared || !is_wanted(o, stage)) {
            continue;
        }
        if (stage->is_wrong && first < 0) {
            first = i;
        }
        *is_monotone &= first < 0 || stage->is_wrong;
    }
    return first;
}

static const char *says(const opd_stage_report *stage)
{
    return !stage->is_reported   ? "not reported by this variant"
           : !stage->is_compared ? "of another size than the definition's"
           : stage->is_wrong     ? "WRONG"
                                 : "right";
}

static opd_status report(const trace_options *o, const opd_case *item, const opd_replay_result *result, int exit_status)
{
    static const char *const titles[] = { "STAGE", ">ELEMENTS", ">ERROR", ">NAIVE", ">GOT", ">RIGHT", "SAYS" };
    char words[1024];
    opd_table *table = NULL;
    bool is_monotone = true;
    int first = first_wrong(&is_monotone, o, result);
    opd_call_describe(words, sizeof words, &item->call);
    printf("%-12s %s\n%-12s %s\n", "call", words, "variant", result->variant);
    opd_status status = opd_table_new(&table, titles, OPD_COUNT(titles));
    for (int i = 0; i < result->stage_count && status == OPD_OK; i++) {
        const opd_stage_report *stage = &result->stages[i];
        if (!is_wanted(o, stage)) {
            continue;
        }
        opd_table_row(table);
        opd_table_cell(table, 0, "%s", stage->name);
        if (stage->is_compared) {
            opd_table_cell(table, 1, "%lld", (long long)stage->count);
            opd_table_cell(table, 2, "%.3g", stage->max_abs);
            opd_table_cell(table, 3, "%.3g", stage->naive_abs);
            opd_table_cell(table, 4, "%.9g", stage->got);
            opd_table_cell(table, 5, "%.9g", stage->want);
        }
        opd_table_cell(table, 6, "%s", says(stage));
    }
    status = status == OPD_OK ? opd_table_print(table) : status;
    if (first >= 0) {
        printf("%-12s %s%s\n", "first wrong", result->stages[first].name,
               is_monotone ? "" : "; a later stage is right again, which does not follow from it");
    }
    opd_findings_print_failure(result);
    opd_findings_print_word(exit_status == OPD_EXIT_OK ? opd_replay_word(result)
                            : first >= 0               ? "FAIL"
                                                       : opd_replay_word(result),
                            exit_status);
    return status;
}

static json_t *stages_array(const trace_options *o, const opd_replay_result *result)
{
    json_t *array = json_array();
    for (int i = 0; i < result->stage_count; i++) {
        const opd_stage_report *stage = &result->stages[i];
        json_t *object = json_object();
        if (!is_wanted(o, stage)) {
            json_decref(object);
            continue;
        }
        opd_document_put(object, "name", opd_document_text(stage->name));
        opd_document_put(object, "says", json_string(says(stage)));
        opd_document_put(object, "is_compared", json_boolean(stage->is_compared));
        opd_document_put(object, "is_wrong", json_boolean(stage->is_wrong));
        opd_document_put(object, "count", json_integer(stage->count));
        opd_document_put(object, "max_abs", opd_document_real(stage->max_abs));
        opd_document_put(object, "naive_abs", opd_document_real(stage->naive_abs));
        opd_document_put(object, "worst", json_integer(stage->worst));
        opd_document_put(object, "got", opd_document_real(stage->got));
        opd_document_put(object, "want", opd_document_real(stage->want));
        json_array_append_new(array, object);
    }
    return array;
}

static void report_json(const trace_options *o, const opd_replay_result *result, int exit_status)
{
    bool is_monotone = true;
    int first = first_wrong(&is_monotone, o, result);
    json_t *document = opd_document_result(result);
    opd_document_put(document, "stages", stages_array(o, result));
    opd_document_put(document, "first_wrong", first >= 0 ? opd_document_text(result->stages[first].name) : json_null());
    opd_document_put(document, "is_monotone", json_boolean(is_monotone));
    opd_document_put(document, "exit_status", json_integer(exit_status));
    opd_document_print(document, exit_status);
}

static int run(const opd_command *self, int argc, char **argv)
{
    trace_options o = { .making = OPD_MAKING_INIT, .checkpoints = "all" };
    opd_case item = { 0 };
    opd_replay_result result;
    opd_replay_options wish = { .repeat = 1, .with_metrics = true, .with_stages = true };
    opd_command_parse(self, &o.shared, argc, argv);
    wish.library = o.making.library;
    wish.variant = o.making.variant;
    opd_status status = opd_making_or_bundle(&item, &o.making, o.path, &o.shared);
    if (status == OPD_OK) {
        status = check_list(&o, &item.call);
    }
    if (status == OPD_OK) {
        status = opd_replay(&result, NULL, &item, NULL, &wish);
    }
    int exit_status = OPD_EXIT_TROUBLE;
    if (status == OPD_OK) {
        bool is_monotone = true;
        bool is_wrong = first_wrong(&is_monotone, &o, &result) >= 0 || result.observed.outcome != OPD_OUTCOME_OK;
        exit_status = is_wrong ? OPD_EXIT_FOUND : OPD_EXIT_OK;
        if (o.shared.is_json) {
            report_json(&o, &result, exit_status);
        } else if (!o.shared.is_quiet) {
            status = report(&o, &item, &result, exit_status);
        }
        opd_replay_result_done(&result);
    }
    exit_status = status == OPD_OK ? exit_status : opd_trouble();
    opd_case_done(&item);
    return exit_status;
}

const opd_command opd_command_trace = {
    .name = "trace",
    .synopsis = "--op NAME|BUNDLE [--checkpoint-mode all|LIST]",
    .summary = "Hold the inner stages of an operator against its definition",
    .examples = "  ops-debug trace --op LayerNormalization --checkpoint-mode all\n"
                "  ops-debug trace failing.opsb --checkpoint-mode mean,variance\n",
    .options = options,
    .parse = parse,
    .run = run,
};
