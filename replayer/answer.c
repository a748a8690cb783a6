/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what a worker left behind and how it ended: a fault address becomes operand and distance, a death becomes an outcome, and the
 * outcome is compared with the recorded one.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "job.h"

OPD_PRINTF(2, 3)
static void append(opd_failure *failure, const char *format, ...)
{
    size_t used = strlen(failure->reason);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failure->reason + used, sizeof failure->reason - used, format, arguments);
    va_end(arguments);
}

static const char *signal_name(int number)
{
    const char *name = sigabbrev_np(number);
    return name != NULL ? name : "?";
}

/* The operand whose reserved zone holds the address, with the distance; -1 = none. Zones do not overlap, but groups share one. */
static int find_operand(int64_t *distance, bool *is_inside, const opd_job *job, uint64_t address)
{
    uint64_t best = UINT64_MAX;
    int found = -1;
    for (int i = 0; i <= OPD_JOB_WORKSPACE; i++) { /* those that are not there have no zone */
        const opd_job_region *region = &job->regions[i];
        if (address < region->reserve_low || address >= region->reserve_high) {
            continue;
        }
        bool inside = address >= region->low && address < region->high;
        uint64_t away = inside ? 0 : address >= region->high ? address - region->high : region->low - address;
        if (away < best) {
            best = away;
            found = i;
            *is_inside = inside;
            *distance = address >= region->high ? (int64_t)(address - region->high) : (int64_t)(address - region->low);
        }
    }
    return found;
}

static void name_pc(opd_failure *failure, const opd_job_fault *fault)
{
    failure->pc = fault->pc;
    if (fault->symbol[0] != '\0') {
        snprintf(failure->pc_symbol, sizeof failure->pc_symbol, "%.70s+0x%llx", fault->symbol,
                 (unsigned long long)(fault->pc - fault->symbol_base));
    } else if (fault->object[0] != '\0') {
        snprintf(failure->pc_symbol, sizeof failure->pc_symbol, "%.70s+0x%llx", fault->object,
                 (unsigned long long)(fault->pc - fault->object_base));
    }
}

static const char *place_of(const opd_failure *failure, const char *unknown)
{
    return failure->pc_symbol[0] != '\0' ? failure->pc_symbol : unknown;
}

/*
 * Is the address at an array of a definition, or in the zones around it? In words, by element: "writes element 24 of Y, which has 24". write: also of what
 * cannot be told.
 */
static bool place_in_fence(char *text, size_t size, int *operand, const opd_job *job)
{
    const opd_job_fault *fault = &job->fault;
    for (int i = 0; i < OPD_FENCES; i++) {
        const opd_fence *fence = &job->fences[i];
        if (fault->address < fence->reserve_low || fault->address >= fence->reserve_high) {
            continue;
        }
        const int64_t element = (int64_t)sizeof(long double);
        int64_t bytes = (int64_t)(fault->address - fence->low);
        *operand = i % OPD_MAX_OPERANDS;
        snprintf(text, size, "%s element %lld of %s%s, which has %lld", (fault->error & 2) != 0 ? "writes" : "reads",
                 (long long)(bytes / element - (bytes % element < 0)), i < OPD_MAX_OPERANDS ? "" : "the gauge of ",
                 job->call.operands[*operand].name, (long long)(fence->high - fence->low) / (long long)element);
        return true;
    }
    return false;
}

