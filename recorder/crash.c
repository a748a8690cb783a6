/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On a fatal signal: note address, code and place in the process header, give the disposition back and return, so that
 * the signal strikes again and the process ends as it would have. Programs that install their own handlers replace ours;
 * if theirs ends the process from inside a routine, its exit notes what can be told from the stack.
 */
#include "crash.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "calls.h"
#include "modules.h"
#include "standing.h"
#include "wreck.h"

/* Reading an operand needs no more stack than this. */
#define READER_STACK 16384u

#define SIGNAL_STACK 49152u

/* A thread that crashes while another one's crash is written down waits so long. */
#define TELL_MS 2000u

static _Atomic uint32_t is_told;
volatile sig_atomic_t opd_crash_guards;
static volatile sig_atomic_t replaced[2]; /* SIGSEGV, SIGBUS: not ours */

static const int fatal_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };

static uint64_t pc_of(const void *context)
{
#if defined(__x86_64__)
    const ucontext_t *machine = context;
    return (uint64_t)machine->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    const ucontext_t *machine = context;
    return machine->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

static uint64_t sp_of(const void *context)
{
#if defined(__x86_64__)
    const ucontext_t *machine = context;
    return (uint64_t)machine->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    const ucontext_t *machine = context;
    return machine->uc_mcontext.sp;
#else
    (void)context;
    return 0;
#endif
}

static void note_crash(const opd_fault *fault, int code, bool is_exit)
{
    opd_here *here = &opd_recorder;
    if (here->pid == getpid()) {
        opd_here_attach(); /* of a forked child that made no call nothing is noted */
    }
    if (atomic_load(&here->guard->epoch) <= 1 || here->process == NULL) {
        return;
    }
    opd_shared_crash *crash = &here->process->crash;
    uint32_t unset = 0;
    if (!atomic_compare_exchange_strong(&crash->is_set, &unset, 1)) {
        /* Another thread is telling; its own fault in there has priority over what it tells. */
        for (unsigned i = 0; i < TELL_MS && atomic_load(&is_told) == 0 && crash->tid != (uint32_t)syscall(SYS_gettid);
             i++) {
            const struct timespec pause = { .tv_nsec = 1000000 };
            syscall(SYS_nanosleep, &pause, NULL);
        }
        return;
    }
    crash->signal = fault->signal;
    crash->code = code;
    crash->tid = (uint32_t)syscall(SYS_gettid);
    crash->address = fault->address;
    crash->pc = fault->pc;
    crash->is_exit = is_exit;
    struct dl_find_object object;
    if (opd_module_find(&object, (const void *)(uintptr_t)crash->pc)) {
        crash->module_start = (uint64_t)object.dlfo_link_map->l_addr;
        strncpy(crash->module, opd_module_path(&object), sizeof(crash->module) - 1);
    }
    atomic_store(&crash->is_set, 2);
    opd_wreck_write(fault, code, fault->context);
    atomic_store(&is_told, 1);
}

/*
 * Does the fault belong to the reader that left this escape? One that a handler of the program jumped out of has left it
 * behind, and its stack is somebody else's. A wild address (SI_KERNEL) comes without the address.
 */
static bool is_of(const opd_escape *escape, const siginfo_t *info, const void *context)
{
    uint64_t frame = (uint64_t)(uintptr_t)escape;
    uint64_t sp = sp_of(context);
    uint64_t address = (uint64_t)(uintptr_t)info->si_addr;
    return frame - sp < READER_STACK &&
           (info->si_code == SI_KERNEL || (address >= escape->low && address < escape->high));
}

static void on_fatal(int signal, siginfo_t *info, void *context)
{
    opd_escape *escape = opd_thread.escape;
    if (escape != NULL && info->si_code > 0 && (signal == SIGSEGV || signal == SIGBUS) &&
        is_of(escape, info, context)) {
        opd_thread.escape = NULL;
        siglongjmp(escape->jump, 1); /* SA_NODEFER: the signal is not blocked here */
    }
    int saved = errno;
    opd_fault fault = { .signal = signal,
                        .address = info->si_code > 0 ? (uint64_t)(uintptr_t)info->si_addr : 0,
                        .pc = pc_of(context),
                        .context = context };
    note_crash(&fault, info->si_code, false);
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigaction(signal, &action, NULL);
    if (info->si_code <= 0) { /* sent, not caused: it would not come again by itself */
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
    }
    errno = saved;
}

void opd_crash_note_exit(void)
{
    opd_here *here = &opd_recorder;
    if (here->guard == NULL || atomic_load(&here->guard->epoch) <= 1 || here->process == NULL ||
        opd_here_is_quiet != 0 || here->pid != getpid()) {
        return;
    }
    opd_slot *slot = opd_thread.slot;
    opd_shared_crash *crash = &here->process->crash;
    opd_fault fault = { .signal = 0 };
    if (slot != NULL && opd_here_is_same()) {
        while (slot->depth > 0 && (slot->open[slot->depth - 1].flags & OPD_OPEN_BLAS) != 0 &&
               !opd_is_standing(slot->open[slot->depth - 1].frame, 0, slot, &fault)) {
            opd_calls_lose(slot);
        }
    }
    bool is_inside = slot != NULL && slot->depth > 0 && fault.signal != 0;
    if (is_inside) {
        note_crash(&fault, 0, true);
    } else if (atomic_load(&crash->is_set) == 2 && crash->tid == (uint32_t)syscall(SYS_gettid)) {
        atomic_store(&crash->is_set, 0); /* it lived on: a handler of the program had called ours, then recovered */
    }
    atomic_store(&here->process->is_ended, 1);
}

void opd_crash_replaced(int signal, const struct sigaction *action)
{
    opd_here *here = &opd_recorder;
    bool is_ours = (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == on_fatal;
    if ((signal != SIGSEGV && signal != SIGBUS) || here->guard == NULL) {
        return;
    }
    bool is_attached = atomic_load(&here->guard->epoch) > 1;
    if (is_attached && here->pid != getpid()) {
        return; /* the child of a vfork has our memory, but signals of its own */
    }
    replaced[signal == SIGBUS] = !is_ours;
    opd_crash_guards = replaced[0] == 0 && replaced[1] == 0;
    if (is_attached && here->process != NULL) {
        atomic_store(&here->process->handles_faults, opd_crash_guards == 0);
    }
}

/* What the kernel needs for the processor's state, and what a handler of the program may expect of a stack of the usual size. */
static size_t stack_bytes(void)
{
    size_t least = getauxval(AT_MINSIGSTKSZ);
    return ((least + SIGNAL_STACK) | 4095) + 1;
}

void opd_crash_take_stack(void)
{
    stack_t stack;
    size_t size = stack_bytes();
    int saved = errno;
    if (opd_here_is_quiet != 0 || opd_thread.signal_stack != NULL || sigaltstack(NULL, &stack) != 0 ||
        (stack.ss_flags & SS_DISABLE) == 0) {
        errno = saved;
        return;
    }
    uint8_t *start = mmap(NULL, size + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start != MAP_FAILED) { /* the lowest page stays shut */
        stack = (stack_t){ .ss_sp = start + 4096, .ss_size = size };
        if (mprotect(stack.ss_sp, size, PROT_READ | PROT_WRITE) == 0 && sigaltstack(&stack, NULL) == 0) {
            opd_thread.signal_stack = stack.ss_sp;
        } else {
            munmap(start, size + 4096);
        }
    }
    errno = saved;
}

void opd_crash_give_stack(void)
{
    stack_t stack;
    uint8_t *start = opd_thread.signal_stack;
    const stack_t none = { .ss_flags = SS_DISABLE };
    if (start == NULL || opd_here_is_quiet != 0) {
        return;
    }
    opd_thread.signal_stack = NULL;
    if (sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK) == 0 &&
        (stack.ss_sp != start || sigaltstack(&none, NULL) == 0)) {
        munmap(start - 4096, stack_bytes() + 4096);
    }
}

void opd_crash_install(void)
{
    struct sigaction action = { .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    action.sa_sigaction = on_fatal;
    sigemptyset(&action.sa_mask);
    replaced[0] = replaced[1] = 1;
    for (size_t i = 0; i < OPD_COUNT(fatal_signals); i++) {
        struct sigaction old;
        if (sigaction(fatal_signals[i], NULL, &old) == 0 && (old.sa_flags & SA_SIGINFO) == 0 &&
            old.sa_handler == SIG_DFL) {
            sigaction(fatal_signals[i], &action, NULL);
            opd_crash_replaced(fatal_signals[i], &action);
        }
    }
}
