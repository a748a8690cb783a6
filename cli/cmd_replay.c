/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug replay: runs a recorded call in a worker process and says whether its failure came back. Of a folder, every
 * failure bundle.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include <opsdebug/memory.h>

#include "document.h"
#include "findings.h"
#include "junit.h"
#include "phrases.h"
#include "screen.h"
#include "trial.h"

enum { KEY_JUNIT = 0x100 };

typedef struct replay_options {
    opd_shared shared;
    opd_trial_options trial;
    const char *path;
    int path_count;
    const char *junit;
    unsigned jobs;
} replay_options;

static const struct argp_option options[] = {
    OPD_TRIAL_OPTIONS,
    { "junit", KEY_JUNIT, "FILE", 0, "Also write the answers as JUnit XML", 0 },
    { "jobs", 'j', "N", 0, "Replays at the same time (of a folder), default 1", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    replay_options *o = state->input;
    switch (key) {
    case KEY_JUNIT:
        o->junit = arg;
        return 0;
    case 'j':
        o->jobs = (unsigned)opd_parse_count(state, "--jobs", arg, 1, 256);
        return 0;
    case ARGP_KEY_ARG:
        opd_take_argument(state, &o->path, &o->path_count, 1, arg);
        return 0;
    case ARGP_KEY_NO_ARGS:
        opd_usage_error(state, "give a bundle or a folder of bundles");
        return 0;
    default:
        return opd_trial_parse(key, arg, state, &o->trial);
    }
}

/* One call to replay, and what came of it. */
typedef struct task {
    char path[4096];
    bool has_position;
    uint64_t position;
    opd_status status;
    bool is_unconcerned; /* what was asked for is of other calls */
    char error[512];
    opd_subject subject;
    opd_replay_result result;
    opd_answer answer;
} task;

typedef struct task_list {
    task *items;
    size_t count;
    atomic_size_t next;
    const replay_options *options;
    opd_paths paths;
    opd_unread unread;
} task_list;

static opd_status add_task(task_list *list, const char *path, const uint64_t *position)
{
    opd_status status = opd_grow((void **)&list->items, list->count + 1, sizeof *list->items);
    if (status != OPD_OK) {
        return status;
    }
    task *made = &list->items[list->count++];
    memset(made, 0, sizeof *made);
    snprintf(made->path, sizeof made->path, "%s", path);
    if (position != NULL) {
        made->has_position = true;
        made->position = *position;
    }
    return OPD_OK;
}

/* The chosen or failing call of a bundle; of a bundle without a failure, every call whose data it holds. */
static opd_status add_bundle(task_list *list, const char *path, bool only_failures)
{
    opd_bundle *bundle = NULL;
    const replay_options *o = list->options;
    opd_status status = opd_source_open(&bundle, path, &o->shared);
    if (status != OPD_OK) {
        return status;
    }
    size_t before = list->count;
    if (!o->shared.is_quiet) {
        opd_source_remark_outside(bundle);
    }
    if (o->trial.call != NULL || opd_source_has_failure(bundle)) {
        status = add_task(list, path, NULL);
    } else if (!only_failures || opd_source_is_golden(bundle)) {
        for (uint64_t i = 0; i < opd_bundle_call_count(bundle) && status == OPD_OK; i++) {
            opd_call call;
            status = opd_bundle_call(&call, bundle, i);
            if (status == OPD_OK && opd_source_is_replayable(bundle, &call)) {
                status = add_task(list, path, &i);
            }
        }
        if (status == OPD_OK && list->count == before) {
            /* The reason is in loading the call that the user most likely means. */
            status = add_task(list, path, NULL);
        }
    }
    opd_bundle_close(bundle);
    return status;
}

static opd_status run_in_bundle(task *job, const replay_options *o, const opd_bundle *bundle)
{
    opd_case item = { 0 };
    opd_replay_options way = o->trial.replay;
    opd_status status = job->has_position ? opd_subject_at(&job->subject, bundle, job->position)
                                          : opd_subject_find(&job->subject, bundle, o->trial.call);
    if (status == OPD_OK) {
        status = opd_trial_check_concern(&job->is_unconcerned, &job->subject.call, &o->trial.replay);
    }
    if (status == OPD_OK) {
        status = opd_trial_load(&item, bundle, &job->subject, &o->trial.replay);
    }
    if (status == OPD_OK) {
        opd_ruling_apply(&way, &job->subject.ruling);
        status = opd_replay(&job->result, bundle, &item, job->subject.has_failure ? &job->subject.failure : NULL, &way);
        opd_case_done(&item);
        if (status != OPD_OK) {
            status = opd_fail_in(status, "%s", job->path);
        }
    }
    return status;
}

static void run_task(task *job, const replay_options *o)
{
    opd_bundle *bundle = NULL;
    job->status = opd_bundle_open(&bundle, job->path);
    if (job->status == OPD_OK) {
        job->status = run_in_bundle(job, o, bundle);
    }
    opd_bundle_close(bundle);
    if (job->status != OPD_OK) {
        snprintf(job->error, sizeof job->error, "%s", opd_error_text());
        job->answer = (opd_answer){ "could not run", job->status == OPD_E_NAME ? OPD_EXIT_USAGE : OPD_EXIT_TROUBLE };
    } else {
        job->answer = opd_trial_answer(&job->result, &job->subject);
    }
}

/* Where what was asked for is of some calls, the others are no trouble; where it is of none, each says why. */
static void settle_unconcerned(task_list *list)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        task *job = &list->items[i];
        job->is_unconcerned = job->is_unconcerned || job->status == OPD_E_NAME;
        count += job->is_unconcerned;
    }
    for (size_t i = 0; i < list->count; i++) {
        task *job = &list->items[i];
        job->is_unconcerned = job->is_unconcerned && count < list->count;
        if (job->is_unconcerned) {
            job->answer = (opd_answer){ "not concerned", OPD_EXIT_OK };
        }
    }
}

