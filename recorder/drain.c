/* SPDX-License-Identifier: Apache-2.0 */
/* The rings of a process into run-PID.opsb: all calls without their data, and where some are missing. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collector.h"
#include "trigger.h"

#define RUN_AHEAD \
    ((uint64_t)256 << 10) /* room on the disk that a run keeps: failures with their data shall not take it */

static void run_path(char *path, size_t size, const opd_collector *collector, opd_watched *watched, const char *what)
{
    (void)what;
    if (collector->is_single) {
        snprintf(path, size, "%s.run-%d%s", collector->out, watched->pid, OPD_SUFFIX);
        return;
    }
    snprintf(path, size, "%s/run-%d%s", collector->out, watched->pid, OPD_SUFFIX);
    for (unsigned i = 2; opd_bundle_is_taken(path) && i < 100000; i++) { /* by an image before an exec */
        snprintf(path, size, "%s/run-%d-%u%s", collector->out, watched->pid, i, OPD_SUFFIX);
    }
}

static void note_run_trouble(opd_collector *collector, const char *format, ...) OPD_PRINTF(2, 3);

static void note_run_trouble(opd_collector *collector, const char *format, ...)
{
    char *text = collector->report->run_trouble;
    if (text[0] == '\0') {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof(collector->report->run_trouble), format, arguments);
        va_end(arguments);
    }
}

static void give_up(opd_collector *collector, opd_watched *watched)
{
    note_run_trouble(collector, "the run of process %d stays .partial, whole up to call %llu: %s", watched->pid,
                     (unsigned long long)watched->flushed, opd_error_text());
    opd_writer_abandon(watched->run, true);
    watched->run = NULL;
    watched->has_failed = true;
}

/* The writer of the run, opened with its first call; NULL after trouble. */
static opd_writer *run_writer(opd_collector *collector, opd_watched *watched)
{
    char path[4224];
    if (watched->run != NULL || watched->has_failed) {
        return watched->run;
    }
    static const opd_naming naming = { run_path, NULL, "run" };
    if (opd_bundle_begin(&watched->run, path, sizeof(path), collector, watched, &naming) != OPD_OK) {
        note_run_trouble(collector, "the run of process %d is not written: %s", watched->pid, opd_error_text());
        watched->has_failed = true;
        return NULL;
    }
    opd_writer_reserve(watched->run, RUN_AHEAD);
    return watched->run;
}

static opd_status map_modules(opd_watched *watched, opd_call *call)
{
    uint32_t *numbers[] = { &call->provider, &call->caller };
    for (size_t i = 0; i < OPD_COUNT(numbers); i++) {
        uint32_t index = *numbers[i];
        *numbers[i] = 0;
        if (index == 0 || index > OPD_PROCESS_MODULES) {
            continue;
        }
        if (watched->run_modules[index - 1] == 0) {
            opd_status status = opd_bundle_module_of(&watched->run_modules[index - 1], watched->run, watched, index);
            if (status != OPD_OK) {
                return status;
            }
        }
        *numbers[i] = watched->run_modules[index - 1];
    }
    return OPD_OK;
}

static opd_status write_gap(opd_collector *collector, opd_watched *watched, uint32_t tid, uint64_t gap,
                            uint64_t time_ns)
{
    opd_event event = { .kind = "drop", .thread = tid, .time_ns = time_ns, .value = (int64_t)gap };
    snprintf(event.name, sizeof(event.name), "%llu calls were overwritten before they were written",
             (unsigned long long)gap);
    watched->dropped += gap;
    collector->report->dropped += gap;
    return watched->run != NULL ? opd_writer_event(watched->run, &event) : OPD_OK;
}

/* The last call of the thread that a killed collector had written; NULL = none. */
static const opd_written *last_written(const opd_collector *collector, const opd_watched *watched, uint32_t tid)
{
    for (size_t i = 0; i < collector->written_count; i++) {
        const opd_written *last = &collector->written[i];
        if (last->pid == watched->pid && last->tid == tid) {
            return last;
        }
    }
    return NULL;
}

/*
 * Written by the collector that was killed before it could say so? Its clock may have been set a little differently; an image that
 * counts anew after an exec begins later by far.
 */
static bool is_written(const opd_collector *collector, const opd_watched *watched, const opd_call *call)
{
    const opd_written *last = last_written(collector, watched, call->thread);
    return last != NULL && call->number <= last->number && call->begin_ns <= last->begin_ns + UINT64_C(1000000);
}

