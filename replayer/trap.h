/* SPDX-License-Identifier: Apache-2.0 */
/* Signals of the worker: who faulted where, written into the job with async-signal-safe means, and the clock of one run. */
#ifndef OPD_REPLAYER_TRAP_H
#define OPD_REPLAYER_TRAP_H

#include <time.h>

#include "job.h"

/* Installs the handlers (process-wide, on an alternate stack of this thread). */
void opd_trap_install(opd_job *job);
/* Nanoseconds by that clock. */
uint64_t opd_trap_time(clockid_t clock);
/* Notes when the routine is entered, for who waits. */
void opd_trap_begin(void);
/* Starts or (0) stops the clock of one run; when it rings the run counts as hanging, with the place where it hangs. */
void opd_trap_clock(uint32_t timeout_ms);

#endif