static void *work(void *context)
{
    task_list *list = context;
    for (size_t i = atomic_fetch_add(&list->next, 1); i < list->count; i = atomic_fetch_add(&list->next, 1)) {
        if (list->count > 1) {
            opd_progress("replay: %zu of %zu", i + 1, list->count);
        }
        run_task(&list->items[i], list->options);
    }
    return NULL;
}

static void run_tasks(task_list *list)
{
    pthread_t threads[256];
    unsigned started = 0;
    unsigned wanted = list->options->jobs < list->count ? list->options->jobs : (unsigned)list->count;
    while (started + 1 < wanted && pthread_create(&threads[started], NULL, work, list) == 0) {
        started++;
    }
    work(list);
    for (unsigned i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    opd_progress_done();
    settle_unconcerned(list);
}

/* -------------------------------------------------------------------------------------------------- printing */

static void print_lines(const char *title, const char *lines)
{
    while (*lines != '\0') {
        int length = (int)strcspn(lines, "\n");
        printf("%-12s %.*s\n", title, length, lines);
        title = "";
        lines += length + (lines[length] == '\n');
    }
}

static const char *answer_paint(const opd_answer *answer)
{
    return opd_paint_on(stdout, answer->exit_status == OPD_EXIT_OK ? OPD_PAINT_GREEN : OPD_PAINT_RED);
}

static void print_next(const task *job, const replay_options *o)
{
    char word[4096];
    char call[48];
    opd_trial_options repeat = o->trial;
    bool is_found = job->answer.exit_status == OPD_EXIT_FOUND;
    opd_phrase_shell(word, sizeof word, job->path);
    if (job->has_position && repeat.call == NULL) {
        snprintf(call, sizeof call, "%u:%" PRIu64, job->subject.call.thread, job->subject.call.number);
        repeat.call = call;
    }
    if (is_found && job->result.observed.outcome != OPD_OUTCOME_OK &&
        !(job->subject.is_reduced && job->result.came_back)) {
        opd_trial_print_reduce(job->path, &repeat, &job->result, &job->subject);
    } else if (is_found) {
        printf("%snext:%s ops-debug diagnose %s", opd_paint_on(stdout, OPD_PAINT_BOLD),
               opd_paint_on(stdout, OPD_PAINT_OFF), word);
        opd_trial_print_options(stdout, &repeat);
        printf("\n");
    } else if (job->answer.exit_status == OPD_EXIT_OK && job->subject.has_failure &&
               o->trial.replay.guard == OPD_GUARD_NONE && o->trial.replay.repeat <= 1) {
        opd_outcome recorded = job->subject.failure.outcome;
        if (recorded == OPD_OUTCOME_UNSTABLE || recorded == OPD_OUTCOME_ALLOCATED) { /* one run does not show it */
            repeat.replay.repeat = 20;
        } else {
            repeat.replay.guard = OPD_GUARD_BOTH;
        }
        printf("%snext:%s ops-debug replay %s", opd_paint_on(stdout, OPD_PAINT_BOLD),
               opd_paint_on(stdout, OPD_PAINT_OFF), word);
        opd_trial_print_options(stdout, &repeat);
        printf("\n");
    }
}

static void print_one(const task *job, const replay_options *o)
{
    const opd_replay_result *result = &job->result;
    char words[1024];
    char time[32];
    print_lines("environment", result->environment);
    opd_call_describe(words, sizeof words, &job->subject.call);
    printf("call         %s\n", words);
    if (job->subject.has_failure) {
        opd_phrase_failure(words, sizeof words, &result->expected);
        printf("recorded     %s\n", words);
    }
    opd_phrase_failure(words, sizeof words, &result->observed);
    printf("here         %s\n", words);
    if (o->shared.verbosity > 0 && result->observed.reason[0] != '\0') {
        printf("reason       %s\n", opd_phrase_line(words, sizeof words, result->observed.reason));
    }
    opd_trial_describe_provider(words, sizeof words, result);
    opd_phrase_aside_time(time, sizeof time, result->run_ns);
    printf("ran on       %s%s\n", words, time);
    opd_trial_print_numbers(&result->numbers, o->trial.replay.lazy_reference &&
                                                  job->answer.exit_status == OPD_EXIT_FOUND &&
                                                  result->same == OPD_SAME_BITWISE);
    if (job->subject.is_golden && result->same != OPD_SAME_BITWISE && result->numbers.is_valid) {
        printf("%-12s error %.3g of eps x gauge, %.3g ULP, of the expected values (%s)\n",
               opd_sureness_name(OPD_SURENESS_GOLDEN), result->recorded_ratio, result->recorded_ulp,
               job->subject.golden_by);
    }
    opd_findings_print_opinion(&result->opinion);
    if (result->runs > 1) {
        printf("repeated     %u runs, %u failed, %u differ from the first\n", result->runs, result->runs_failed,
               result->runs_differing);
    }
    printf("%s%s%s\n", answer_paint(&job->answer), job->answer.text, opd_paint_on(stdout, OPD_PAINT_OFF));
    print_next(job, o);
}

/* The distinct errors one after another, each once. Returns their number, as far as neighbours tell. */
static size_t print_errors(const task_list *list)
{
    const char *last = "";
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const task *job = &list->items[i];
        if (job->status != OPD_OK && !job->is_unconcerned && strcmp(job->error, last) != 0) {
            opd_fail(job->status, "%s", job->error);
            (void)opd_trouble();
            last = job->error;
            count++;
        }
    }
    return count;
}

