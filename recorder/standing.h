/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands on the calling thread's stack, told by unwinding it: stacks of signal handlers make addresses alone useless.
 * Async-signal-safe; microseconds, so only where a call was left without a return, or may have been.
 */
#ifndef OPD_STANDING_H
#define OPD_STANDING_H

#include <stdbool.h>
#include <stdint.h>

#include <opsdebug/bundle.h>

/* A fatal signal whose handler runs. signal 0: there is none. */
typedef struct opd_fault {
    int signal;
    uint64_t address, pc;
    const void *context; /* ucontext_t of the signal; NULL = not at hand */
} opd_fault;

/* What a page fault was for, by its context; UNKNOWN of other faults, and on processors other than x86-64. Async-signal-safe. */
opd_access opd_fault_access(const opd_fault *fault);

/*
 * Is the function of this object whose frame has the stack address `frame` among the callers? here: such an address of the
 * function that asks; 0 = none. Assembly that cannot be unwound is bridged: then what stands at frame must be mark.
 * fault (may be NULL): the fatal signal that came between it and here.
 */
bool opd_is_standing(uint64_t frame, uint64_t here, const void *mark, opd_fault *fault);

/* Does the word at a stack address hold mark? Cheap on here's own page; elsewhere the kernel looks, as it may be gone. */
bool opd_is_marked(uint64_t frame, uint64_t here, const void *mark);

#endif