static void place_fault(opd_failure *failure, const opd_job *job, bool is_guarded)
{
    const opd_job_fault *fault = &job->fault;
    int64_t distance = 0;
    bool is_inside = false;
    int operand = find_operand(&distance, &is_inside, job, fault->address);
    const char *access = !fault->has_error ? "access" : (fault->error & 2) != 0 ? "write" : "read";
    const char *thread = fault->is_main_thread ? "" : " (in a thread of the library)";
    char text[160];
    failure->fault_address = fault->address;
    if (operand < 0 && place_in_fence(text, sizeof text, &operand, job)) { /* the definition as a variant */
        failure->outcome = (fault->error & 2) != 0 ? OPD_OUTCOME_OOB_WRITE : OPD_OUTCOME_OOB_READ;
        snprintf(failure->operand, sizeof failure->operand, "%s", job->call.operands[operand].name);
        append(failure, "the definition %s, in %s", text, place_of(failure, "an unknown place"));
        return;
    }
    if (operand < 0) {
        snprintf(failure->reason, sizeof failure->reason, "SIG%s: %s of address 0x%llx, near no operand, in %s%s",
                 signal_name(fault->signal), access, (unsigned long long)fault->address,
                 place_of(failure, "an unknown place"), thread);
        return;
    }
    const char *name =
        operand == OPD_JOB_WORKSPACE ? opd_job_scratch_name(&job->call) : job->call.operands[operand].name;
    snprintf(failure->operand, sizeof failure->operand, "%s", name);
    failure->distance = distance;
    if (is_inside) {
        append(failure, "%s of operand %s, which is not accessible, %lld bytes from its start", access, name,
               (long long)distance);
    } else {
        if (is_guarded) {
            failure->outcome = (fault->error & 2) != 0 ? OPD_OUTCOME_OOB_WRITE : OPD_OUTCOME_OOB_READ;
        }
        append(failure, "%s out of bounds of operand %s, %lld bytes %s", access, name, llabs((long long)distance),
               distance < 0 ? "before its start" : "past its end");
    }
    append(failure, ", in %s%s", place_of(failure, "an unknown place"), thread);
}

/* A signal inside the routine. */
static void read_fault(opd_failure *failure, const opd_job *job)
{
    const opd_job_fault *fault = &job->fault;
    name_pc(failure, fault);
    if (fault->signal == SIGALRM) {
        failure->outcome = OPD_OUTCOME_HANG;
        snprintf(failure->reason, sizeof failure->reason, "no return after %u ms%s; the caller's thread is in %s",
                 job->timeout_ms, job->is_timeout_cpu ? " of CPU time" : "", place_of(failure, "an unknown place"));
        return;
    }
    failure->signal = fault->signal;
    failure->signal_code = fault->code;
    if (fault->signal == SIGILL) {
        failure->outcome = OPD_OUTCOME_UNSUPPORTED;
        snprintf(failure->reason, sizeof failure->reason, "this CPU lacks an instruction that %s uses%s%s",
                 place_of(failure, "the library"), job->core[0] != '\0' ? "; core " : "", job->core);
        return;
    }
    failure->outcome = OPD_OUTCOME_CRASH;
    if (fault->signal == SIGSEGV || fault->signal == SIGBUS) {
        place_fault(failure, job, job->pass != OPD_GUARD_NONE);
        return;
    }
    snprintf(failure->reason, sizeof failure->reason, "SIG%s in %s", signal_name(fault->signal),
             place_of(failure, "an unknown place"));
}

#define NULL_BYTES 65536 /* what is reached through NULL lies below */

/* A signal while a user's definition runs. */
static void read_definition_fault(opd_failure *failure, const opd_job *job)
{
    const opd_job_fault *fault = &job->fault;
    const char *place = place_of(failure, "an unknown place");
    bool is_of_memory = fault->signal == SIGSEGV || fault->signal == SIGBUS;
    char text[160];
    int operand = 0;
    int64_t distance = 0;
    bool is_inside = false;
    if (fault->signal == SIGALRM) {
        snprintf(failure->reason, sizeof failure->reason,
                 "the definition of %.40s does not return within %u ms%s, in %s", job->call.name, job->timeout_ms,
                 job->is_timeout_cpu ? " of CPU time" : "", place);
    } else if (is_of_memory && place_in_fence(text, sizeof text, &operand, job)) {
        snprintf(failure->reason, sizeof failure->reason, "the definition of %.40s %s, in %s", job->call.name, text,
                 place);
    } else if (is_of_memory && (operand = find_operand(&distance, &is_inside, job, fault->address)) >= 0) {
        snprintf(failure->reason, sizeof failure->reason, "the definition of %.40s %s operand %.40s of the call, in %s",
                 job->call.name, (fault->error & 2) != 0 ? "writes out of bounds of" : "reads out of bounds of",
                 operand == OPD_JOB_WORKSPACE ? "workspace" : job->call.operands[operand].name, place);
    } else {
        snprintf(failure->reason, sizeof failure->reason, "SIG%s in the definition of %.40s, in %s%s",
                 signal_name(fault->signal), job->call.name, place,
                 fault->code == SEGV_MAPERR && is_of_memory && fault->address < NULL_BYTES
                     ? ", through NULL: a gauge that is not wanted is NULL"
                     : "");
    }
}