/* The same error of all calls has been said. */
static opd_status print_list(const task_list *list, bool is_one_error)
{
    static const char *const titles[] = { "BUNDLE", "CALL", "RECORDED", "ANSWER" };
    opd_table *table = NULL;
    opd_status status = opd_table_new(&table, titles, OPD_COUNT(titles));
    for (size_t i = 0; i < list->count && status == OPD_OK; i++) {
        const task *job = &list->items[i];
        char words[512];
        opd_table_row(table);
        opd_table_cell(table, 0, "%s", strrchr(job->path, '/') != NULL ? strrchr(job->path, '/') + 1 : job->path);
        opd_table_cell(table, 1, "%u:%" PRIu64 " %s", job->subject.call.thread, job->subject.call.number,
                       job->subject.call.name);
        opd_phrase_failure(words, sizeof words, &job->subject.failure);
        opd_table_cell(table, 2, "%s", job->subject.has_failure ? words : "");
        bool has_own_error = job->error[0] != '\0' && !is_one_error;
        opd_table_cell(table, 3, "%s%s%s", job->answer.text, has_own_error ? ": " : "",
                       has_own_error ? job->error : "");
    }
    return status == OPD_OK ? opd_table_print(table) : status;
}

static size_t count_answers(const task_list *list, int exit_status)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        count += list->items[i].answer.exit_status == exit_status;
    }
    return count;
}

static size_t count_unconcerned(const task_list *list)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        count += list->items[i].is_unconcerned;
    }
    return count;
}

static json_t *counts_object(const task_list *list)
{
    json_t *object = json_object();
    opd_document_put(object, "replays", opd_document_count(list->count));
    opd_document_put(object, "found", opd_document_count(count_answers(list, OPD_EXIT_FOUND)));
    opd_document_put(object, "could_not_run", opd_document_count(count_answers(list, OPD_EXIT_TROUBLE)));
    opd_document_put(object, "not_concerned", opd_document_count(count_unconcerned(list)));
    opd_document_put(object, "unread", opd_document_count(list->unread.paths.count));
    return object;
}

