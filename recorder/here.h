/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recorder inside the recorded process: its mappings, the calling thread's slot, the clock. No thread, lock or
 * allocation; nothing is kept open; whatever fails, the process goes on unrecorded.
 */
#ifndef OPD_HERE_H
#define OPD_HERE_H

#include <signal.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "chunks.h"
#include "ring.h"
#include "session.h"

/* A private page that the kernel wipes in a forked child: the child then sees epoch 0 and attaches anew. */
typedef struct opd_guard_page {
    _Atomic uint64_t epoch; /* 0 = not attached, 1 = attaching, else the number of this attachment */
} opd_guard_page;

typedef struct opd_here {
    opd_guard_page *guard;
    opd_control *control; /* NULL = off */
    opd_process *process; /* valid while guard->epoch > 1; may be NULL: this process is not recorded */
    uint64_t file_bytes;
    int pid;
    char path[256]; /* of the process file */
} opd_here;
extern opd_here opd_recorder;

/* All the thread-local data there is, so that threads with the smallest stack start as before. */
typedef struct opd_thread_words {
    opd_slot *slot;
    uint64_t epoch;
    void *escape; /* sigjmp_buf: where a fault met while reading an operand goes; NULL = it is not ours */
    const struct opd_binding *given; /* left by a stub for the wrapper it jumps to */
    void *signal_stack;              /* ours, NULL = the program's or none */
} opd_thread_words;
/* The object is in memory from the start of a program, so these words are addressed directly. */
extern __thread opd_thread_words opd_thread __attribute__((tls_model("initial-exec")));

/* The program has shut itself in (seccomp): from now on no system call of ours may be its end. */
extern volatile sig_atomic_t opd_here_is_quiet;

/* Maps the session's control page, no more; false: recording stays off. */
bool opd_here_connect(const char *session);

/*
 * Attaches the process if it is not: takes a process file and maps it. A process that never gets here costs the session
 * nothing. false: not connected, or another thread is at it. opd_recorder.process tells whether it is recorded.
 */
bool opd_here_attach(void);

/* The program limits its address space to so many bytes: gives room back that it needs and calls have not come to use. */
void opd_here_yield_space(uint64_t limit);

/* The slow half of opd_here_slot: attaches the process (after fork) and the thread. NULL = not recorded. */
opd_slot *opd_here_attach_thread(void);

static inline opd_slot *opd_here_slot(void)
{
    const opd_thread_words *words = &opd_thread;
    if (__builtin_expect(words->slot != NULL &&
                             words->epoch == atomic_load_explicit(&opd_recorder.guard->epoch, memory_order_relaxed),
                         1)) {
        return words->slot;
    }
    return opd_here_attach_thread();
}

/* Was the call's thread attached in this very process? False in the child of a fork made inside a call. */
static inline bool opd_here_is_same(void)
{
    return opd_thread.epoch == atomic_load_explicit(&opd_recorder.guard->epoch, memory_order_relaxed);
}

static inline uint64_t opd_here_ticks(void)
{
#if defined(__x86_64__)
    if (__builtin_expect(opd_recorder.control->has_tsc != 0, 1)) {
        return __rdtsc();
    }
#endif
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Control bits of the thread's floating-point mode; 0 where there is no MXCSR. A store and a load: no serialisation. */
static inline uint32_t opd_here_mxcsr(void)
{
#if defined(__x86_64__)
    return _mm_getcsr() & OPD_MXCSR_CONTROL;
#else
    return 0;
#endif
}

/* The floating-point mode with its sticky flags, as it must be when a scan is left by a jump. */
static inline uint32_t opd_here_floating(void)
{
#if defined(__x86_64__)
    return _mm_getcsr();
#else
    return 0;
#endif
}

static inline void opd_here_set_floating(uint32_t mode)
{
#if defined(__x86_64__)
    _mm_setcsr(mode);
#else
    (void)mode;
#endif
}

/* No handler of the program may jump out of the loader, or of what is done once only: all but faults wait. */
void opd_here_hold_signals(sigset_t *old);
void opd_here_release_signals(const sigset_t *old);

/* Pages made present, by the kernel or by allocating the file's blocks; never a fault. */
bool opd_here_populate(void *start, uint64_t bytes);

/* Is this process attached, and recorded? Attaches nothing. */
bool opd_here_is_attached(void);

/* A seed by the generator's name, in place of the one before; a generator whose state lies at address. false: no room. */
bool opd_shown_keep(opd_process *process, const char *name, uint64_t seed);
bool opd_shown_watch(opd_process *process, const char *name, const void *address, uint32_t bytes);
/*
 * The same for a process that is not attached yet, and never will be if it makes no call: address NULL is a seed. name stays. Entered by
 * opd_shown_enter_early when it is attached.
 */
void opd_shown_note_early(const char *name, const void *address, uint32_t bytes, uint64_t seed);
void opd_shown_enter_early(opd_process *process);
/* Notes such seeds in the ring of the first thread that is attached. */
void opd_shown_tell_early(opd_slot *slot);
/* Those of all, before a trigger fires. */
void opd_shown_take_all(opd_process *process);
/* After a fork: the child's generators lie where the parent's do. */
void opd_shown_copy(opd_process *to, opd_process *from);

/* Tells the collector that there is something to do; a system call only when it sleeps. */
void opd_here_wake(void);

/* Is the collector gone? (A system call: for slow paths.) */
bool opd_here_is_orphan(void);

/* A step of the hash by which tables of this process find their place; not for files. */
static inline uint64_t opd_mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

#endif