/* A signal while the routine does not run: in what it left behind, in what else its library is for, or in the worker itself. */
static void read_late_fault(opd_failure *failure, const opd_job *job)
{
    const opd_job_fault *fault = &job->fault;
    const char *slash = strrchr(job->library, '/');
    bool has_run = job->run > 0 || job->pass_number > 0 || job->fault_stage == OPD_STAGE_RETURNED;
    bool is_library = strcmp(job->call.domain, "blas") != 0 && fault->object[0] != '\0' &&
                      strcmp(fault->object, slash != NULL ? slash + 1 : job->library) == 0;
    bool is_definition = job->is_in_definition && opd_job_has_own_definition(job);
    name_pc(failure, fault);
    const char *place = place_of(failure, "an unknown place");
    failure->outcome = OPD_OUTCOME_HARNESS;
    if (!fault->is_main_thread && has_run) {
        failure->outcome = OPD_OUTCOME_CRASH;
        failure->signal = fault->signal;
        failure->signal_code = fault->code;
        snprintf(failure->reason, sizeof failure->reason,
                 "SIG%s after the call had returned, in a thread that it left behind, in %s",
                 signal_name(fault->signal), place);
    } else if (is_definition) {
        read_definition_fault(failure, job);
    } else if (is_library) {
        snprintf(failure->reason, sizeof failure->reason, "SIG%s in the contract or the library of %.40s, in %s",
                 signal_name(fault->signal), job->call.name, place);
    } else {
        snprintf(failure->reason, sizeof failure->reason, "SIG%s outside the routine, in %s%s",
                 signal_name(fault->signal), place,
                 job->result.runs > 0 ? ": the call before may have damaged memory" : "");
    }
}

/* The worker is gone without an answer. */
static void read_death(opd_failure *failure, const opd_spawn *spawn, uint32_t stage)
{
    const char *where = stage == OPD_STAGE_LOADING     ? "while loading the library"
                        : spawn->job->is_in_definition ? "in the operator's definition"
                                                       : "outside the routine";
    int status = spawn->wait_status;
    failure->outcome = OPD_OUTCOME_HARNESS;
    if (stage == OPD_STAGE_ARMED) {
        failure->outcome = spawn->is_timeout ? OPD_OUTCOME_HANG : OPD_OUTCOME_CRASH;
        where = "inside the routine";
    }
    if (spawn->is_timeout) {
        snprintf(failure->reason, sizeof failure->reason, "the time limit was reached %s", where);
    } else if (WIFSIGNALED(status)) {
        failure->signal = WTERMSIG(status);
        snprintf(failure->reason, sizeof failure->reason, "the process was ended by SIG%s %s",
                 signal_name(failure->signal), where);
    } else {
        snprintf(failure->reason, sizeof failure->reason, "the process ended itself with status %d %s",
                 WEXITSTATUS(status), where);
    }
}

static void add_said(opd_failure *failure, const opd_spawn *spawn)
{
    if (spawn->output[0] != '\0') {
        bool has_count = failure->outcome == OPD_OUTCOME_BAD_ARGS; /* often of the Fortran form, whatever was called */
        append(failure, "; the library said%s: %s", has_count ? " (by its own count)" : "", spawn->output);
    }
}

/* Arguments that break the contract are the caller's fault whatever the library makes of them. */
static void read_bad_args(opd_replay_result *out, const opd_job *job)
{
    opd_failure *failure = &out->observed;
    opd_failure bad = { .outcome = OPD_OUTCOME_BAD_ARGS, .index_rank = -1 };
    /* No value is judged: what an output holds may be what it held before. */
    bool has_returned = failure->outcome == OPD_OUTCOME_OK || failure->outcome == OPD_OUTCOME_NAN_BORN ||
                        failure->outcome == OPD_OUTCOME_INF_BORN || failure->outcome == OPD_OUTCOME_MISMATCH;
    bool is_untouched = has_returned && out->output_count > 0;
    for (int i = 0; i < out->output_count; i++) {
        is_untouched &= opd_digest_equal(&out->outputs[i].before, &out->outputs[i].after);
    }
    append(&bad, "%s; %.150s%s", job->bad_args, has_returned ? "the library returned" : failure->reason,
           is_untouched ? " with the outputs untouched" : "");
    *failure = bad;
}

