/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug record: runs a program under the flight recorder and ends as the program ended.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <opsdebug/memory.h>
#include <opsdebug/record.h>
#include <opsdebug/replay.h>

#include "document.h"
#include "phrases.h"
#include "record_report.h"
#include "screen.h"
#include "source.h"
#include "verdict.h"

enum {
    KEY_CAPTURE = 0x100,
    KEY_TRIGGER,
    KEY_BUDGET,
    KEY_MATCH,
    KEY_RANGE,
    KEY_SAMPLE,
    KEY_REPORT,
    KEY_ATTACH,
    KEY_BUNDLES,
    KEY_PER_FAILURE,
    KEY_NO_AUDIT,
    KEY_NO_TRACKING,
    KEY_TORCH,
    KEY_FIRST,
    KEY_OVERHEAD,
    KEY_VERIFY,
    KEY_SAMPLE_STATS
};

typedef struct record_options {
    opd_shared shared;
    opd_record_options record;
    const char *report; /* file for the JSON document; NULL = none */
    uint64_t attach;    /* process that records itself and asks for a collector; 0 = none */
    opd_environment_info environment;
} record_options;

static const struct argp_option options[] = {
    { "output", 'o', "OUT", 0,
      "Folder for the bundles, or NAME.opsb for one (what has that name is kept as NAME.opsb.old); default ops-debug-out",
      0 },
    { "capture", KEY_CAPTURE, "LEVEL", 0,
      "counts (calls and time by kind, no record of each), meta (no operand is read), stats (digests, statistics), inputs (keeps inputs; the default) or full (outputs too)",
      0 },
    { "trigger", KEY_TRIGGER, "LIST", 0,
      "What freezes a bundle: nan,inf,crash,contract,timeout=60s (the default), abs>LIMIT, exit, always, or none (only what is asked for from outside or by the program)",
      0 },
    { "budget", KEY_BUDGET, "SIZE", 0, "Memory for operand data, 256K up to that of the machine, default 256M", 0 },
    { "match", KEY_MATCH, "GLOB", 0,
      "Only calls whose BLAS name without prefix or suffix (dgemm, also for cblas_dgemm and dgemm_64_) or whose operator (gemm) matches, such as '?gemm'",
      0 },
    { "range", KEY_RANGE, "A:B", 0, "Only calls A to B of each thread, from 1 on", 0 },
    { "sample", KEY_SAMPLE, "N", 0,
      "Read the operands of every N-th call only; nan, inf and abs see nothing in the others", 0 },
    { "sample-stats", KEY_SAMPLE_STATS, NULL, 0,
      "With --capture stats: statistics, and with them nan and inf, of the first 1024 elements of an operand and 1024 random ones; no digests of larger ones",
      0 },
    { "first", KEY_FIRST, "N", 0,
      "Read the operands of the first N calls of each kind (operator, dtypes, shapes, attributes) only; nan, inf and abs see nothing in the later ones",
      0 },
    { "overhead", KEY_OVERHEAD, "PERCENT", 0,
      "Share of its time that reading operands may cost a thread; then its calls go without for a while, which the bundles say",
      0 },
    { "verify", KEY_VERIFY, "N", 0,
      "Run one call in N again on the reference, beside the program, in a worker that gets what time is left; a wrong result makes a bundle with what went in",
      0 },
    { "bundles", KEY_BUNDLES, "N", 0,
      "Failures of a process that get a bundle, default 16, the last quarter only for kinds without one; the rest is counted",
      0 },
    { "per-failure", KEY_PER_FAILURE, "N", 0,
      "Bundles of failures of one kind (what, in which operand of which routine) at once, default 4; then one a minute",
      0 },
    { "no-audit", KEY_NO_AUDIT, NULL, 0,
      "Record by LD_PRELOAD alone: routines looked up by handle (dlsym) or bound by RTLD_DEEPBIND are then not seen",
      0 },
    { "no-write-tracking", KEY_NO_TRACKING, NULL, 0,
      "Read operands seen before again each time, even where the kernel can tell (Linux 6.7) that nobody wrote to them",
      0 },
    { "torch", KEY_TORCH, NULL, 0, "Also the ATen operators of Python programs that use PyTorch 1.13", 0 },
    { "report", KEY_REPORT, "FILE", 0, "Also write the report as a JSON document to FILE", 0 },
    { "attach", KEY_ATTACH, "PID", OPTION_HIDDEN, "Start a collector for a process that uses the C API", 0 },
    { 0 },
};

