/* SPDX-License-Identifier: Apache-2.0 */
/* Reading operands: at submission (digest, statistics, copy) and on return (outputs, what was born in them). */
#ifndef OPD_CAPTURE_H
#define OPD_CAPTURE_H

#include "allowance.h"
#include "here.h"
#include "verify.h"

/* Has this call of the thread its operands captured? (level, sampling) */
static inline bool opd_capture_wants(const opd_control *control, uint64_t number)
{
    return control->reads_operands != 0 && opd_here_is_quiet == 0 &&
           (opd_verify_wants(control, opd_thread.slot->tid, number) ||
            (control->capture > OPD_CAPTURE_META && (control->sample <= 1 || number % control->sample == 0))) &&
           !opd_allowance_is_spent(opd_thread.slot);
}

/* Reads the operands of call into the parts of the open record. call's operands have views and addresses. */
void opd_capture_before(opd_slot *slot, opd_open_call *open, const opd_call *call);

/* Scans the outputs, then fires the trigger that holds. result: bytes of the returned value, NULL = none. */
void opd_capture_after(opd_slot *slot, opd_open_call *open, const opd_call *call, const void *result);

#endif
