/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Has memory been written to since it was last read? The kernel tells (userfaultfd with asynchronous write protection and PAGEMAP_SCAN, Linux 6.7
 * or newer): no signal handler, no waiting, and writes of the kernel itself count.
 *
 * Watched are private anonymous mappings only. A watched page is written to once more slowly, by a fault that the kernel resolves itself. Off
 * for the whole process where memory may be written past the page tables: io_uring, RDMA or a GPU is there; and where a userfaultfd is.
 */
#ifndef OPD_WRITES_H
#define OPD_WRITES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A generation is one time of watching; it never comes again. */
#define OPD_WRITE_RANGES 1024u
typedef struct opd_write_range {
    _Atomic uint64_t generation; /* 0 = nothing is watched here */
    _Atomic uint64_t start, end;
} opd_write_range;

typedef enum opd_writes_state { OPD_WRITES_UNTRIED, OPD_WRITES_ON, OPD_WRITES_OFF } opd_writes_state;
typedef struct opd_writes {
    _Atomic uint32_t state; /* opd_writes_state */
    _Atomic uint32_t busy;  /* one thread at a time begins or ends watching; others do not wait */
    uint64_t generations;
    char why_off[96];
    opd_write_range ranges[OPD_WRITE_RANGES];
} opd_writes;

/* Nothing is watched, and the kernel is to be asked anew: a child has watched nothing. No other thread uses it meanwhile. */
void opd_writes_reset(opd_writes *writes);

/* Which time of watching. range 0 = none. */
typedef struct opd_watch {
    uint64_t range; /* index + 1 */
    uint64_t generation;
} opd_watch;

/*
 * Watches whole pages [start, end) from now on. What is read after it and found unwritten later is what was there all the time. false: this
 * memory cannot be watched, or not now.
 */
bool opd_writes_watch(opd_watch *watch, opd_writes *writes, uint64_t start, uint64_t end);

/* Was there no write since, and is all of it still there? false also when it is not known. */
bool opd_writes_none(opd_writes *writes, const opd_watch *watch);

/* Ends that time of watching. */
void opd_writes_drop(opd_writes *writes, const opd_watch *watch);

/* Never again in this process; what is watched stays so. */
void opd_writes_disable(opd_writes *writes, const char *why);

/*
 * Never again in this process, and nothing is watched any more: the memory is free for a userfaultfd of the program. false: it is the recorder
 * itself that asks for one here, or the process has watched nothing (a child that has not attached).
 */
bool opd_writes_give_way(opd_writes *writes, const char *why);

#endif
