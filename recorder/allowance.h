/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What reading operands may cost a thread: a share of its time, saved up for a second at most. Spent, its calls are recorded without their
 * operands until half of that is there again. Both turns are announced by an event in the ring, and so are operands whose data found no room.
 */
#ifndef OPD_ALLOWANCE_H
#define OPD_ALLOWANCE_H

#include "here.h"

/* Reading operands took that long, until now; before the call began, or (is_after) once it had ended. */
void opd_allowance_spend(opd_slot *slot, uint64_t ticks, uint64_t now, bool is_after);

/* The slow half of opd_allowance_is_spent: may the thread read operands again? */
bool opd_allowance_is_still_spent(opd_slot *slot);

static inline bool opd_allowance_is_spent(opd_slot *slot)
{
    return __builtin_expect(slot->is_spent != 0, 0) && opd_allowance_is_still_spent(slot);
}

#endif
