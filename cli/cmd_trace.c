/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug trace: the inner stages of one call, each held against the operator's definition, to the first that goes wrong: all of them in one run,
 * or by bisection, which runs the call again for each stage it asks for and keeps only that one in memory.
 */
#include <string.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#include "document.h"
#include "findings.h"
#include "making.h"
#include "phrases.h"
#include "screen.h"
#include "stage_search.h"

enum { KEY_CHECKPOINTS = 0x100 };

typedef struct trace_options {
    opd_shared shared;
    opd_making making;
    const char *path;
    int path_count;
    const char *checkpoints;
    opd_ruling ruling; /* of the bundle */
    int argc;          /* the command line as it was given */
    char **argv;
} trace_options;

static const struct argp_option options[] = {
    OPD_MAKING_OPTIONS,
    { "checkpoint-mode", KEY_CHECKPOINTS, "all|bisect|LIST", 0,
      "Stages to look at, by the names of ops NAME; all: in one run, the default; bisect: as few as show the first wrong one",
      0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    trace_options *o = state->input;
    switch (key) {
    case KEY_CHECKPOINTS:
        if (arg[strspn(arg, ", ")] == '\0') {
            opd_usage_error(state, "--checkpoint-mode names no stage: all, bisect or names of ops NAME");
        }
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

static bool is_bisection(const trace_options *o)
{
    return strcmp(o->checkpoints, "bisect") == 0;
}

static bool is_list(const trace_options *o)
{
    return !is_bisection(o) && strcmp(o->checkpoints, "all") != 0;
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
        if (size > 0 && is_list(o) && (size >= sizeof word || !is_listed(stages, word))) {
            return opd_fail(OPD_E_NAME, "%s has no stage %.*s; it has: %s", call->name, (int)size, at, stages);
        }
        at += size;
        at += strspn(at, ", ");
    }
    return OPD_OK;
}

_Static_assert((int)OPD_MAX_STAGES <= OPD_STAGE_SEARCH_LIMIT, "all stages are searched");

/* What is known of a call's stages. */
typedef struct tracing {
    const trace_options *options;
    const opd_case *item;
    opd_replay_result result;                 /* of the whole call */
    opd_stage_report reports[OPD_MAX_STAGES]; /* of the stages in question, in the contract's order */
    opd_stage_search search;
    int count;
} tracing;

static opd_replay_options wish_of(const trace_options *o)
{
    opd_replay_options wish = {
        .repeat = 1, .with_metrics = true, .library = o->making.library, .variant = o->making.variant
    };
    opd_ruling_apply(&wish, &o->ruling);
    return wish;
}

static opd_stage_state state_of(const opd_stage_report *stage)
{
    return !stage->is_compared ? OPD_STAGE_MISSING : stage->is_wrong ? OPD_STAGE_WRONG : OPD_STAGE_RIGHT;
}

/* One stage in a run of its own. */
static opd_status probe_alone(void *context, int stage, opd_stage_state *state)
{
    tracing *self = context;
    opd_replay_result result;
    opd_replay_options wish = wish_of(self->options);
    wish.with_metrics = false;
    wish.skip_reference = true;
    wish.with_stages = true;
    wish.stages = self->reports[stage].name;
    opd_status status = opd_replay(&result, NULL, self->item, NULL, &wish);
    if (status == OPD_OK) {
        *state = OPD_STAGE_MISSING;
        if (result.stage_count > 0) {
            self->reports[stage] = result.stages[0];
            *state = state_of(&self->reports[stage]);
        }
        opd_replay_result_done(&result);
    }
    return status;
}

static opd_status probe_known(void *context, int stage, opd_stage_state *state)
{
    const tracing *self = context;
    *state = state_of(&self->reports[stage]);
    return OPD_OK;
}

/* The names in question, in the contract's order. */
static void list_stages(tracing *self)
{
    const char *text = self->item->call.op->checkpoints;
    for (text += strspn(text, " "); *text != '\0' && self->count < OPD_MAX_STAGES; text += strspn(text, " ")) {
        opd_stage_report *stage = &self->reports[self->count];
        size_t size = strcspn(text, " ");
        snprintf(stage->name, sizeof stage->name, "%.*s", (int)size, text);
        self->count += !is_list(self->options) || is_listed(self->options->checkpoints, stage->name);
        text += size;
    }
}

/* Stages that come round step by step are known together: an error comes back into the earlier ones of the next step. */
static bool goes_by_steps(const tracing *self)
{
    return self->item->call.op->steps != NULL;
}

static opd_status look_at_stages(tracing *self)
{
    char names[OPD_MAX_STAGES * OPD_NAME] = "";
    bool is_alone = is_bisection(self->options) && !goes_by_steps(self);
    opd_replay_options wish = wish_of(self->options);
    list_stages(self);
    for (int i = 0; i < self->count; i++) {
        size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s ", self->reports[i].name);
    }
    wish.with_stages = !is_alone;
    wish.stages = names;
    opd_status status = opd_replay(&self->result, NULL, self->item, NULL, &wish);
    if (status != OPD_OK) {
        return status;
    }
    for (int i = 0; i < self->count && !is_alone; i++) {
        for (int k = 0; k < self->result.stage_count; k++) {
            if (strcmp(self->reports[i].name, self->result.stages[k].name) == 0) {
                self->reports[i] = self->result.stages[k];
            }
        }
    }
    bool is_bad = self->result.observed.outcome != OPD_OUTCOME_OK;
    status = is_alone ? opd_stage_search_run(&self->search, self->count, is_bad, self->options->making.seed,
                                             probe_alone, self)
                      : opd_stage_search_all(&self->search, self->count, probe_known, self);
    if (status != OPD_OK) {
        opd_replay_result_done(&self->result);
    }
    return status;
}

/* The wrong stage that comes first in time; -1 = none. */
static int first_wrong(const tracing *self)
{
    int first = self->search.first;
    for (int i = 0; i < self->count && first >= 0; i++) {
        const opd_stage_report *stage = &self->reports[i];
        if (self->search.state[i] == OPD_STAGE_WRONG && stage->first_step < self->reports[first].first_step) {
            first = i;
        }
    }
    return first;
}

/* The last stage known to be right before one; -1 = none. */
static int right_before(const tracing *self, int first)
{
    int last = -1;
    for (int i = 0; i < (first >= 0 ? first : self->count); i++) {
        last = self->search.state[i] == OPD_STAGE_RIGHT ? i : last;
    }
    return last;
}

static const char *says(const tracing *self, int stage)
{
    const opd_stage_report *report = &self->reports[stage];
    return self->search.state[stage] == OPD_STAGE_UNKNOWN ? "not asked for"
           : !report->is_reported                         ? "not reported by this variant"
           : !report->is_compared                         ? "of another size than the definition's"
           : report->is_wrong                             ? "WRONG"
                                                          : "right";
}

static opd_status print_stages(const tracing *self)
{
    static const char *const titles[] = {
        "STAGE", ">ELEMENTS", ">WRONG", ">ERROR", ">NAIVE", ">GOT", ">RIGHT", "SAYS"
    };
    opd_table *table = NULL;
    opd_status status = opd_table_new(&table, titles, OPD_COUNT(titles));
    for (int i = 0; i < self->count && status == OPD_OK; i++) {
        const opd_stage_report *stage = &self->reports[i];
        opd_table_row(table);
        opd_table_cell(table, 0, "%s", stage->name);
        if (stage->is_compared) {
            opd_table_cell(table, 1, "%lld", (long long)stage->count);
            opd_table_cell(table, 2, "%lld", (long long)stage->wrong_count);
            opd_table_cell(table, 3, "%.3g", stage->max_abs);
            opd_table_cell(table, 4, "%.3g", stage->naive_abs);
            opd_table_cell(table, 5, "%.9g", stage->got);
            opd_table_cell(table, 6, "%.9g", stage->want);
        }
        opd_table_cell(table, 7, "%s", says(self, i));
    }
    return status == OPD_OK ? opd_table_print(table) : status;
}

static void print_first(const tracing *self)
{
    int first = first_wrong(self);
    int before = right_before(self, first);
    bool is_bad = self->result.observed.outcome != OPD_OUTCOME_OK;
    if (first < 0 && (!is_bad || before < 0)) {
        return;
    }
    printf("%-12s %s", "first wrong", first >= 0 ? self->reports[first].name : "the outputs");
    if (first >= 0 && self->reports[first].steps > 1) {
        printf(" of step %lld", (long long)self->reports[first].first_step);
    }
    if (before >= 0) {
        printf(", made after %s, which is right", self->reports[before].name);
    }
    printf("\n");
    if (!self->search.is_monotone) {
        printf("%-12s a later stage is right again: what is wrong in %s does not reach it\n", "not monotone",
               self->reports[first].name);
    } else if (first >= 0 && !is_bad) {
        printf("%-12s the outputs are right all the same\n", "not monotone");
    }
}

/* The chain that reports what the variant never has as a whole; NULL = it is this one, or there is none. */
static const char *chain_of(const tracing *self)
{
    static const char chain[] = "unfused";
    const opd_kernel *kernel = opd_kernel_find(self->item->call.domain, self->item->call.name);
    bool has_chain = kernel != NULL && opd_kernel_named(kernel, chain) != NULL;
    return has_chain && strcmp(self->result.variant, chain) != 0 ? chain : NULL;
}

/* The same call as a line of `run`, which keeps it: all options but --checkpoint-mode, however much of it was written. */
static void print_keeping(const trace_options *o)
{
    char *kept[128];
    char words[2048];
    int count = 0;
    for (int i = 0; i < o->argc && count < (int)OPD_COUNT(kept); i++) {
        bool is_mode = strncmp(o->argv[i], "--c", 3) == 0;
        i += is_mode && strchr(o->argv[i], '=') == NULL;
        if (!is_mode) {
            kept[count++] = o->argv[i];
        }
    }
    opd_phrase_command(words, sizeof words, "run", count, kept);
    opd_print_next("%s --save fail.opsb", words);
}

static bool is_missing(const tracing *self, int stage)
{
    return self->search.state[stage] == OPD_STAGE_MISSING;
}

/* What to do about stages that were not seen, or about a wrong one. */
static void print_next(const tracing *self, int exit_status)
{
    const trace_options *o = self->options;
    const char *chain = chain_of(self);
    char words[2048];
    bool has_missing = false;
    for (int i = 0; i < self->count; i++) {
        has_missing |= is_missing(self, i);
    }
    if (exit_status == OPD_EXIT_FOUND && o->path != NULL) {
        char library[1024] = "";
        opd_phrase_shell(words, sizeof words, o->path);
        if (o->making.library != NULL) {
            opd_phrase_shell(library, sizeof library, o->making.library);
        }
        opd_print_next("ops-debug reduce %s -o min.opsb%s%s", words, library[0] != '\0' ? " --library " : "", library);
    } else if (exit_status == OPD_EXIT_FOUND) {
        print_keeping(o);
    } else if (has_missing && chain != NULL) {
        opd_phrase_command(words, sizeof words, "trace", o->argc, o->argv);
        opd_print_next("%s --variant %s", words, chain);
    }
}

/* Was no stage seen of those asked for? Then the run says nothing of them. */
static bool is_blind(const tracing *self)
{
    for (int i = 0; i < self->count; i++) {
        if (self->search.state[i] != OPD_STAGE_UNKNOWN && !is_missing(self, i)) {
            return false;
        }
    }
    return true;
}

/* The verdict then. */
static const char unseen[] = "NO_STAGE_SEEN";

static bool is_unseen(const tracing *self, int exit_status)
{
    return exit_status == OPD_EXIT_TROUBLE && self->result.observed.outcome == OPD_OUTCOME_OK;
}

static void print_missing(const tracing *self)
{
    const char *before = "";
    for (int i = 0; i < self->count; i++) {
        if (is_missing(self, i)) {
            printf(*before == '\0' ? "%-12s " : "%s", *before == '\0' ? "not judged" : before);
            printf("%s", self->reports[i].name);
            before = ", ";
        }
    }
    if (*before != '\0') {
        printf(": not reported by variant %s\n", self->result.variant);
    }
}

static void print_search(const tracing *self)
{
    if (is_bisection(self->options) && goes_by_steps(self)) {
        printf("%-12s of no use: the stages come round step by step, so all %d were looked at in one run\n",
               "bisection", self->count);
    } else if (is_bisection(self->options)) {
        printf("%-12s %d of %d stages asked for%s\n", "bisection", self->search.probes, self->count,
               self->search.is_exhaustive && self->count > 2 ? ", one by one" : "");
    }
}

static opd_status report(const tracing *self, int exit_status)
{
    char words[1024];
    opd_call_describe(words, sizeof words, &self->item->call);
    printf("%-12s %s\n%-12s %s\n", "call", words, "variant", self->result.variant);
    opd_status status = print_stages(self);
    print_first(self);
    print_missing(self);
    print_search(self);
    opd_findings_print_failure(&self->result);
    bool is_fail = exit_status != OPD_EXIT_OK && first_wrong(self) >= 0;
    opd_findings_print_word(is_fail                        ? "FAIL"
                            : is_unseen(self, exit_status) ? unseen
                                                           : opd_replay_word(&self->result),
                            exit_status);
    print_next(self, exit_status);
    return status;
}

static json_t *stages_array(const tracing *self)
{
    json_t *array = json_array();
    for (int i = 0; i < self->count; i++) {
        const opd_stage_report *stage = &self->reports[i];
        json_t *object = json_object();
        opd_document_put(object, "name", opd_document_text(stage->name));
        opd_document_put(object, "says", json_string(says(self, i)));
        opd_document_put(object, "is_compared", json_boolean(stage->is_compared));
        opd_document_put(object, "is_wrong", json_boolean(stage->is_wrong));
        opd_document_put(object, "count", json_integer(stage->count));
        opd_document_put(object, "wrong_count", json_integer(stage->wrong_count));
        opd_document_put(object, "steps", json_integer(stage->steps));
        opd_document_put(object, "first_step", json_integer(stage->first_step));
        opd_document_put(object, "max_abs", opd_document_real(stage->max_abs));
        opd_document_put(object, "naive_abs", opd_document_real(stage->naive_abs));
        opd_document_put(object, "worst", json_integer(stage->worst));
        opd_document_put(object, "got", opd_document_real(stage->got));
        opd_document_put(object, "want", opd_document_real(stage->want));
        json_array_append_new(array, object);
    }
    return array;
}

static void report_json(const tracing *self, int exit_status)
{
    int first = first_wrong(self);
    json_t *document = opd_document_result(&self->result);
    if (is_unseen(self, exit_status)) {
        opd_document_put(document, "verdict", json_string(unseen));
    }
    opd_document_put(document, "stages", stages_array(self));
    opd_document_put(document, "first_wrong", first >= 0 ? opd_document_text(self->reports[first].name) : json_null());
    opd_document_put(document, "is_monotone", json_boolean(self->search.is_monotone));
    opd_document_put(document, "probes", json_integer(self->search.probes));
    opd_document_put(document, "exit_status", json_integer(exit_status));
    opd_document_print(document, exit_status);
}

static int run(const opd_command *self, int argc, char **argv)
{
    trace_options o = { .making = OPD_MAKING_INIT, .checkpoints = "all" };
    opd_case item = { 0 };
    opd_command_parse(self, &o.shared, argc, argv);
    o.argc = argc;
    o.argv = argv;
    tracing found = { .options = &o, .item = &item };
    int exit_status = OPD_EXIT_TROUBLE;
    opd_status status = opd_making_or_bundle(&item, &o.ruling, &o.making, o.path, &o.shared);
    if (status == OPD_OK) {
        status = check_list(&o, &item.call);
    }
    if (status == OPD_OK) {
        status = look_at_stages(&found);
    }
    if (status == OPD_OK) {
        opd_outcome outcome = found.result.observed.outcome;
        bool is_wrong = first_wrong(&found) >= 0 || outcome != OPD_OUTCOME_OK;
        exit_status = is_wrong ? OPD_EXIT_FOUND : is_blind(&found) ? OPD_EXIT_TROUBLE : OPD_EXIT_OK;
        if (outcome == OPD_OUTCOME_HARNESS || outcome == OPD_OUTCOME_UNSUPPORTED) { /* it was not this call's run */
            exit_status = OPD_EXIT_TROUBLE;
        }
        if (o.shared.is_json) {
            report_json(&found, exit_status);
        } else if (!o.shared.is_quiet) {
            status = report(&found, exit_status);
        }
        opd_replay_result_done(&found.result);
    }
    exit_status = status == OPD_OK ? exit_status : opd_trouble();
    opd_case_done(&item);
    return exit_status;
}

const opd_command opd_command_trace = {
    .name = "trace",
    .synopsis = "--op NAME|BUNDLE [--checkpoint-mode all|bisect|LIST]",
    .summary = "Hold the inner stages of an operator against its definition",
    .examples = "  ops-debug trace --op LayerNormalization --checkpoint-mode all\n"
                "  ops-debug trace --op FusedAttention --variant unfused --checkpoint-mode bisect\n"
                "  ops-debug trace failing.opsb --checkpoint-mode mean,variance\n",
    .options = options,
    .parse = parse,
    .run = run,
};
