/* SPDX-License-Identifier: Apache-2.0 */
/* How a process ended, told from its wait status, its handler's notes and the calls that its rings show in flight. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "inquest.h"

static const int crash_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS };

static bool is_crash(int signal)
{
    for (size_t i = 0; i < OPD_COUNT(crash_signals); i++) {
        if (crash_signals[i] == signal) {
            return true;
        }
    }
    return false;
}

/* Which call in flight may be blamed. */
typedef struct suspicion {
    uint32_t tid; /* of this thread; 0 = any */
    uint64_t pc;  /* not 0: by this place in its library, or by what is on the stack of the crashed thread */
    const opd_wrecked_thread *wrecked; /* NULL: not asked */
} suspicion;

/* Is the crashed thread at work inside the library that runs the call: a worker of it? */
static bool is_worker_of(const suspicion *who, const opd_watched *watched, const opd_ring_record *record)
{
    uint32_t number = (uint16_t)record->word[OPD_R_MODULES];
    if (number == 0 || number > OPD_PROCESS_MODULES) {
        return false;
    }
    const opd_shared_module *module = &watched->process->modules[number - 1];
    bool is_there = who->pc >= module->start && who->pc < module->end;
    return is_there || (who->wrecked != NULL && opd_wreck_is_inside(who->wrecked, module->start, module->end));
}

/* The call to blame: the innermost in flight that has data, else the outermost. Of the crashed thread when it is known. */
static bool find_in_flight(opd_shared_trigger *out, opd_collector *collector, const opd_watched *watched,
                           const suspicion *who)
{
    uint32_t tid = who->tid;
    opd_process *process = watched->process;
    uint32_t used = atomic_load(&process->slots_used);
    bool is_found = false;
    bool has_data = false;
    for (uint32_t i = 0; i < used && i < OPD_PROCESS_THREADS; i++) {
        opd_slot *slot = opd_session_slot(process, i);
        uint64_t position = slot != NULL ? opd_ring_oldest(slot) : 0;
        opd_ring_result result;
        while (slot != NULL && (result = opd_ring_read(slot, &position, collector->record)) != OPD_RING_EMPTY) {
            const opd_ring_record *record = collector->record;
            uint32_t owner = (uint32_t)record->word[OPD_R_WHO];
            if (result != OPD_RING_RECORD || record->state >= OPD_STATE_COMPLETE || (tid != 0 && owner != tid) ||
                owner != slot->tid || (is_found && record->operands == 0) || (has_data && out->slot != i) ||
                (who->pc != 0 && !is_worker_of(who, watched, record))) {
                continue;
            }
            is_found = true;
            has_data = record->operands > 0;
            out->slot = i;
            out->tid = owner;
            out->number = record->word[OPD_R_NUMBER];
            out->position = record->position;
            out->ticks = record->word[OPD_R_BEGIN];
        }
    }
    return is_found;
}

/* A thread that crashed without a call of its own may be a worker of a library that another thread has called. */
static bool find_blamed(opd_shared_trigger *out, opd_collector *collector, const opd_watched *watched)
{
    opd_process *process = watched->process;
    const opd_shared_crash *crash = &process->crash;
    suspicion who = { .tid = atomic_load(&crash->is_set) == 2 ? crash->tid : 0 };
    if (find_in_flight(out, collector, watched, &who) || who.tid == 0) {
        return out->number != 0;
    }
    opd_wreck *wreck = NULL;
    bool has_slot = false; /* one that calls has old return addresses of calls on its stack */
    for (uint32_t i = 0; i < OPD_PROCESS_THREADS; i++) {
        const opd_slot *slot = opd_session_slot(process, i);
        has_slot = has_slot || (slot != NULL && slot->tid == crash->tid);
    }
    who = (suspicion){ .pc = crash->pc != 0 ? crash->pc : 1 }; /* 0: a call of nothing */
    if (!has_slot && opd_wreck_read(&wreck, watched->path) == OPD_OK) {
        who.wrecked = &wreck->threads[0];
    }
    bool is_found = find_in_flight(out, collector, watched, &who);
    opd_wreck_free(wreck);
    return is_found;
}

/* A call in flight whose arguments are bad: the library ended the process over them. */
static bool has_bad_args(opd_collector *collector, opd_watched *watched, const opd_shared_trigger *trigger)
{
    opd_slot *slot = &watched->process->slots[trigger->slot];
    uint64_t position = trigger->position;
    return opd_ring_read(slot, &position, collector->record) == OPD_RING_RECORD &&
           opd_decode_call(collector->call, collector, watched, collector->record) == OPD_OK &&
           (collector->call->flags & OPD_CALL_BAD_ARGS) != 0;
}

/* Signal of a crash and, in words, how the process ended by it. 0: it ended otherwise. */
static int signal_of_end(char *how, size_t size, const opd_process *process, int wait_status)
{
    const opd_shared_crash *crash = &process->crash;
    bool is_noted = atomic_load(&crash->is_set) == 2;
    bool is_known = wait_status != OPD_STATUS_UNKNOWN;
    int signal = is_known && WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : is_noted ? crash->signal : 0;
    if (is_noted && crash->is_exit != 0) {
        snprintf(how, size, ", whose handler in the program ended the process");
    }
    return signal;
}

