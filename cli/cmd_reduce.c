/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug reduce: the smallest call that still fails in the same way, as a bundle and as a stand-alone C file.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <opsdebug/reduce.h>

#include "c_file.h"
#include "document.h"
#include "oracle.h"
#include "phrases.h"
#include "screen.h"
#include "trial.h"

enum { KEY_EMIT_C = 0x100, KEY_BUDGET, KEY_OBSERVED };

typedef struct reduce_options {
    opd_shared shared;
    opd_trial_options trial;
    opd_conversion files;
    const char *emit_c;
    uint64_t budget;
    bool is_observed;
} reduce_options;

static const struct argp_option options[] = {
    OPD_TRIAL_OPTIONS,
    OPD_CONVERSION_OPTION("MIN" OPD_SUFFIX, "Where the reduced bundle goes (required)"),
    { "emit-c", KEY_EMIT_C, "FILE.c", 0, "Also write the reduced call as a C program of its own", 0 },
    { "observed", KEY_OBSERVED, NULL, 0, "Reduce the failure seen here, though another was recorded", 0 },
    { "budget", KEY_BUDGET, "RUNS", 0, "At most so many runs, default 2000", 0 },
    { 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    reduce_options *o = state->input;
    switch (key) {
    case KEY_EMIT_C:
        o->emit_c = arg;
        return 0;
    case KEY_OBSERVED:
        o->is_observed = true;
        return 0;
    case KEY_BUDGET:
        o->budget = opd_parse_count(state, "--budget", arg, 1, UINT64_MAX);
        return 0;
    case 'o':
    case ARGP_KEY_ARG:
    case ARGP_KEY_END:
        return opd_conversion_parse(key, arg, state, &o->files, "MIN" OPD_SUFFIX);
    default:
        return opd_trial_parse(key, arg, state, &o->trial);
    }
}

/* --------------------------------------------------------------------------------------------------- the work */

typedef struct reduction {
    opd_bundle *bundle;
    opd_subject subject;
    opd_case item;
    opd_trial_oracle oracle;
    opd_reduce_report report;
    opd_failure failure;    /* of the final form, labelled */
    opd_replay_result last; /* of the final form */
    bool has_last;
    opd_claim claim; /* on the output: two searches never write the same files */
    opd_c_file program;
    char log[4096];
} reduction;

/* The log holds verdicts of this case judged in this way only: another way gets another name. */
static void name_log(reduction *work, const reduce_options *o, const opd_replay_options *way)
{
    char id[OPD_DIGEST_TEXT];
    char key[512];
    opd_digest digest = opd_case_id(&work->item);
    opd_digest_print(id, &digest);
    opd_tensor bytes;
    int length = snprintf(key, sizeof key, "%s|%s|%s|%s|%d|%d|%d|%u", id, way->library != NULL ? way->library : "",
                          way->core != NULL ? way->core : "", way->isa != NULL ? way->isa : "", way->threads,
                          (int)way->guard, (int)work->oracle.expected.outcome, way->repeat);
    int64_t shape[] = { length < (int)sizeof key ? length : (int)sizeof key - 1 };
    if (opd_tensor_contiguous(&bytes, OPD_U8, 1, shape, key) == OPD_OK) {
        digest = opd_tensor_digest(&bytes);
        opd_digest_print(id, &digest);
    }
    snprintf(work->log, sizeof work->log, "%s.%.8s.log", o->files.out, id);
}

static opd_status reduce(reduction *work, reduce_options *o)
{
    opd_replay_result first;
    opd_replay_options *way = &o->trial.replay;
    opd_status status =
        opd_trial_provoke(&first, &work->oracle.expected, way, work->bundle, &work->item, &work->subject);
    if (status != OPD_OK) {
        return status;
    }
    opd_trial_oracle_expect(&work->oracle, &work->item.call);
    opd_trial_oracle_provider(&work->oracle, work->bundle, &work->item.call, &first);
    opd_replay_result_done(&first);
    work->oracle.source = work->bundle;
    work->oracle.options = *way;
    work->oracle.options.skip_reference = false;
    work->oracle.path = o->files.out;
    work->oracle.is_quiet = o->shared.is_quiet;
    name_log(work, o, way);
    opd_oracle oracle = opd_trial_oracle_bind(&work->oracle);
    opd_reduce_options limits = { .max_runs = o->budget, .log_path = work->log };
    status = opd_reduce(&work->report, &work->item, &work->oracle.expected, &oracle, &limits);
    opd_progress_done();
    if (status != OPD_OK) {
        return status;
    }
    work->oracle.tries = work->report.is_flaky ? (uint32_t)ceil(5 / fmax(0.02, work->report.rate_low)) : 1;
    work->failure = work->report.failure;
    const opd_experiments tried = { .is_reduced = work->report.is_complete };
    opd_diagnose(&work->failure, &work->item.call, &work->report.failure, &tried);
    status = opd_trial_oracle_finish(&work->oracle, &work->last, &work->item, &work->failure);
    if (status != OPD_OK) {
        return status;
    }
    work->has_last = true;
    if (work->report.is_complete) {
        unlink(work->log);
    }
    work->program = (opd_c_file){ o->emit_c, &work->item, &work->failure, &work->last, "" };
    return o->emit_c != NULL ? opd_c_file_write(&work->program, &work->oracle) : OPD_OK;
}

/* What a failed reduction leaves: the log of a search to go on with, the best so far, a result whose program could not be written. */
static void mention_kept(const reduction *work, const reduce_options *o)
{
    char best[4096];
    char kept[8200] = "";
    snprintf(best, sizeof best, "%s.best", o->files.out);
    if (work->log[0] == '\0') {
        return;
    }
    if (work->has_last) {
        opd_remark("%s is written", o->files.out);
    } else if (access(work->log, F_OK) == 0) {
        bool has_best = access(best, F_OK) == 0;
        snprintf(kept, sizeof kept, "%s%s", has_best ? " and the smallest call so far " : "", has_best ? best : "");
        opd_remark("verdicts are kept in %s%s: the same command goes on from there", work->log, kept);
    }
}

/* None of the files may be another one. */
static opd_status check_outputs(const reduce_options *o)
{
    opd_status status = opd_conversion_check(&o->files, OPD_OUTPUT_BUNDLE);
    if (status == OPD_OK && o->emit_c != NULL) {
        status = opd_output_check("--emit-c", o->emit_c, o->files.path, OPD_OUTPUT_PROGRAM);
    }
    if (status == OPD_OK && o->emit_c != NULL) {
        status = opd_output_check("--emit-c", o->emit_c, o->files.out, OPD_OUTPUT_PROGRAM);
    }
    return status;
}

static int print_json(const reduction *work, const reduce_options *o)
{
    json_t *document = json_object();
    opd_document_put(document, "path", opd_document_text(o->files.out));
    opd_document_put(document, "call", opd_document_call(&work->item.call, true));
    opd_document_put(document, "failure", opd_document_failure(&work->failure));
    opd_document_put(document, "guard", json_boolean(o->trial.replay.guard != OPD_GUARD_NONE));
    opd_document_put(document, "runs", opd_document_count(work->report.runs));
    opd_document_put(document, "cached", opd_document_count(work->report.cached));
    opd_document_put(document, "accepted", opd_document_count(work->report.accepted));
    opd_document_put(document, "others", opd_document_count(work->report.others));
    opd_document_put(document, "elements_before", opd_document_count(work->report.elements_before));
    opd_document_put(document, "elements_after", opd_document_count(work->report.elements_after));
    opd_document_put(document, "is_complete", json_boolean(work->report.is_complete));
    opd_document_put(document, "ended_by", json_string(opd_reduce_end_name(work->report.end)));
    opd_document_put(document, "explain", opd_document_text(work->report.explain));
    return opd_document_print(document, OPD_EXIT_OK);
}

/* What ended the search before its end, and how to go on. */
static void phrase_end(char *text, size_t size, const reduction *work, const char *out)
{
    char path[512];
    switch (work->report.end) {
    case OPD_REDUCE_END_RUNS:
        snprintf(text, size, "; the budget ended first, run it again to go on");
        return;
    case OPD_REDUCE_END_SWEEPS: /* again from the start it would come to the same end */
        opd_phrase_shell(path, sizeof path, out);
        snprintf(text, size,
                 "; ended after %u sweeps, the last of which still changed something: ops-debug reduce %s goes on",
                 work->report.sweeps, path);
        return;
    case OPD_REDUCE_END_FIXPOINT:
        break;
    }
    text[0] = '\0';
}

static void print_text(const reduction *work, const reduce_options *o)
{
    char words[1024];
    opd_call_describe(words, sizeof words, &work->item.call);
    printf("reduced      %s\n", words);
    phrase_end(words, sizeof words, work, o->files.out);
    printf("elements     %" PRIu64 " -> %" PRIu64 " in %" PRIu64 " runs (%" PRIu64 " more answered by the log)%s\n",
           work->report.elements_before, work->report.elements_after, work->report.runs, work->report.cached, words);
    opd_phrase_failure(words, sizeof words, &work->failure);
    if (work->subject.has_failure && !opd_failure_same(&work->subject.failure, &work->failure)) {
        char recorded[256];
        opd_phrase_failure(recorded, sizeof recorded, &work->subject.failure);
        printf("recorded     %s; guard pages show its cause\n", recorded);
    }
    printf("failure      %s%s\n", words, o->trial.replay.guard != OPD_GUARD_NONE ? " (seen under --guard)" : "");
    if (work->failure.label[0] != '\0') {
        printf("label        %s (%.0f %%)\n", work->failure.label, (double)work->failure.confidence * 100);
    }
    if (work->failure.reason[0] != '\0') {
        printf("reason       %s\n", work->failure.reason);
    }
    for (const char *line = work->report.explain; *line != '\0';) {
        int length = (int)strcspn(line, "\n");
        printf("%s %.*s\n", line == work->report.explain ? "because     " : "            ", length, line);
        line += length + (line[length] == '\n');
    }
    printf("written      %s%s%s\n", o->files.out, o->emit_c != NULL ? ", " : "", o->emit_c != NULL ? o->emit_c : "");
    if (o->emit_c != NULL && o->trial.replay.repeat <= 1) { /* the C program makes one call */
        opd_phrase_shell(words, sizeof words, o->emit_c);
        opd_print_next("cc %s %s -lm && ./a.out", words, work->program.link);
    } else {
        opd_trial_options way = o->trial;
        way.call = NULL;
        opd_phrase_shell(words, sizeof words, o->files.out);
        printf("%snext:%s ops-debug replay %s", opd_paint_on(stdout, OPD_PAINT_BOLD),
               opd_paint_on(stdout, OPD_PAINT_OFF), words);
        opd_trial_print_options(stdout, &way);
        printf("\n");
    }
}

static int run(const opd_command *self, int argc, char **argv)
{
    reduce_options o = { .trial = OPD_TRIAL_OPTIONS_INIT };
    reduction *work = NULL;
    opd_command_parse(self, &o.shared, argc, argv);
    opd_status status = opd_alloc((void **)&work, sizeof *work);
    if (status == OPD_OK) {
        status = check_outputs(&o);
    }
    if (status == OPD_OK) {
        status = opd_source_open(&work->bundle, o.files.path, &o.shared);
    }
    if (status == OPD_OK) {
        status = opd_subject_find(&work->subject, work->bundle, o.trial.call);
    }
    if (status == OPD_OK && o.is_observed) {
        work->subject.has_failure = false;
    }
    if (status == OPD_OK) {
        status = opd_trial_load(&work->item, work->bundle, &work->subject, &o.trial.replay);
    }
    if (status == OPD_OK && o.emit_c != NULL && strcmp(work->subject.call.domain, "blas") != 0) {
        status = opd_fail(OPD_E_UNSUPPORTED,
                          "--emit-c %s: %s is not a BLAS routine, and only those have a C form; the bundle alone: "
                          "ops-debug reduce %s -o %s",
                          o.emit_c, work->subject.call.name, o.files.path, o.files.out);
    }
    if (status == OPD_OK) {
        status = opd_claim_take(&work->claim, o.files.out);
    }
    if (status == OPD_OK) {
        status = reduce(work, &o);
    }
    int exit_status = OPD_EXIT_OK;
    if (status != OPD_OK) {
        opd_progress_done();
        if (work != NULL) {
            mention_kept(work, &o);
        }
        exit_status = opd_trouble();
        exit_status = status == OPD_E_NOFAILURE ? OPD_EXIT_FOUND : exit_status;
    } else if (o.shared.is_json) {
        exit_status = print_json(work, &o);
    } else if (!o.shared.is_quiet) {
        print_text(work, &o);
    }
    if (work != NULL) {
        if (work->has_last) {
            opd_replay_result_done(&work->last);
        }
        opd_claim_release(&work->claim);
        opd_trial_oracle_done(&work->oracle);
        opd_case_done(&work->item);
        opd_bundle_close(work->bundle);
    }
    opd_free(work);
    return exit_status;
}

const opd_command opd_command_reduce = {
    .name = "reduce",
    .synopsis = "BUNDLE -o MIN.opsb",
    .summary = "Find the smallest call that still fails in the same way",
    .details =
        "Every accepted step is written, read back and run again; MIN.opsb.best holds the best so far and a log of verdicts\n"
        "beside it lets a second run go on where the first was stopped. A call that fails only under guard pages is reduced\n"
        "under them. Exit status 1: the original does not fail here.",
    .examples = "  ops-debug reduce run/solve-4711-1-nan.opsb -o min.opsb --emit-c min.c\n"
                "  cc min.c -lopenblas -lm && ./a.out\n",
    .options = options,
    .parse = parse,
    .run = run,
};