/* Expected values are an opinion: how many there are, how far they are from what runs here and from high precision. */
static void print_goldens(const task_list *list)
{
    size_t counts[OPD_SAME_DIFFERENT + 1] = { 0 };
    size_t total = 0;
    const task *furthest = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const task *job = &list->items[i];
        if (job->status != OPD_OK || !job->subject.is_golden || job->result.same == OPD_SAME_UNKNOWN) {
            continue;
        }
        total++;
        counts[job->result.same]++;
        bool is_further = furthest == NULL || job->result.recorded_ulp > furthest->result.recorded_ulp;
        furthest = job->result.numbers.is_valid && is_further ? job : furthest;
    }
    if (total == 0) {
        return;
    }
    printf("%s: %zu have expected values: %zu are met bitwise, %zu within the bound, %zu not",
           opd_sureness_name(OPD_SURENESS_GOLDEN), total, counts[OPD_SAME_BITWISE], counts[OPD_SAME_BOUND],
           counts[OPD_SAME_DIFFERENT]);
    if (furthest != NULL) {
        const char *slash = strrchr(furthest->path, '/');
        printf("; from high precision they are up to %.3g ULP off (%s)", furthest->result.recorded_ulp,
               slash != NULL ? slash + 1 : furthest->path);
    }
    printf("\n");
}

static void print_summary(const task_list *list)
{
    char words[48];
    opd_phrase_count(words, sizeof words, list->count, "replay");
    size_t unconcerned = count_unconcerned(list);
    printf("%s: %zu with a finding, %zu without, %zu could not run", words, count_answers(list, OPD_EXIT_FOUND),
           count_answers(list, OPD_EXIT_OK) - unconcerned, count_answers(list, OPD_EXIT_TROUBLE));
    if (unconcerned > 0) {
        printf(", %zu not concerned", unconcerned);
    }
    printf("\n");
    print_goldens(list);
    opd_unread_print(&list->unread, 0, list->paths.count);
}

static int print_json(const task_list *list, int exit_status)
{
    json_t *document = json_object();
    json_t *replays = json_array();
    for (size_t i = 0; i < list->count; i++) {
        const task *job = &list->items[i];
        json_t *object = job->status == OPD_OK ? opd_document_result(&job->result) : json_object();
        opd_document_put(object, "path", opd_document_text(job->path));
        opd_document_put(object, "answer", json_string(job->answer.text));
        opd_document_put(object, "exit_status", json_integer(job->answer.exit_status));
        if (job->status == OPD_OK) {
            opd_document_put(object, "golden", json_boolean(job->subject.is_golden));
            if (job->result.opinion.is_valid) {
                opd_document_put(object, "convention", opd_findings_opinion(&job->result.opinion));
            }
            opd_document_put(object, "golden_by", opd_document_text(job->subject.golden_by));
            opd_document_put(object, "call", opd_document_call(&job->subject.call, false));
        } else {
            opd_document_put(object, "error", opd_document_text(job->error));
        }
        json_array_append_new(replays, object);
    }
    opd_document_put(document, "replays", replays);
    opd_document_put(document, "unread", opd_document_unread(&list->unread));
    opd_document_put(document, "waiting", opd_document_waiting(&list->paths));
    opd_document_put(document, "counts", counts_object(list));
    opd_document_put(document, "exit_status", json_integer(exit_status));
    return opd_document_print(document, exit_status);
}

static opd_status write_junit(const task_list *list, const char *path)
{
    opd_junit_case *cases = NULL;
    size_t unread = list->unread.paths.count;
    opd_status status = opd_alloc_array((void **)&cases, list->count + unread, sizeof *cases);
    for (size_t i = 0; i < list->count && status == OPD_OK; i++) {
        const task *job = &list->items[i];
        snprintf(cases[i].name, sizeof cases[i].name, "%.400s call %" PRIu64 " %s", job->path, job->subject.call.number,
                 job->subject.call.name);
        snprintf(cases[i].message, sizeof cases[i].message, "%s%s%s", job->answer.text,
                 job->error[0] != '\0' ? ": " : "", job->error);
        cases[i].has_failed = job->answer.exit_status == OPD_EXIT_FOUND;
        cases[i].is_error = job->answer.exit_status == OPD_EXIT_TROUBLE;
        cases[i].elapsed_ns = job->result.run_ns;
    }
    for (size_t i = 0; i < unread && status == OPD_OK; i++) {
        opd_junit_case *made = &cases[list->count + i];
        snprintf(made->name, sizeof made->name, "%.400s", list->unread.paths.items[i]);
        snprintf(made->message, sizeof made->message, "%.500s", list->unread.reasons.items[i]);
        made->is_error = true;
    }
    if (status == OPD_OK) {
        status = opd_junit_write(path, "ops-debug replay", cases, list->count + unread);
    }
    opd_free(cases);
    return status;
}

