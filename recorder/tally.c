/* SPDX-License-Identifier: Apache-2.0 */
/* What the report says of the calls: by operator, of their data, and of what recording them took. */
#include <stdio.h>
#include <string.h>

#include "collector.h"

opd_record_operator *opd_tally_line(opd_record_report *report, const char *name)
{
    for (uint32_t i = 0; i < report->operator_count; i++) {
        if (strcmp(report->operators[i].name, name) == 0) {
            return &report->operators[i];
        }
    }
    if (report->operator_count + 1 < OPD_COUNT(report->operators)) {
        opd_record_operator *line = &report->operators[report->operator_count++];
        snprintf(line->name, sizeof(line->name), "%s", name);
        return line;
    }
    opd_record_operator *last = &report->operators[OPD_COUNT(report->operators) - 1];
    if (last->name[0] == '\0') {
        snprintf(last->name, sizeof(last->name), "(others)");
        report->operator_count++;
    }
    return last;
}

/* line: NULL = of a call inside another, which has one. */
static void count_operands(opd_record_report *report, opd_record_operator *line, const opd_call *call)
{
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        bool is_sampled = (operand->flags & OPD_OPERAND_SAMPLED) != 0 && operand->health_before.count > 0;
        if (opd_digest_is_none(&operand->before) && !is_sampled) {
            continue;
        }
        uint64_t bytes = is_sampled ? operand->health_before.count * opd_dtype_size(operand->view.dtype)
                                    : opd_tensor_packed_bytes(&operand->view);
        report->bytes_seen += bytes;
        if (line != NULL) {
            line->bytes += bytes;
        }
        report->bytes_known += (operand->flags & OPD_OPERAND_KNOWN) != 0 ? bytes : 0;
        report->bytes_tracked += (operand->flags & OPD_OPERAND_TRACKED) != 0 ? bytes : 0;
    }
}

static void end_span(opd_record_report *report, opd_watched_slot *known)
{
    report->thread_ns += known->last_ns > known->first_ns ? known->last_ns - known->first_ns : 0;
    known->first_ns = 0;
    known->last_ns = 0;
}

void opd_tally_call(opd_collector *collector, opd_watched *watched, uint32_t index, const opd_call *call)
{
    opd_record_report *report = collector->report;
    opd_watched_slot *known = &watched->slots[index];
    bool is_nested = (call->flags & OPD_CALL_NESTED) != 0;
    watched->calls++;
    collector->has_calls = true;
    if (collector->control->capture == OPD_CAPTURE_COUNTS) {
        if (opd_counts_note(watched, call) != OPD_OK) {
            opd_error_clear(); /* counted without a name */
        }
        return; /* opd_counts_tally() has it */
    }
    opd_record_operator *line = is_nested ? NULL : opd_tally_line(report, call->name);
    report->calls++;
    report->calls_nested += is_nested;
    atomic_fetch_add_explicit(&collector->control->calls, 1, memory_order_relaxed);
    if (line != NULL) {
        line->calls++;
        line->ns += call->end_ns > call->begin_ns ? call->end_ns - call->begin_ns : 0;
    }
    if (call->number == 1) {
        end_span(report, known); /* another thread has the slot */
    }
    known->first_ns = known->first_ns == 0 ? call->begin_ns : known->first_ns;
    known->last_ns = call->end_ns > known->last_ns ? call->end_ns : known->last_ns;
    count_operands(report, line, call);
}

opd_record_failure *opd_tally_failure(opd_record_report *report, uint32_t outcome, const char *routine)
{
    for (uint32_t i = 0; i < report->failure_kinds; i++) {
        if (report->failures[i].outcome == outcome && strcmp(report->failures[i].routine, routine) == 0) {
            return &report->failures[i];
        }
    }
    if (report->failure_kinds == OPD_COUNT(report->failures)) {
        return NULL;
    }
    opd_record_failure *line = &report->failures[report->failure_kinds++];
    *line = (opd_record_failure){ .outcome = outcome };
    snprintf(line->routine, sizeof(line->routine), "%s", routine);
    return line;
}

void opd_tally_bundle(opd_record_report *report, uint32_t outcome, const char *routine, bool is_whole)
{
    char name[OPD_NAME]; /* what comes from shared memory may have no end */
    snprintf(name, sizeof(name), "%.*s", (int)sizeof(name) - 1, routine);
    opd_record_failure *failure = name[0] != '\0' ? opd_tally_failure(report, outcome, name) : NULL;
    report->bundles_cut += !is_whole;
    if (failure != NULL) {
        failure->written += is_whole;
        failure->cut += !is_whole;
    }
}

static void count_kinds(opd_record_report *report, opd_process *process)
{
    for (uint32_t i = 0; i < OPD_FAILURE_KINDS; i++) {
        opd_failure_kind *kind = &process->kinds[i];
        uint32_t seen = atomic_load(&kind->seen);
        if (seen == 0) {
            continue;
        }
        char routine[OPD_NAME];
        snprintf(routine, sizeof(routine), "%.*s", (int)sizeof(kind->routine) - 1, kind->routine);
        opd_record_failure *failure = opd_tally_failure(report, kind->outcome, routine);
        if (failure != NULL) {
            failure->seen += seen;
        }
    }
}

void opd_tally_end(opd_collector *collector, opd_watched *watched)
{
    opd_record_report *report = collector->report;
    opd_process *process = watched->process;
    uint64_t own = 0;
    uint64_t edges = 0; /* of own, outside the spans between first and last call */
    report->suppressed += atomic_load(&process->suppressed);
    report->survived += atomic_load(&process->survived);
    report->data_refused += atomic_load(&process->arena.refused);
    bool is_limited = atomic_load(&process->arena.count) < OPD_ARENA_CHUNKS ||
                      process->arena.chunk_bytes < opd_session_chunk_bytes(collector->control->budget);
    report->data_limited += is_limited ? atomic_load(&process->arena.refused) : 0;
    report->threads_lost += atomic_load(&process->threads_lost);
    report->bytes_kept += atomic_load(&process->arena.keep_bytes);
    for (uint32_t i = 0; i < OPD_PROCESS_THREADS; i++) {
        opd_slot *slot = opd_session_slot(process, i);
        end_span(report, &watched->slots[i]);
        if (slot != NULL) {
            own += atomic_load(&slot->own_ticks);
            edges += slot->edge_ticks + slot->after_ticks;
            report->unread_calls += atomic_load(&slot->unread_calls);
        }
    }
    report->own_ns += (uint64_t)((double)own * collector->ticks.ns_per_tick);
    report->thread_ns += (uint64_t)((double)edges * collector->ticks.ns_per_tick);
    report->call_own_ns = (uint32_t)((double)process->slice_ticks * collector->ticks.ns_per_tick);
    if (report->untracked[0] == '\0') {
        snprintf(report->untracked, sizeof(report->untracked), "%.95s", process->why_untracked);
    }
    count_kinds(report, process);
    opd_counts_tally(collector, watched);
}