static void parse_range(const struct argp_state *state, const char *arg, opd_record_options *record)
{
    char *end = NULL;
    errno = 0;
    record->range_first = strtoull(arg, &end, 10);
    bool is_bad = end == arg || *end != ':' || arg[0] == '-' || record->range_first == 0;
    if (!is_bad) {
        const char *rest = end + 1;
        record->range_last = strtoull(rest, &end, 10);
        is_bad =
            end == rest || *end != '\0' || errno != 0 || record->range_first > record->range_last || rest[0] == '-';
    }
    if (is_bad) {
        opd_usage_error(state, "--range: '%s' is not A:B with 1 <= A <= B", arg);
    }
}

static void parse_budget(const struct argp_state *state, const char *arg, opd_record_options *record)
{
    opd_budget_range range = opd_record_budget_range();
    record->budget = opd_parse_bytes(state, "--budget", arg);
    if (record->budget < range.low || record->budget > range.high) {
        opd_usage_error(state, "--budget: '%s' is not from %" PRIu64 "K to %" PRIu64 "M, the memory of this machine",
                        arg, range.low >> 10, range.high >> 20);
    }
}

static void parse_overhead(const struct argp_state *state, const char *arg, opd_record_options *record)
{
    char *end = NULL;
    double percent = strtod(arg, &end);
    if (end == arg || (*end != '\0' && strcmp(end, "%") != 0) || !(percent > 0 && percent <= 1000)) {
        opd_usage_error(state, "--overhead: '%s' is not a percentage from above 0 to 1000", arg);
    }
    record->overhead = percent / 100;
}

