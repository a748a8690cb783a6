/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading a call's case, running it, and what the outcome means to the person who asked.
 */
#include "trial.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "guest.h"
#include "phrases.h"
#include "screen.h"

/* Operands of one case; a replay that needs more is refused rather than letting the machine swap. */
#define CASE_LIMIT ((uint64_t)8 << 30)

error_t opd_trial_parse(int key, const char *arg, const struct argp_state *state, opd_trial_options *options)
{
    if (arg != NULL && arg[0] == '\0') {
        opd_usage_error(state, "a value is empty");
    }
    switch (key) {
    case OPD_KEY_CALL:
        opd_selector_check(state, arg);
        options->call = arg;
        return 0;
    case OPD_KEY_TRIAL_VARIANT:
        options->replay.variant = arg;
        return 0;
    case OPD_KEY_LIBRARY:
        options->replay.library = arg;
        return 0;
    case OPD_KEY_CORE:
        if (!opd_core_is_known(arg)) {
            opd_usage_error(state, "--core %s: OpenBLAS knows no such core, and would take another in silence", arg);
        }
        options->replay.core = arg;
        return 0;
    case OPD_KEY_ISA:
        if (!opd_dnnl_isa_is_known(arg)) {
            opd_usage_error(state, "--isa %s: SSE41, AVX, AVX2, AVX512_CORE and others of DNNL_MAX_CPU_ISA", arg);
        }
        options->replay.isa = arg;
        return 0;
    case OPD_KEY_THREADS:
        options->replay.threads = (int32_t)opd_parse_count(state, "--threads", arg, 1, 1024);
        return 0;
    case OPD_KEY_GUARD:
        options->replay.guard = OPD_GUARD_BOTH;
        return 0;
    case OPD_KEY_REPEAT:
        options->replay.repeat = (uint32_t)opd_parse_count(state, "--repeat", arg, 1, 1000000);
        return 0;
    case OPD_KEY_TIMEOUT:
        options->replay.timeout_ms = (uint32_t)opd_parse_count(state, "--timeout", arg, 1, 86400) * 1000;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

#define SHOW_AFTER_MS 1500

/* NOLINTNEXTLINE(readability-non-const-parameter): opd_replay_progress */
void opd_trial_progress(void *context, const char *what, uint64_t elapsed_ms)
{
    (void)context;
    if (elapsed_ms >= SHOW_AFTER_MS) {
        opd_progress("replay: %s, %" PRIu64 " s", what, elapsed_ms / 1000);
    }
}

/* An operator of a library of the user's own. BLAS libraries are never loaded here. */
static opd_status learn_operator(opd_subject *subject, const opd_bundle *bundle, const opd_replay_options *options)
{
    opd_status status = opd_guest_load(options->library, options->timeout_ms);
    return status == OPD_OK ? opd_bundle_call(&subject->call, bundle, subject->position) : status;
}

/* Where the recording kept no inputs at all, that is the reason, not the operand that was looked for first. */
static opd_status explain_missing(const opd_bundle *bundle, const opd_call *call)
{
    char options[48];
    const char *store = getenv("OPSDEBUG_STORE");
    opd_source_keeping_options(options, sizeof options, bundle);
    if (options[0] == '\0' || (store != NULL && store[0] != '\0') || opd_source_keeps_operands(bundle)) {
        return OPD_E_NOTFOUND;
    }
    return opd_fail(OPD_E_NOTFOUND, "%s: its inputs were not kept; record %s keeps them", call->name, options);
}

opd_status opd_trial_fetch(opd_case *out, const opd_bundle *bundle, opd_subject *subject,
                           const opd_replay_options *options)
{
    const opd_call *call = &subject->call;
    opd_status status = OPD_OK;
    if (call->op == NULL && strcmp(call->domain, "blas") != 0 && options->library != NULL) {
        status = learn_operator(subject, bundle, options);
    }
    if (status == OPD_OK && call->op == NULL && !opd_call_is_foreign(call)) {
        status = opd_fail(
            OPD_E_UNSUPPORTED,
            "operator '%s' of domain '%s' is unknown to this build, so it cannot be run; show works, and --library when it is your own",
            call->name, call->domain);
    } else if (status == OPD_OK) {
        status = opd_case_load(out, bundle, call, CASE_LIMIT);
    }
    if (status == OPD_E_NOTFOUND) {
        status = explain_missing(bundle, call);
    }
    if (status != OPD_OK) {
        return opd_fail_in(status, "%s: call %" PRIu64 " of thread %u", opd_bundle_path(bundle), call->number,
                           call->thread);
    }
    return OPD_OK;
}

/* Sizes that no machine has are mostly halves of two integers: what diagnose says from the record alone. */
static opd_status explain_size(opd_status status, const opd_bundle *bundle, const opd_call *call)
{
    char word[4096];
    char reason[512];
    if ((call->flags & OPD_CALL_ABI_SUSPECT) == 0) {
        return status;
    }
    snprintf(reason, sizeof reason, "%s", opd_error_text());
    opd_phrase_shell(word, sizeof word, opd_bundle_path(bundle));
    return opd_fail(status, "%s; the width of its integers is suspect: ops-debug diagnose %s says why", reason, word);
}

opd_status opd_trial_load(opd_case *out, const opd_bundle *bundle, opd_subject *subject,
                          const opd_replay_options *options)
{
    opd_status status = opd_trial_fetch(out, bundle, subject, options);
    bool is_size = status == OPD_E_NOMEM || status == OPD_E_LIMIT;
    return is_size ? explain_size(status, bundle, &subject->call) : status;
}

static bool is_no_verdict(const opd_failure *failure)
{
    return failure->outcome == OPD_OUTCOME_HARNESS || failure->outcome == OPD_OUTCOME_UNSUPPORTED;
}

opd_status opd_trial_check_concern(bool *is_unconcerned, const opd_call *call, const opd_replay_options *options)
{
    bool is_isa = options->isa != NULL && strcmp(call->domain, "dnnl") != 0;
    bool is_core = options->core != NULL && strcmp(call->domain, "blas") != 0 && !opd_call_is_foreign(call);
    *is_unconcerned = is_isa || is_core;
    return *is_unconcerned ? opd_fail(OPD_E_INVALID, "%s, and %s is not its",
                                      is_isa ? "--isa is for oneDNN" : "--core is for OpenBLAS", call->name)
                           : OPD_OK;
}

static opd_answer answer_recorded(const opd_replay_result *result)
{
    static const opd_answer came_back[] = {
        [OPD_SAME_UNKNOWN] = { "failure reproduced", OPD_EXIT_FOUND },
        [OPD_SAME_BITWISE] = { "failure reproduced, bitwise", OPD_EXIT_FOUND },
        [OPD_SAME_BOUND] = { "failure reproduced, the rest within the rounding bound", OPD_EXIT_FOUND },
        [OPD_SAME_DIFFERENT] = { "failure reproduced, with other values beside it", OPD_EXIT_FOUND },
    };
    static const opd_answer no_failure[] = {
        [OPD_SAME_UNKNOWN] = { "nothing wrong found", OPD_EXIT_OK },
        [OPD_SAME_BITWISE] = { "same result, bitwise", OPD_EXIT_OK },
        [OPD_SAME_BOUND] = { "same result within the rounding bound: rounding only, no fault", OPD_EXIT_OK },
        [OPD_SAME_DIFFERENT] = { "different result", OPD_EXIT_FOUND },
    };
    bool is_expected = opd_failure_is_real(&result->expected);
    if (result->came_back && is_expected) {
        return came_back[result->same];
    }
    if (is_no_verdict(&result->observed)) {
        return (opd_answer){ "no verdict: it could not be run here", OPD_EXIT_TROUBLE };
    }
    if (opd_failure_is_real(&result->observed)) {
        return (opd_answer){ is_expected ? "another failure than the recorded one" : "failure found", OPD_EXIT_FOUND };
    }
    if (is_expected) {
        return (opd_answer){ "failure did not come back", OPD_EXIT_OK };
    }
    return no_failure[result->same];
}

static opd_answer answer_golden(const opd_replay_result *result)
{
    static const opd_answer right[] = {
        [OPD_SAME_UNKNOWN] = { "right; not compared with the expected values", OPD_EXIT_OK },
        [OPD_SAME_BITWISE] = { "right: the expected values, bitwise", OPD_EXIT_OK },
        [OPD_SAME_BOUND] = { "right: the expected values within the rounding bound", OPD_EXIT_OK },
        [OPD_SAME_DIFFERENT] = { "right by the reference; the expected values are further off than rounding explains",
                                 OPD_EXIT_OK },
    };
    bool is_same = result->same == OPD_SAME_BITWISE || result->same == OPD_SAME_BOUND;
    if (result->observed.outcome == OPD_OUTCOME_MISMATCH && is_same) {
        return (opd_answer){ "wrong by the reference, right by the expected values: one of the two is wrong",
                             OPD_EXIT_FOUND };
    }
    bool is_expected = opd_failure_is_real(&result->expected);
    if (result->observed.outcome != OPD_OUTCOME_OK || is_expected || !result->numbers.is_valid) {
        return answer_recorded(result); /* with no reference, the expected values decide */
    }
    return right[result->same];
}

opd_answer opd_trial_answer(const opd_replay_result *result, const opd_subject *subject)
{
    return subject->is_golden ? answer_golden(result) : answer_recorded(result);
}

void opd_trial_describe_provider(char *text, size_t size, const opd_replay_result *result)
{
    char core[48] = "";
    if (result->core[0] != '\0') {
        snprintf(core, sizeof core, ", core %s", result->core);
    }
    char threads[32] = "";
    if (result->threads > 0) {
        snprintf(threads, sizeof threads, ", %d thread%s", result->threads, result->threads == 1 ? "" : "s");
    }
    bool is_variant = result->variant[0] != '\0';
    snprintf(text, size, "%s%s%s%s%s%s", is_variant ? "variant " : "", result->variant,
             is_variant && result->library[0] != '\0' ? " of " : "", result->library, core, threads);
}

/* A failure of the routine, not of the machine or of us. */
static bool is_judged_failure(const opd_failure *failure)
{
    return opd_failure_is_real(failure) && !is_no_verdict(failure);
}

/*
 * Scratch memory that is one block for all threads hides what one of them writes into another's part: with a single thread the end of its part is the end of the
 * block. Whatever was recorded, a crash, wrong values or a hang, an access out of bounds is its cause.
 */
static bool finds_cause(opd_replay_result *result, opd_failure *expected, opd_replay_options *options,
                        const opd_bundle *bundle, const opd_case *item)
{
    opd_replay_options way = *options;
    if (strcmp(item->call.domain, "dnnl") != 0 || options->guard == OPD_GUARD_NONE || options->threads > 0) {
        return false;
    }
    way.threads = 1;
    if (opd_replay(result, bundle, item, NULL, &way) != OPD_OK) {
        opd_error_clear();
        return false;
    }
    if (result->observed.outcome != OPD_OUTCOME_OOB_WRITE && result->observed.outcome != OPD_OUTCOME_OOB_READ) {
        opd_replay_result_done(result);
        return false;
    }
    *expected = result->observed;
    options->threads = 1;
    return true;
}

opd_status opd_trial_provoke(opd_replay_result *result, opd_failure *expected, opd_replay_options *options,
                             const opd_bundle *bundle, const opd_case *item, const opd_subject *subject)
{
    const opd_failure *recorded = subject->has_failure ? &subject->failure : NULL;
    bool may_guard = options->guard == OPD_GUARD_NONE;
    opd_ruling_apply(options, &subject->ruling);
    if (finds_cause(result, expected, options, bundle, item)) {
        return OPD_OK;
    }
    for (;;) {
        opd_status status = opd_replay(result, bundle, item, recorded, options);
        if (status != OPD_OK) {
            return status;
        }
        if (recorded != NULL && result->came_back) {
            *expected = *recorded;
            return OPD_OK;
        }
        if (recorded == NULL && is_judged_failure(&result->observed)) {
            *expected = result->observed;
            return OPD_OK;
        }
        bool is_late = result->is_definition_late; /* and would be so again */
        if ((is_late || !may_guard) && is_no_verdict(&result->observed)) {
            opd_fail(OPD_E_CHILD, "%s: no verdict%s: %.240s", opd_bundle_path(bundle),
                     options->guard != OPD_GUARD_NONE ? " under guard pages" : "", result->observed.reason);
            opd_replay_result_done(result);
            return OPD_E_CHILD;
        }
        if (!may_guard) {
            char seen[256];
            opd_phrase_failure(seen, sizeof seen, &result->observed);
            return recorded != NULL
                       ? opd_fail(OPD_E_NOFAILURE,
                                  "%s: the failure does not come back here, plainly or under guard pages (seen: %s)",
                                  opd_bundle_path(bundle), seen)
                       : opd_fail(OPD_E_NOFAILURE,
                                  "%s: the call has no failure, and none shows here, plainly or under guard pages",
                                  opd_bundle_path(bundle));
        }
        opd_replay_result_done(result);
        options->guard = OPD_GUARD_BOTH;
        may_guard = false;
    }
}

#define EXPERIMENT_RUNS 8

/* One experiment; false when it cannot be run. */
static bool run_again(opd_replay_result *result, const opd_replay_result *found, const opd_replay_options *way,
                      const opd_bundle *bundle, const opd_case *item)
{
    if (opd_replay(result, bundle, item, &found->observed, way) != OPD_OK) {
        return false;
    }
    opd_replay_result_done(result);
    return !is_no_verdict(&result->observed) && result->runs > 0;
}

/* Kernels that this CPU can run too: the plainest of OpenBLAS's list that are others. */
static const char *choose_other_core(const opd_replay_result *found)
{
    const char *names[64];
    int count = found->core[0] != '\0' ? opd_core_list(names, OPD_COUNT(names)) : 0;
    for (int i = 0; i < count; i++) {
        if (strcasecmp(names[i], found->core) != 0) {
            return names[i];
        }
    }
    return NULL;
}

void opd_trial_experiment(opd_experiments *tried, const opd_replay_result *found, const opd_replay_options *options,
                          const opd_bundle *bundle, const opd_case *item)
{
    opd_replay_result result;
    opd_replay_options way = *options;
    way.lazy_reference = true;
    *tried = (opd_experiments){ .threads = found->threads };
    if (found->numbers.is_valid) {
        tried->ratio = found->numbers.ratio;
        tried->cap = found->numbers.cap;
        tried->max_rel = found->numbers.max_rel;
    }
    if (found->observed.outcome == OPD_OUTCOME_HANG || found->observed.outcome == OPD_OUTCOME_BAD_ARGS) {
        return;
    }
    way.repeat = options->repeat > EXPERIMENT_RUNS ? options->repeat : EXPERIMENT_RUNS;
    if (run_again(&result, found, &way, bundle, item)) {
        tried->runs = result.runs;
        tried->failed = result.runs_failed;
        tried->differing = result.runs_differing;
        snprintf(tried->core, sizeof tried->core, "%s", result.core);
    }
    way.threads = 1;
    if (run_again(&result, found, &way, bundle, item)) {
        tried->runs_alone = result.runs;
        tried->failed_alone = result.runs_failed;
        tried->differing_alone = result.runs_differing;
    }
    way.threads = options->threads;
    way.core = choose_other_core(found);
    if (way.core != NULL && run_again(&result, found, &way, bundle, item)) {
        snprintf(tried->other_core, sizeof tried->other_core, "%s", result.core);
        tried->has_other_failed = result.runs_failed > 0;
    }
}

/* The imaginary parts where they tell the two apart. */
static void print_worst(const opd_numbers *numbers, const char *place)
{
    printf("; worst at %s: got %.17g", place, numbers->got_re);
    if (numbers->got_im != 0 || numbers->want_im != 0) {
        printf(" %+.17gi, right %.17g %+.17gi", numbers->got_im, numbers->want_re, numbers->want_im);
    } else {
        printf(", right %.17g", numbers->want_re);
    }
}

void opd_trial_print_numbers(const opd_numbers *numbers, bool was_lazy)
{
    char place[128];
    if (!numbers->is_valid) {
        if (was_lazy) {
            printf("reference    not run: the bits are the recorded ones (-v runs it)\n");
        }
        return;
    }
    if (numbers->is_worst_other_class) {
        printf("reference    error inf: a value of another class (limit %.3g)", numbers->cap);
    } else {
        printf("reference    error %.3g of eps x gauge (naive %.3g, limit %.3g)", numbers->ratio, numbers->naive_ratio,
               numbers->cap);
    }
    if (numbers->is_worst_other_class || numbers->got_re != numbers->want_re || numbers->got_im != numbers->want_im) {
        opd_phrase_place(place, sizeof place, numbers->worst_operand, numbers->worst, numbers->worst_rank);
        print_worst(numbers, place);
    }
    if (numbers->is_worst_other_class && numbers->ratio <= 0) {
        printf("; no class is wrong where terms are Inf or go beyond the range of the type");
    }
    printf("\n");
}

void opd_trial_print_options(FILE *to, const opd_trial_options *options)
{
    if (options->call != NULL) {
        fprintf(to, " --call %s", options->call);
    }
    if (options->replay.variant != NULL) {
        char name[4096];
        opd_phrase_shell(name, sizeof name, options->replay.variant);
        fprintf(to, " --variant %s", name);
    }
    if (options->replay.library != NULL) {
        char word[1024];
        opd_phrase_shell(word, sizeof word, options->replay.library);
        fprintf(to, " --library %s", word);
    }
    if (options->replay.core != NULL) {
        fprintf(to, " --core %s", options->replay.core);
    }
    if (options->replay.isa != NULL) {
        fprintf(to, " --isa %s", options->replay.isa);
    }
    if (options->replay.threads > 0) {
        fprintf(to, " --threads %d", options->replay.threads);
    }
    if (options->replay.guard != OPD_GUARD_NONE) {
        fprintf(to, " --guard");
    }
    if (options->replay.repeat > 1) {
        fprintf(to, " --repeat %u", options->replay.repeat);
    }
    if (options->replay.timeout_ms > 0) {
        fprintf(to, " --timeout %u", options->replay.timeout_ms / 1000);
    }
}

const char *opd_trial_reduced_stem(const char *path)
{
    const opd_conversion files = { .path = path, .out = "min" OPD_SUFFIX };
    return opd_conversion_check(&files, OPD_OUTPUT_BUNDLE) == OPD_OK ? "min" : "smaller";
}

void opd_trial_print_reduce(const char *path, const opd_trial_options *options, const opd_replay_result *result,
                            const opd_subject *subject)
{
    char word[4096];
    if ((subject->is_reduced && result->came_back) || !is_judged_failure(&result->observed)) {
        return;
    }
    opd_phrase_shell(word, sizeof word, path);
    const char *stem = opd_trial_reduced_stem(path);
    printf("%snext:%s ops-debug reduce %s -o %s%s", opd_paint_on(stdout, OPD_PAINT_BOLD),
           opd_paint_on(stdout, OPD_PAINT_OFF), word, stem, OPD_SUFFIX);
    if (strcmp(subject->call.domain, "blas") == 0) { /* others have no C form */
        printf(" --emit-c %s.c", stem);
    }
    opd_trial_print_options(stdout, options);
    printf("%s\n", subject->has_failure && !result->came_back ? " --observed" : "");
}