static void read_outcome(opd_replay_result *out, const opd_spawn *spawn)
{
    const opd_job *job = spawn->job;
    uint32_t stage = atomic_load(&job->stage);
    *out = job->result;
    if (stage == OPD_STAGE_DONE) {
        return;
    }
    opd_failure failure = { .index_rank = -1 };
    if (stage != OPD_STAGE_FAULTED) {
        read_death(&failure, spawn, stage);
    } else if (job->fault_stage == OPD_STAGE_ARMED ||
               (job->fault.signal == SIGILL && job->fault_stage == OPD_STAGE_LOADING)) {
        read_fault(&failure, job);
    } else {
        read_late_fault(&failure, job);
    }
    /* An earlier run's finding stands; a death in the harness after it is only its echo. */
    bool is_mine = out->observed.outcome == OPD_OUTCOME_OK || failure.outcome != OPD_OUTCOME_HARNESS;
    if (is_mine) {
        out->observed = failure;
        bool is_late = spawn->is_timeout || (stage == OPD_STAGE_FAULTED && job->fault.signal == SIGALRM);
        out->is_definition_late = failure.outcome == OPD_OUTCOME_HARNESS && is_late && job->is_in_definition &&
                                  opd_job_has_own_definition(job);
    }
    if (failure.outcome != OPD_OUTCOME_HARNESS) {
        out->runs++;
        out->runs_failed++;
    }
}

void opd_verdict_read(opd_replay_result *out, const opd_spawn *spawn, const opd_failure *expected)
{
    const opd_job *job = spawn->job;
    read_outcome(out, spawn);
    if (job->bad_args[0] != '\0' && out->observed.outcome != OPD_OUTCOME_HARNESS &&
        out->observed.outcome != OPD_OUTCOME_UNSUPPORTED) {
        read_bad_args(out, job);
    }
    if (out->observed.outcome != OPD_OUTCOME_OK) {
        out->observed.thread = job->call.thread;
        out->observed.call_number = job->call.number;
        if (out->observed.outcome == OPD_OUTCOME_CRASH && job->overflow[0] != '\0') {
            append(&out->observed, "; offsets in operand %s overflow 32-bit integers", job->overflow);
        }
        add_said(&out->observed, spawn);
    }
    if (expected != NULL) {
        out->expected = *expected;
        out->came_back = opd_failure_same(expected, &out->observed);
    }
}

/* ------------------------------------------------------------------------------------------ the same failure? */

static bool is_crash_of_memory(const opd_failure *failure)
{
    return failure->outcome == OPD_OUTCOME_CRASH &&
           (failure->signal == SIGSEGV || failure->signal == SIGBUS || failure->signal == 0);
}

static bool is_out_of_bounds(const opd_failure *failure)
{
    return failure->outcome == OPD_OUTCOME_OOB_READ || failure->outcome == OPD_OUTCOME_OOB_WRITE;
}

static bool same_class(const opd_failure *expected, const opd_failure *observed)
{
    if (expected->outcome == observed->outcome) {
        return true;
    }
    return (is_crash_of_memory(expected) && is_out_of_bounds(observed)) ||
           (is_crash_of_memory(observed) && is_out_of_bounds(expected));
}

bool opd_failure_same(const opd_failure *expected, const opd_failure *observed)
{
    static const bool is_failure[] = {
        [OPD_OUTCOME_NAN_BORN] = true,  [OPD_OUTCOME_INF_BORN] = true,  [OPD_OUTCOME_CRASH] = true,
        [OPD_OUTCOME_HANG] = true,      [OPD_OUTCOME_BAD_ARGS] = true,  [OPD_OUTCOME_MISMATCH] = true,
        [OPD_OUTCOME_OOB_READ] = true,  [OPD_OUTCOME_OOB_WRITE] = true, [OPD_OUTCOME_INPUT_MUTATED] = true,
        [OPD_OUTCOME_UNWRITTEN] = true, [OPD_OUTCOME_ALLOCATED] = true, [OPD_OUTCOME_UNSTABLE] = true,
        [OPD_OUTCOME_MODE] = true,
    };
    bool is_judged = (size_t)expected->outcome < OPD_COUNT(is_failure) && is_failure[expected->outcome];
    if (!is_judged || !same_class(expected, observed)) {
        return false;
    }
    if (expected->outcome == OPD_OUTCOME_CRASH && observed->outcome == OPD_OUTCOME_CRASH && expected->signal != 0 &&
        observed->signal != 0 && expected->signal != observed->signal) {
        return false;
    }
    return expected->operand[0] == '\0' || observed->operand[0] == '\0' ||
           strcmp(expected->operand, observed->operand) == 0;
}