/*
 * Nobody says how a child of the program ended. One that handles faults itself leaves no note of them, but killed from
 * outside or ended in order it would rarely be in the middle of a call.
 */
static bool is_gone_in_call(const opd_process *process, bool is_in_flight, int wait_status)
{
    return wait_status == OPD_STATUS_UNKNOWN && is_in_flight && atomic_load(&process->handles_faults) != 0 &&
           atomic_load(&process->is_ended) == 0 && atomic_load(&process->crash.is_set) == 0;
}

bool opd_window_of_end(opd_shared_trigger *trigger, opd_collector *collector, opd_watched *watched, int wait_status)
{
    const opd_shared_crash *crash = &watched->process->crash;
    uint32_t wanted = collector->control->triggers;
    bool is_noted = atomic_load(&crash->is_set) == 2;
    char how[64] = "";
    int signal = signal_of_end(how, sizeof(how), watched->process, wait_status);
    *trigger = (opd_shared_trigger){ .outcome = OPD_OUTCOME_OK,
                                     .slot = OPD_PROCESS_THREADS,
                                     .operand = -1,
                                     .element = -1,
                                     .ticks = opd_now_ticks(collector->control->has_tsc) };
    bool is_in_flight = find_blamed(trigger, collector, watched);
    if (is_crash(signal) && (wanted & OPD_TRIGGER_CRASH) != 0) {
        trigger->outcome = OPD_OUTCOME_CRASH;
        trigger->bad_count = (uint64_t)signal;
        if (trigger->tid == 0) {
            trigger->tid = is_noted ? crash->tid : (uint32_t)watched->pid;
        }
        snprintf(trigger->reason, sizeof(trigger->reason), "SIG%s%s%s", sigabbrev_np(signal), how,
                 is_in_flight ? "" : " with no recorded call in flight");
        return true;
    }
    if (is_in_flight && (wanted & OPD_TRIGGER_CONTRACT) != 0 && has_bad_args(collector, watched, trigger)) {
        trigger->outcome = OPD_OUTCOME_BAD_ARGS;
        return true;
    }
    if (is_gone_in_call(watched->process, is_in_flight, wait_status) && (wanted & OPD_TRIGGER_CRASH) != 0) {
        trigger->outcome = OPD_OUTCOME_CRASH;
        snprintf(
            trigger->reason, sizeof(trigger->reason),
            "the process was gone with this call in flight, by a signal that it handles itself or one from outside");
        return true;
    }
    if ((wanted & OPD_TRIGGER_EXIT) != 0) {
        trigger->outcome = OPD_OUTCOME_REQUESTED;
        trigger->number = 0;
        snprintf(trigger->reason, sizeof(trigger->reason), "the process ended");
        return true;
    }
    return false;
}

/* The outermost call that a thread has begun; false: it has returned from all of them. */
static bool read_flight(opd_collector *collector, const opd_watched *watched, uint32_t index)
{
    opd_process *process = watched->process;
    opd_slot *slot = opd_session_slot(process, index);
    uint64_t position = watched->slots[index].position;
    return slot != NULL && opd_ring_read(slot, &position, collector->record) == OPD_RING_RECORD &&
           collector->record->state < OPD_STATE_COMPLETE &&
           atomic_load(&process->slot_states[index]) == OPD_SLOT_TAKEN &&
           slot->tid == (uint32_t)collector->record->word[OPD_R_WHO] &&
           opd_decode_call(collector->call, collector, watched, collector->record) == OPD_OK;
}

void opd_flights_note(opd_collector *collector, const opd_watched *watched, int wait_status)
{
    opd_record_report *report = collector->report;
    opd_process *process = watched->process;
    uint32_t used = atomic_load(&process->slots_used);
    bool is_known = wait_status != OPD_STATUS_UNKNOWN;
    int signal = is_known && WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    bool is_in_order = is_known ? signal == 0 : atomic_load(&process->is_ended) != 0;
    if (is_crash(signal) || (!is_known && atomic_load(&process->crash.is_set) != 0)) {
        return;
    }
    for (uint32_t i = 0; i < used && i < OPD_PROCESS_THREADS; i++) {
        if (report->flight_count == OPD_COUNT(report->flights) || !read_flight(collector, watched, i)) {
            continue;
        }
        const opd_call *call = collector->call;
        uint64_t now = opd_now_ns();
        opd_record_flight flight = {
            .pid = watched->pid, .signal = signal, .thread = call->thread, .number = call->number
        };
        flight.ns = now > call->begin_ns ? now - call->begin_ns : 0;
        flight.has_bundle = process->slots[i].reported == call->number;
        opd_call_describe(flight.what, sizeof(flight.what), call);
        if (!is_in_order || flight.ns >= OPD_RECORD_HANG_NS) {
            report->flights[report->flight_count++] = flight;
        }
    }
}