/* Options that another level of capture cannot honour. */
static void check_levels(const struct argp_state *state, const opd_record_options *record)
{
    if (record->verify != 0 && record->capture == OPD_CAPTURE_COUNTS) {
        opd_usage_error(state, "--verify needs a record of the calls that it runs again: --capture meta is the least");
    }
    if (record->sample_stats && record->capture != OPD_CAPTURE_STATS) {
        opd_usage_error(state,
                        "--sample-stats is for --capture stats: other levels read operands whole, or not at all");
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    opd_record_options *record = &((record_options *)state->input)->record;
    switch (key) {
    case 'o':
        record->out = arg;
        return 0;
    case KEY_CAPTURE:
        if (opd_capture_parse(&record->capture, arg) != OPD_OK) {
            opd_usage_error(state, "--capture: %s", opd_error_text());
        }
        return 0;
    case KEY_TRIGGER:
        if (opd_triggers_parse(record, arg) != OPD_OK) {
            opd_usage_error(state, "--trigger: %s", opd_error_text());
        }
        return 0;
    case KEY_BUDGET:
        parse_budget(state, arg, record);
        return 0;
    case KEY_MATCH:
        record->match = arg;
        return 0;
    case KEY_RANGE:
        parse_range(state, arg, record);
        return 0;
    case KEY_SAMPLE:
        record->sample = (uint32_t)opd_parse_count(state, "--sample", arg, 1, UINT32_MAX);
        return 0;
    case KEY_BUNDLES:
        record->max_bundles = (uint32_t)opd_parse_count(state, "--bundles", arg, 0, UINT32_MAX);
        return 0;
    case KEY_SAMPLE_STATS:
        record->sample_stats = true;
        return 0;
    case KEY_VERIFY:
        record->verify = (uint32_t)opd_parse_count(state, "--verify", arg, 1, UINT32_MAX);
        record->verify_run = opd_verdict_of_bundle;
        return 0;
    case KEY_FIRST:
        record->first = (uint32_t)opd_parse_count(state, "--first", arg, 1, 65535);
        return 0;
    case KEY_OVERHEAD:
        parse_overhead(state, arg, record);
        return 0;
    case KEY_NO_TRACKING:
        record->ignores_writes = true;
        return 0;
    case KEY_PER_FAILURE:
        record->per_failure = (uint32_t)opd_parse_count(state, "--per-failure", arg, 1, UINT32_MAX);
        return 0;
    case KEY_NO_AUDIT:
        record->without_audit = true;
        return 0;
    case ARGP_KEY_ARG:
        /* The program and everything after it is not ours. */
        record->argv = state->argv + state->next - 1;
        state->next = state->argc;
        return 0;
    case KEY_TORCH:
        record->torch = true;
        return 0;
    case KEY_REPORT:
        ((record_options *)state->input)->report = arg;
        return 0;
    case KEY_ATTACH:
        ((record_options *)state->input)->attach = opd_parse_count(state, "--attach", arg, 1, INT32_MAX);
        return 0;
    case ARGP_KEY_NO_ARGS:
        if (((record_options *)state->input)->attach != 0) {
            return 0;
        }
        opd_usage_error(state, "give the program after --");
        return 0;
    case ARGP_KEY_END:
        check_levels(state, record);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Not to standard output, which is the program's. */
static void print_documents(const opd_record_report *report, const record_options *o, FILE *file)
{
    if (!o->shared.is_json && file == NULL) {
        return;
    }
    json_t *document = opd_record_document(report, &o->record);
    if (o->shared.is_json) {
        opd_document_print_to(document, stderr);
    }
    if (file != NULL && (!opd_document_print_to(document, file) || fflush(file) != 0)) {
        fprintf(stderr, "ops-debug: %s: the report could not be written: %s\n", o->report, strerror(errno));
    }
    json_decref(document);
}

/* Ends as the program ended. The core dump was the program's to write, not ours. */
static int end_like(int wait_status)
{
    if (!WIFSIGNALED(wait_status)) {
        return WEXITSTATUS(wait_status);
    }
    int number = WTERMSIG(wait_status);
    const struct rlimit none = { 0, 0 };
    sigset_t set;
    fflush(NULL);
    setrlimit(RLIMIT_CORE, &none);
    signal(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    return 128 + number;
}

static int failed_to_run(opd_status status)
{
    opd_trouble();
    switch (status) {
    case OPD_E_NOTFOUND:
        return OPD_EXIT_NO_PROGRAM;
    case OPD_E_UNSUPPORTED:
        return OPD_EXIT_NOT_EXECUTABLE;
    default:
        return OPD_EXIT_RECORDER;
    }
}

/* Prints the session: the C API reads it. */
static int attach(const opd_record_options *record, int pid)
{
    char session[OPD_SESSION_PATH];
    if (opd_record_attach(session, record, pid) != OPD_OK) {
        opd_trouble();
        return OPD_EXIT_RECORDER;
    }
    puts(session);
    return OPD_EXIT_OK;
}

/* Calls of an earlier run that nobody would find otherwise. */
static void mention_leftovers(const opd_record_options *record)
{
    char word[4096];
    if (opd_record_left_behind(record->out).orphaned > 0) {
        opd_phrase_shell(word, sizeof word, record->out);
        fprintf(stderr, "ops-debug: an earlier recording into %s was killed; ops-debug salvage %s brings its calls\n",
                record->out, word);
    }
}

static void mention_idle_triggers(const opd_record_options *record)
{
    char idle[64];
    uint32_t bits = opd_triggers_idle(record->triggers, record->capture);
    if (bits != 0) {
        opd_triggers_print(idle, sizeof idle, bits);
        fprintf(stderr,
                "ops-debug: --capture %s %s, so the triggers %s never fire; --capture stats is enough for them\n",
                opd_capture_name(record->capture),
                record->capture == OPD_CAPTURE_COUNTS ? "keeps no record of each call" : "reads no operand", idle);
    }
}

/* What was asked for and has to do with operands, where none is read. */
static void mention_void_settings(const opd_record_options *record)
{
    const opd_record_options usual = OPD_RECORD_OPTIONS_INIT;
    const struct {
        const char *flag;
        bool is_given;
    } settings[] = {
        { "--budget", record->budget != usual.budget },    { "--sample", record->sample > 1 },
        { "--first", record->first != usual.first },       { "--overhead", record->overhead != usual.overhead },
        { "--no-write-tracking", record->ignores_writes },
    };
    bool reads_operands = record->capture >= OPD_CAPTURE_STATS || record->verify != 0;
    for (size_t i = 0; i < OPD_COUNT(settings); i++) {
        if (settings[i].is_given && !reads_operands) {
            fprintf(stderr, "ops-debug: --capture %s reads no operand, so %s has no effect\n",
                    opd_capture_name(record->capture), settings[i].flag);
        }
    }
}

/* Failures that nobody will see, since the operands they are in are not read. */
static void mention_unread_calls(const opd_record_options *record)
{
    char blind[64];
    const struct {
        const char *flag;
        double value;
        bool is_given;
        const char *what;
    } settings[] = {
        { "--first", record->first, record->first > 0, "later calls of a kind" },
        { "--sample", record->sample, record->sample > 1, "the calls between" },
        { "--overhead", record->overhead * 100, record->overhead > 0, "calls beyond that share" },
    };
    uint32_t bits = opd_triggers_idle(record->triggers, OPD_CAPTURE_META); /* those that look at operands */
    opd_triggers_print(blind, sizeof blind, bits);
    for (size_t i = 0; i < OPD_COUNT(settings) && bits != 0 && record->capture >= OPD_CAPTURE_STATS; i++) {
        if (settings[i].is_given) {
            fprintf(stderr, "ops-debug: %s %g leaves %s unread: the triggers %s see nothing there\n", settings[i].flag,
                    settings[i].value, settings[i].what, blind);
        }
    }
}

static void say_notice(void *context, const char *text)
{
    (void)context;
    fprintf(stderr, "ops-debug: %s\n", text);
}

/* Opened before the program starts, so that a bad path is known in time. */
static FILE *open_report(const char *path)
{
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        opd_fail(OPD_E_IO, "--report: cannot create %s: %s", path, strerror(errno));
    }
    return file;
}

/* Once it is known what to record. */
static void mention_old(const char *out)
{
    struct stat found;
    size_t length = out != NULL ? strlen(out) : 0;
    if (length > 5 && strcmp(out + length - 5, ".opsb") == 0 && lstat(out, &found) == 0 && !S_ISDIR(found.st_mode)) {
        fprintf(stderr, "ops-debug: %s is there already: kept as %s.old when there is a new one\n", out, out);
    }
}

static int run_program(record_options *o, opd_record_report *report, FILE *file)
{
    /* A machine that cannot be described is recorded all the same. */
    o->record.environment = opd_environment_read(&o->environment) == OPD_OK ? &o->environment : NULL;
    if (o->attach != 0) {
        return attach(&o->record, (int)o->attach);
    }
    if (!o->shared.is_quiet && !o->shared.is_json) {
        mention_leftovers(&o->record);
        mention_old(o->record.out);
        mention_idle_triggers(&o->record);
        mention_void_settings(&o->record);
        mention_unread_calls(&o->record);
        o->record.notice = say_notice;
    }
    opd_status status = opd_record_run(report, &o->record);
    if (status == OPD_E_NOMEM) { /* no room for two processes: the program goes first */
        opd_trouble();
        execvp(o->record.argv[0], o->record.argv);
    }
    if (status != OPD_OK) {
        return failed_to_run(status);
    }
    print_documents(report, o, file);
    if (!o->shared.is_json && !o->shared.is_quiet) {
        opd_record_print_summary(report, &o->record);
    }
    return end_like(report->exit_status);
}

static int run(const opd_command *self, int argc, char **argv)
{
    record_options o = { .record = OPD_RECORD_OPTIONS_INIT };
    opd_record_report *report = NULL;
    FILE *file = NULL;
    o.record.out = "ops-debug-out";
    opd_command_parse(self, &o.shared, argc, argv);
    if (opd_alloc((void **)&report, sizeof *report) != OPD_OK ||
        (o.report != NULL && (file = open_report(o.report)) == NULL)) {
        opd_free(report);
        return failed_to_run(OPD_E_IO);
    }
    int exit_status = run_program(&o, report, file);
    if (file != NULL) {
        fclose(file);
    }
    opd_free(report);
    return exit_status;
}

const opd_command opd_command_record = {
    .name = "record",
    .synopsis = "[-o OUT] -- PROGRAM [ARGUMENT...]",
    .summary = "Run a program with the flight recorder on; a failure freezes a bundle",
    .details =
        "OUT is a folder: PROGRAM-PID-N-TRIGGER.opsb for each failure and run-PID.opsb, the calls of the whole run. A path that\n"
        "ends in .opsb takes the one bundle wanted. Ends as the program ended; 125 when ops-debug itself fails, 126 and 127\n"
        "when the program cannot be executed or found. For a bundle at once, while the program goes on: ops-debug trigger PID;\n"
        "or kill -USR2 to the process ops-debug record, never to the program, whose signals are its own.\n"
        "Standard output is the program's: with --json the document goes to standard error in place of the summary;\n"
        "--report FILE is for programs that write there too.",
    .examples = "  ops-debug record -o run/ -- /usr/bin/python3 program.py\n"
                "  ops-debug record -o one.opsb --trigger exit --match '*gemm' -- ./solve input.dat\n"
                "  ops-debug record -o run/ --capture full --budget 1G -- ./train\n"
                "  ops-debug record -o run/ --capture counts -- ./serve\n"
                "  ops-debug record -o run/ --capture stats --sample-stats -- ./train\n"
                "  ops-debug record -o run/ --capture meta --verify 1000 -- ./serve\n"
                "  ops-debug record -o run/ --torch -- /usr/bin/python3 train.py\n",
    .options = options,
    .parse = parse,
    .parse_flags = ARGP_IN_ORDER,
    .run = run,
};
