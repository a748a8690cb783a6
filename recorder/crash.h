/* SPDX-License-Identifier: Apache-2.0 */
/* Context of a crash, noted by a handler in the process that crashes. */
#ifndef OPD_CRASH_H
#define OPD_CRASH_H

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Where a fault goes that is met while an operand is read, and the memory it must be in. Lies in the reader's frame. */
typedef struct opd_escape {
    sigjmp_buf jump;
    uint64_t low, high;
} opd_escape;

/* Our handler stands for SIGSEGV and SIGBUS: opd_thread.escape works. */
extern volatile sig_atomic_t opd_crash_guards;

/* Installs the handlers for fatal signals that have none. */
void opd_crash_install(void);

/*
 * Gives the calling thread a signal stack if it has none, so that an overflow of its own stack is told; handlers of the program
 * that ask for one (SA_ONSTACK) run there too. Taken back when the thread ends.
 */
void opd_crash_take_stack(void);
void opd_crash_give_stack(void);

/* The program sets a disposition of its own, or gives ours back. */
void opd_crash_replaced(int signal, const struct sigaction *action);

/* The process is about to end in order: a crash if that is what a handler of the program does inside a routine. */
void opd_crash_note_exit(void);

#endif
