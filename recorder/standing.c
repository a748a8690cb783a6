/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwinding with libgcc, linked in: the program gets no library it did not ask for. A handler's frame tells which signal
 * it is for by what the kernel saved: the trap, and the mask before, which lacks what the handler's entry has blocked.
 * sources   Linux arch/x86/kernel/signal_64.c (struct rt_sigframe); Intel SDM volume 3, table 6-1 (vectors)
 */
#include "standing.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <opsdebug/memory.h>

#include "modules.h"

typedef struct walk {
    uint64_t frame, here;
    struct dl_find_object own;
    uint64_t low; /* stack pointer of the function before */
    bool is_own;  /* it is of this object */
    bool
        has_met; /* the frame of who asks: further in is the recorder at work, whose frames may lie where one was left */
    bool is_found;
    opd_fault fault;
} walk;

static bool is_own(const walk *at, uint64_t ip)
{
    return ip >= (uintptr_t)at->own.dlfo_map_start && ip < (uintptr_t)at->own.dlfo_map_end;
}

#if defined(__x86_64__)
/* Signals by the trap that causes them. A division by zero has trap 0, as no trap has: the mask alone tells it. */
static const struct {
    int trap, signal;
} traps[] = { { 14, SIGSEGV }, { 13, SIGSEGV }, { 12, SIGSEGV }, { 14, SIGBUS },
              { 17, SIGBUS },  { 6, SIGILL },   { 16, SIGFPE },  { 19, SIGFPE } };

static int signal_of(const ucontext_t *before)
{
    static const int fatal_signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
    int trap = (int)before->uc_mcontext.gregs[REG_TRAPNO];
    int count = 0;
    int only = 0;
    sigset_t now;
    sigemptyset(&now);
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    for (int number = 1; number < 32; number++) {
        count += sigismember(&now, number) == 1 && sigismember(&before->uc_sigmask, number) == 0;
    }
    for (size_t i = 0; i < OPD_COUNT(traps); i++) {
        int number = traps[i].signal;
        bool is_blocked = sigismember(&now, number) == 1 && sigismember(&before->uc_sigmask, number) == 0;
        if (traps[i].trap == trap && (is_blocked || count == 0)) { /* none blocked: SA_NODEFER */
            return number;
        }
    }
    for (size_t i = 0; count == 1 && i < OPD_COUNT(fatal_signals); i++) {
        int number = fatal_signals[i];
        bool is_blocked = sigismember(&now, number) == 1 && sigismember(&before->uc_sigmask, number) == 0;
        only = is_blocked ? number : only;
    }
    return only;
}

/* The code that a handler returns to: the stack pointer there is that of the context which the kernel saved. */
static bool note_signal(walk *at, uint64_t ip, uint64_t sp)
{
    static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05 }; /* mov $rt_sigreturn, %rax; syscall */
    const ucontext_t *before = (const ucontext_t *)(uintptr_t)sp;
    struct dl_find_object object; /* the outermost frame returns to nowhere */
    if (!opd_module_find(&object, (const void *)(uintptr_t)ip) ||
        memcmp((const void *)(uintptr_t)ip, code, sizeof(code)) != 0) {
        return false;
    }
    at->fault = (opd_fault){ .signal = signal_of(before),
                             .pc = (uint64_t)before->uc_mcontext.gregs[REG_RIP],
                             .context = before };
    if (before->uc_mcontext.gregs[REG_TRAPNO] == 14) {
        at->fault.address = (uint64_t)before->uc_mcontext.gregs[REG_CR2];
    }
    at->low = (uint64_t)before->uc_mcontext.gregs[REG_RSP];
    at->is_own = is_own(at, at->fault.pc);
    return true;
}
#else
static bool note_signal(walk *at, uint64_t ip, uint64_t sp)
{
    (void)at;
    (void)ip;
    (void)sp;
    return false;
}
#endif

static _Unwind_Reason_Code look(struct _Unwind_Context *context, void *argument)
{
    walk *at = argument;
    uint64_t ip = _Unwind_GetIP(context);
    uint64_t sp = _Unwind_GetCFA(context);
    bool is_asking = at->low <= at->here && at->here < sp;
    at->has_met = at->has_met || is_asking;
    if (at->is_own && at->has_met && !is_asking && at->low <= at->frame && at->frame < sp) {
        at->is_found = true;
        return _URC_NORMAL_STOP;
    }
    if (!note_signal(at, ip, sp)) {
        at->low = sp;
        at->is_own = is_own(at, ip);
    }
    return _URC_NO_REASON;
}

bool opd_is_marked(uint64_t frame, uint64_t here, const void *mark)
{
    void *found = NULL;
    if (frame / 4096 == here / 4096 && frame % 4096 <= 4096 - sizeof(found)) {
        memcpy(&found, (const void *)(uintptr_t)frame, sizeof(found));
        return found == mark;
    }
    if (opd_here_is_quiet != 0) {
        return frame > here;
    }
    int saved = errno;
    struct iovec local = { &found, sizeof(found) };
    struct iovec remote = { (void *)(uintptr_t)frame, sizeof(found) };
    bool is_read = process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)sizeof(found);
    bool is_unknown = !is_read && errno != EFAULT;
    errno = saved;
    return is_unknown ? frame > here : found == mark;
}

opd_access opd_fault_access(const opd_fault *fault)
{
#if defined(__x86_64__)
    const ucontext_t *context = fault->context;
    if (context != NULL && context->uc_mcontext.gregs[REG_TRAPNO] == 14) {
        long long error = context->uc_mcontext.gregs[REG_ERR]; /* bit 1 write, 4 fetch */
        return (error & 16) != 0 ? OPD_ACCESS_EXECUTE : (error & 2) != 0 ? OPD_ACCESS_WRITE : OPD_ACCESS_READ;
    }
#else
    (void)fault;
#endif
    return OPD_ACCESS_UNKNOWN;
}

bool opd_is_standing(uint64_t frame, uint64_t here, const void *mark, opd_fault *fault)
{
    walk at = { .frame = frame, .here = here };
    if (!opd_module_find(&at.own, (const void *)(uintptr_t)&opd_is_standing)) {
        return false;
    }
    _Unwind_Backtrace(look, &at);
    if (fault != NULL) {
        *fault = at.fault;
    }
    return at.is_found || (at.low <= frame && opd_is_marked(frame, 0, mark)); /* it did not come that far up */
}