/* Names a new thread and finds out what is missing before this record. */
static opd_status enter_thread(opd_collector *collector, opd_watched *watched, uint32_t index, uint32_t tid,
                               uint64_t number, uint64_t time_ns)
{
    opd_watched_slot *known = &watched->slots[index];
    opd_status status = OPD_OK;
    if (known->tid != tid) {
        const char *name = watched->process->slots[index].name;
        char text[17];
        snprintf(text, sizeof(text), "%.16s", name);
        const opd_written *last = last_written(collector, watched, tid);
        known->tid = tid;
        known->number = last != NULL && last->number < number ? last->number : 0;
        collector->report->threads++;
        if (watched->run != NULL) {
            status = opd_writer_thread(watched->run, (uint32_t)watched->pid, tid, text);
        }
    }
    bool is_filtered = collector->control->range_last != 0 || collector->control->capture == OPD_CAPTURE_COUNTS;
    if (status == OPD_OK && number > known->number + 1 && !is_filtered) {
        status = write_gap(collector, watched, tid, number - known->number - 1, time_ns);
    }
    known->accounted += number > known->number ? number - known->number : 0;
    known->number = number;
    return status;
}

/* Of a call without operands (levels counts and meta, those that --sample passes by) nobody has looked at the rest yet. */
static void check_call(const opd_collector *collector, opd_watched *watched, uint32_t index, const opd_call *call)
{
    const opd_control *control = collector->control;
    if (collector->record->operands > 0) {
        return; /* the program has, at this level when it is to be verified */
    }
    bool is_bad = (call->flags & OPD_CALL_BAD_ARGS) != 0 && (control->triggers & OPD_TRIGGER_CONTRACT) != 0;
    bool is_always = control->capture == OPD_CAPTURE_META && (control->triggers & OPD_TRIGGER_ALWAYS) != 0;
    if (call->depth > 0 || (!is_bad && !is_always)) {
        return;
    }
    opd_shared_trigger trigger = { .outcome = is_bad ? OPD_OUTCOME_BAD_ARGS : OPD_OUTCOME_REQUESTED,
                                   .tid = call->thread,
                                   .slot = index,
                                   .operand = -1,
                                   .number = call->number,
                                   .position = collector->record->position,
                                   .ticks = collector->record->word[OPD_R_END],
                                   .element = -1 };
    if (is_bad) {
        memcpy(trigger.routine, call->name, sizeof(trigger.routine));
    }
    opd_trigger_fire(control, watched->process, &trigger);
}

/* How a call ended that has no return. */
static opd_status put_crash(opd_watched *watched, const opd_call *call, const opd_ring_record *record)
{
    opd_event event = {
        .kind = "crash", .thread = call->thread, .time_ns = call->begin_ns, .value = (int64_t)call->number
    };
    const char *name = sigabbrev_np((int)record->word[OPD_R_RETURN]);
    snprintf(event.name, sizeof(event.name), "SIG%s at address 0x%llx in call %llu, which the program survived",
             name != NULL ? name : "?", (unsigned long long)record->word[OPD_R_RETURN2],
             (unsigned long long)call->number);
    return opd_writer_event(watched->run, &event);
}

/* One record into the run. */
static opd_status put_record(opd_collector *collector, opd_watched *watched, uint32_t index)
{
    const opd_ring_record *record = collector->record;
    opd_event event;
    if (record->kind == OPD_RECORD_EVENT) {
        opd_status status = opd_decode_event(&event, collector, record);
        return status == OPD_OK && run_writer(collector, watched) != NULL ? opd_writer_event(watched->run, &event)
                                                                          : OPD_OK;
    }
    opd_call *call = collector->call;
    if (opd_decode_call(call, collector, watched, record) != OPD_OK) {
        return OPD_OK; /* scribbled over: not a reason to lose the rest */
    }
    if (is_written(collector, watched, call)) {
        return OPD_OK;
    }
    check_call(collector, watched, index, call);
    opd_verify_offer(collector, watched, call, watched->process->slots[index].name);
    run_writer(collector, watched);
    opd_status status = enter_thread(collector, watched, index, call->thread, call->number, call->begin_ns);
    opd_tally_call(collector, watched, index, call);
    if (status != OPD_OK || watched->run == NULL) {
        return status;
    }
    status = map_modules(watched, call);
    if (status == OPD_OK) {
        status = opd_writer_call(watched->run, call);
    }
    return status == OPD_OK && record->state == OPD_STATE_CRASHED ? put_crash(watched, call, record) : status;
}

/* Is the call still running? Not when its thread has ended inside it. */
static bool is_pending(opd_process *process, uint32_t index, const opd_ring_record *record)
{
    return record->state < OPD_STATE_COMPLETE && atomic_load(&process->slot_states[index]) == OPD_SLOT_TAKEN &&
           process->slots[index].tid == (uint32_t)record->word[OPD_R_WHO];
}

