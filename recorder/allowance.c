/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts of what the operands of each thread cost: the time that reading them takes, and the room that they did not find. */
#include "allowance.h"

#include <stdio.h>

#include "ring_note.h"

#define TICKS_A_SECOND 2e9 /* as long as the rate of the clock has not been measured */

/* A second's worth. */
static double most(const opd_control *control)
{
    double rate = control->ns_per_tick > 0 ? 1e9 / control->ns_per_tick : TICKS_A_SECOND;
    return control->overhead * rate;
}

static void earn(opd_slot *slot, const opd_control *control, uint64_t now)
{
    double limit = most(control);
    if (slot->paid_at == 0) {
        slot->credit = limit;
    } else if (now > slot->paid_at) {
        slot->credit += (double)(now - slot->paid_at) * control->overhead;
    }
    slot->credit = slot->credit < limit ? slot->credit : limit;
    slot->paid_at = now;
}

/* Operands without room in the budget: the first, and again whenever there are twice as many. */
static void tell_missed(opd_slot *slot)
{
    if (slot->missed == 0 || slot->missed < slot->missed_next) {
        return;
    }
    char text[96];
    slot->missed_next = 2 * slot->missed;
    snprintf(text, sizeof(text), "operands without room so far: %llu, the last of %llu bytes",
             (unsigned long long)slot->missed, (unsigned long long)slot->missed_bytes);
    opd_note_put(slot, "budget", text, (int64_t)slot->missed);
}

/* What lies before the first time stamp of a thread, or after the last so far: no other time of the thread has it. */
static void note_edge(opd_slot *slot, uint64_t ticks, bool is_after)
{
    if (is_after) {
        slot->after_ticks = ticks;
    } else if (slot->has_read == 0) {
        slot->edge_ticks += ticks;
    }
    slot->has_read = 1;
}

void opd_allowance_spend(opd_slot *slot, uint64_t ticks, uint64_t now, bool is_after)
{
    const opd_control *control = opd_recorder.control;
    note_edge(slot, ticks, is_after);
    tell_missed(slot);
    uint64_t own = atomic_load_explicit(&slot->own_ticks, memory_order_relaxed);
    atomic_store_explicit(&slot->own_ticks, own + ticks, memory_order_relaxed);
    if (control->overhead <= 0) {
        return;
    }
    earn(slot, control, now);
    slot->credit -= (double)ticks;
    if (slot->credit < 0 && slot->is_spent == 0) {
        char text[96];
        slot->is_spent = 1;
        slot->spent_calls = 0;
        snprintf(text, sizeof(text), "the %g %% of time allowed are spent: operands are not read from here on",
                 control->overhead * 100);
        opd_note_put(slot, "overhead", text, (int64_t)slot->number);
    }
}

bool opd_allowance_is_still_spent(opd_slot *slot)
{
    const opd_control *control = opd_recorder.control;
    earn(slot, control, opd_here_ticks());
    if (slot->credit < most(control) / 2) {
        uint64_t calls = atomic_load_explicit(&slot->unread_calls, memory_order_relaxed);
        atomic_store_explicit(&slot->unread_calls, calls + 1, memory_order_relaxed);
        slot->spent_calls++;
        return true;
    }
    char text[96];
    slot->is_spent = 0;
    snprintf(text, sizeof(text), "operands are read again, after %llu calls without",
             (unsigned long long)slot->spent_calls);
    opd_note_put(slot, "overhead", text, (int64_t)slot->spent_calls);
    return false;
}