/* Of several: any failure found is the answer; else any that could not run or be read; a name that none of them has is of the usage. One that some have
 * leaves the others unconcerned. */
static int worst_status(const task_list *list)
{
    if (count_answers(list, OPD_EXIT_FOUND) > 0) {
        return OPD_EXIT_FOUND;
    }
    size_t misnamed = count_answers(list, OPD_EXIT_USAGE);
    if (misnamed > 0 && misnamed == list->count && list->unread.paths.count == 0) {
        return OPD_EXIT_USAGE;
    }
    bool has_trouble = misnamed + count_answers(list, OPD_EXIT_TROUBLE) > 0 || list->unread.paths.count > 0;
    return has_trouble ? OPD_EXIT_TROUBLE : OPD_EXIT_OK;
}

static int report(const task_list *list, const replay_options *o)
{
    int exit_status = worst_status(list);
    if (o->junit != NULL && write_junit(list, o->junit) != OPD_OK) {
        return opd_trouble();
    }
    if (o->shared.is_json) {
        return print_json(list, exit_status);
    }
    bool is_one_error = print_errors(list) == 1 && count_answers(list, OPD_EXIT_TROUBLE) > 1;
    if (o->shared.is_quiet) {
        return exit_status;
    }
    if (list->count == 1) {
        if (list->items[0].status == OPD_OK) {
            print_one(&list->items[0], o);
        }
        opd_unread_print(&list->unread, 0, list->paths.count);
        return exit_status;
    }
    if (list->count > 1 && print_list(list, is_one_error) != OPD_OK) {
        return opd_trouble();
    }
    if (list->paths.count > 1 || list->count > 1) {
        print_summary(list);
    }
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].answer.exit_status == OPD_EXIT_FOUND) {
            print_next(&list->items[i], o);
            break;
        }
    }
    return exit_status;
}

static int run(const opd_command *self, int argc, char **argv)
{
    replay_options o = { .trial = OPD_TRIAL_OPTIONS_INIT, .jobs = 1 };
    task_list list = { .options = &o };
    opd_command_parse(self, &o.shared, argc, argv);
    o.trial.replay.lazy_reference = !o.shared.is_json && o.shared.verbosity <= 0;
    bool is_folder = opd_path_is_directory(o.path);
    opd_status status = o.junit != NULL ? opd_output_check("--junit", o.junit, o.path, OPD_OUTPUT_JUNIT) : OPD_OK;
    if (status == OPD_OK) {
        status = opd_paths_add(&list.paths, o.path);
        opd_paths_mention_waiting(&list.paths, &o.shared);
    }
    for (size_t i = 0; i < list.paths.count && status == OPD_OK; i++) {
        if (add_bundle(&list, list.paths.items[i], is_folder) != OPD_OK) {
            opd_unread_add(&list.unread, list.paths.items[i]);
        }
    }
    int exit_status = OPD_EXIT_OK;
    if (status == OPD_OK && list.count == 0 && list.unread.paths.count == 0) {
        status =
            opd_fail(OPD_E_NOTFOUND, "%s: no bundle in it records a failure; name one to replay its calls", o.path);
    }
    if (status != OPD_OK) {
        exit_status = opd_trouble();
    } else {
        run_tasks(&list);
        exit_status = report(&list, &o);
    }
    for (size_t i = 0; i < list.count; i++) {
        if (list.items[i].status == OPD_OK) {
            opd_replay_result_done(&list.items[i].result);
        }
    }
    opd_free(list.items);
    opd_paths_done(&list.paths);
    opd_unread_done(&list.unread);
    return exit_status;
}

const opd_command opd_command_replay = {
    .name = "replay",
    .synopsis = "BUNDLE|DIR",
    .summary = "Run a recorded call again and say whether its failure comes back",
    .details =
        "Of a folder, every bundle that records a failure is replayed. A bundle without a failure has every call\n"
        "replayed whose data it holds. Exit status 1: a failure came back, or a result is different; else 3 when a bundle\n"
        "could not be read or run; else 0. A file of a folder that cannot be read is named and left out.\n"
        "Of several calls, those that --isa, --core or --variant cannot be said of are not concerned, and counted apart.",
    .examples = "  ops-debug replay run/solve-4711-1-nan.opsb\n"
                "  ops-debug replay run/solve-4711-1-nan.opsb --guard --core Haswell --threads 1\n"
                "  ops-debug replay run/solve-4711-1-nan.opsb --library blis --repeat 20\n"
                "  ops-debug replay run/ -j 2 --junit replay.xml\n",
    .options = options,
    .parse = parse,
    .run = run,
};