static void drain_slot(opd_collector *collector, opd_watched *watched, uint32_t index, bool is_last)
{
    opd_slot *slot = &watched->process->slots[index];
    opd_watched_slot *known = &watched->slots[index];
    for (;;) {
        uint64_t position = known->position;
        opd_ring_result result = opd_ring_read(slot, &position, collector->record);
        if (result == OPD_RING_EMPTY) {
            known->position = position;
            return;
        }
        if (result == OPD_RING_RECORD && is_pending(watched->process, index, collector->record) && !is_last) {
            known->position = collector->record->position; /* in flight: the thread's later calls wait for it */
            return;
        }
        known->position = position;
        if (result == OPD_RING_RECORD && put_record(collector, watched, index) != OPD_OK) {
            give_up(collector, watched);
        }
    }
}

/* What the last record of a thread does not tell: calls after it that found no room, or were overwritten by a thread that came after it. */
static void count_tail(opd_collector *collector, opd_watched *watched, uint32_t index)
{
    const opd_slot *slot = &watched->process->slots[index];
    opd_watched_slot *known = &watched->slots[index];
    bool is_recovering =
        collector->main_pid == 0; /* what was before is in the bundles of the collector that was killed */
    uint64_t made = slot->number + (is_recovering ? 0 : slot->earlier);
    bool is_counting = collector->control->capture == OPD_CAPTURE_COUNTS; /* most calls have no record */
    const opd_written *last = is_recovering ? last_written(collector, watched, slot->tid) : NULL;
    uint64_t accounted = known->accounted + (last != NULL && last->number <= slot->number ? last->number : 0);
    if (made <= accounted || collector->control->range_last != 0 || is_counting) {
        return;
    }
    uint64_t missing = made - accounted;
    known->accounted = made;
    if (write_gap(collector, watched, slot->tid, missing, opd_now_ns()) != OPD_OK) {
        give_up(collector, watched);
    }
}

void opd_drain(opd_collector *collector, opd_watched *watched, bool is_last)
{
    opd_process *process = watched->process;
    uint32_t used = atomic_load(&process->slots_used);
    used = used < OPD_PROCESS_THREADS ? used : OPD_PROCESS_THREADS;
    for (uint32_t i = 0; i < used; i++) {
        if (opd_session_slot(process, i) == NULL) {
            continue;
        }
        drain_slot(collector, watched, i, is_last);
        if (is_last) {
            count_tail(collector, watched, i);
        }
    }
    if (watched->run != NULL && opd_writer_flush(watched->run) != OPD_OK) {
        give_up(collector, watched);
    }
    if (watched->run != NULL && watched->calls != watched->flushed) {
        opd_writer_reserve(watched->run, RUN_AHEAD);
        watched->flushed = watched->calls;
    }
    for (uint32_t i = 0; i < used; i++) {
        opd_slot *slot = opd_session_slot(process, i);
        if (slot != NULL) {
            atomic_store(&slot->tail, watched->slots[i].position);
        }
    }
}

/* Is it the program itself, without calls and with nothing to come, or come before, under the same pid? */
static bool is_only_image(const opd_collector *collector, const opd_watched *watched)
{
    bool is_only = watched->pid == collector->main_pid && watched->calls == 0;
    for (const opd_watched *at = collector->first; at != NULL; at = at->next) {
        is_only =
            is_only && (at == watched || at->pid != watched->pid || (at->calls == 0 && at->image < watched->image));
    }
    return is_only;
}

void opd_drain_close(opd_collector *collector, opd_watched *watched)
{
    if (watched->run == NULL && is_only_image(collector, watched)) {
        run_writer(collector, watched); /* the run of the program itself is always there */
    }
    if (watched->run == NULL) {
        return;
    }
    if (opd_counts_put(watched->run, collector, watched) != OPD_OK) {
        note_run_trouble(collector, "the counts of process %d are not written: %s", watched->pid, opd_error_text());
    }
    collector->report->bytes_stored += opd_writer_size(watched->run);
    if (opd_writer_close(watched->run) != OPD_OK) {
        note_run_trouble(collector, "the run of process %d stays .partial: %s", watched->pid, opd_error_text());
        watched->has_failed = true;
    }
    watched->run = NULL;
    if (collector->is_single) {
        char path[4224];
        run_path(path, sizeof(path), collector, watched, NULL);
        bool is_wanted =
            collector->report->bundles == 0 && watched->pid == collector->main_pid && access(path, F_OK) == 0;
        if (is_wanted && opd_collector_keep_old(collector) != OPD_OK) {
            note_run_trouble(collector, "the run of process %d keeps its own name: %s", watched->pid, opd_error_text());
        } else if (!is_wanted || rename(path, collector->out) != 0) {
            unlink(path);
        }
    }
}
