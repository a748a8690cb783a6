/* SPDX-License-Identifier: Apache-2.0 */
/* Crashes that the program survives: its own handler of a fatal signal leaves the routine by a jump. */
#ifndef OPD_SURVIVED_H
#define OPD_SURVIVED_H

/*
 * The calling thread is about to jump. If a handler of a fatal signal does it inside a routine, the call ends here as crashed, is counted, and the
 * trigger for crashes fires. Async-signal-safe; a load and a comparison where no call is open.
 */
void opd_survived_note(void);

#endif
