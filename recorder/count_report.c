/* SPDX-License-Identifier: Apache-2.0 */
/* Capture level counts, beside the recorded process: what its threads counted goes into bundles and the report. */
#include <stdlib.h>
#include <string.h>

#include "collector.h"

#define NUMBER_MASK ((UINT64_C(1) << OPD_COUNT_NUMBER_BITS) - 1)

opd_status opd_counts_note(opd_watched *watched, const opd_call *call)
{
    size_t count = watched->kind_count;
    if ((count & (count - 1)) == 0) {
        opd_status status = opd_grow((void **)&watched->kinds, count > 0 ? 2 * count : 1, sizeof(watched->kinds[0]));
        if (status != OPD_OK) {
            return status;
        }
    }
    opd_recorded_kind *kind = &watched->kinds[watched->kind_count++];
    *kind = (opd_recorded_kind){ .number = call->number & NUMBER_MASK,
                                 .tid = call->thread,
                                 .is_nested = (call->flags & OPD_CALL_NESTED) != 0 };
    memcpy(kind->name, call->name, sizeof(kind->name));
    return OPD_OK;
}

void opd_counts_progress(opd_collector *collector, opd_watched *watched)
{
    uint64_t calls = 0;
    for (uint32_t i = 0; collector->control->capture == OPD_CAPTURE_COUNTS && i < OPD_PROCESS_THREADS; i++) {
        const opd_slot *slot = opd_session_slot(watched->process, i);
        calls += slot != NULL ? slot->number + slot->earlier : 0;
    }
    if (calls > watched->counted) {
        atomic_fetch_add_explicit(&collector->control->calls, calls - watched->counted, memory_order_relaxed);
        watched->counted = calls;
    }
}

/* The index-th count of a slot, its time less what the recorder itself does between two time stamps; false: there is none. */
static bool read_count(opd_count *out, const opd_collector *collector, const opd_process *process, const opd_slot *slot,
                       uint32_t index)
{
    const opd_counted *from = &slot->counts[index];
    uint64_t first = atomic_load_explicit(&from->first, memory_order_acquire);
    uint64_t calls = atomic_load_explicit(&from->calls, memory_order_relaxed);
    uint64_t ticks = atomic_load_explicit(&from->ticks, memory_order_relaxed);
    if (first == 0 || calls == 0) {
        return false;
    }
    double own = (double)calls * (double)process->slice_ticks;
    double left = (double)ticks > own ? (double)ticks - own : 0;
    *out = (opd_count){ .thread = (uint32_t)(first >> OPD_COUNT_NUMBER_BITS),
                        .number = first & NUMBER_MASK,
                        .calls = calls,
                        .ns = (uint64_t)(left * collector->ticks.ns_per_tick),
                        .is_rest = index >= OPD_COUNT_KINDS };
    return true;
}

typedef opd_status count_fn(void *context, const opd_count *count);

static opd_status each_count(const opd_collector *collector, const opd_watched *watched, count_fn *take, void *context)
{
    opd_status status = OPD_OK;
    if (collector->control->capture != OPD_CAPTURE_COUNTS) {
        return OPD_OK;
    }
    for (uint32_t i = 0; i < OPD_PROCESS_THREADS && status == OPD_OK; i++) {
        const opd_slot *slot = opd_session_slot(watched->process, i);
        for (uint32_t k = 0; slot != NULL && k < OPD_COUNT(slot->counts) && status == OPD_OK; k++) {
            opd_count count;
            status = read_count(&count, collector, watched->process, slot, k) ? take(context, &count) : OPD_OK;
        }
    }
    return status;
}

static opd_status put_count(void *context, const opd_count *count)
{
    return opd_writer_count(context, count);
}

opd_status opd_counts_put(opd_writer *writer, const opd_collector *collector, const opd_watched *watched)
{
    return each_count(collector, watched, put_count, writer);
}

static int by_call(const void *left, const void *right)
{
    const opd_recorded_kind *a = left;
    const opd_recorded_kind *b = right;
    return a->tid != b->tid ? (a->tid > b->tid) - (a->tid < b->tid) : (a->number > b->number) - (a->number < b->number);
}

typedef struct tally {
    opd_record_report *report;
    const opd_watched *watched;
} tally;

static opd_status tally_count(void *context, const opd_count *count)
{
    const tally *at = context;
    opd_recorded_kind wanted = { .tid = count->thread, .number = count->number };
    const opd_recorded_kind *kind =
        bsearch(&wanted, at->watched->kinds, at->watched->kind_count, sizeof(wanted), by_call);
    bool is_nested = kind != NULL && kind->is_nested;
    at->report->calls += count->calls;
    at->report->calls_nested += is_nested ? count->calls : 0;
    at->report->kinds++;
    if (!is_nested) {
        /* Without a name: its record was written by a collector that was killed. */
        opd_record_operator *line = opd_tally_line(at->report, kind != NULL ? kind->name : "(unknown)");
        line->calls += count->calls;
        line->ns += count->ns;
    }
    return OPD_OK;
}

void opd_counts_tally(opd_collector *collector, opd_watched *watched)
{
    tally at = { collector->report, watched };
    if (watched->kind_count > 0) {
        qsort(watched->kinds, watched->kind_count, sizeof(watched->kinds[0]), by_call);
    }
    for (uint32_t i = 0; collector->control->capture == OPD_CAPTURE_COUNTS && i < OPD_PROCESS_THREADS; i++) {
        const opd_slot *slot = opd_session_slot(watched->process, i);
        collector->report->dropped += slot != NULL ? atomic_load(&slot->dropped) : 0;
    }
    each_count(collector, watched, tally_count, &at);
}
