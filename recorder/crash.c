/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On a fatal signal: note address, code and place in the process header, give the disposition back and return, so that
 * the signal strikes again and the process ends as it would have. Programs that install their own handlers replace ours.
 */
#include "crash.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "modules.h"

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

static void note_crash(int signal, const siginfo_t *info, const void *context)
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
        return;
    }
    crash->signal = signal;
    crash->code = info->si_code;
    crash->tid = (uint32_t)syscall(SYS_gettid);
    crash->address = info->si_code > 0 ? (uint64_t)(uintptr_t)info->si_addr : 0;
    crash->pc = pc_of(context);
    struct dl_find_object object;
    if (opd_module_find(&object, (const void *)(uintptr_t)crash->pc)) {
        crash->module_start = (uint64_t)object.dlfo_link_map->l_addr;
        strncpy(crash->module, opd_module_path(&object), sizeof(crash->module) - 1);
    }
    atomic_store(&crash->is_set, 2);
}

static void on_fatal(int signal, siginfo_t *info, void *context)
{
    sigjmp_buf *escape = opd_thread.escape;
    if (escape != NULL && info->si_code > 0 && (signal == SIGSEGV || signal == SIGBUS)) {
        opd_thread.escape = NULL;
        siglongjmp(*escape, 1); /* SA_NODEFER: the signal is not blocked here */
    }
    int saved = errno;
    note_crash(signal, info, context);
    struct sigaction action = { .sa_handler = SIG_DFL };
    sigaction(signal, &action, NULL);
    if (info->si_code <= 0) { /* sent, not caused: it would not come again by itself */
        syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), signal);
    }
    errno = saved;
}

void opd_crash_install(void)
{
    struct sigaction action = { .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    action.sa_sigaction = on_fatal;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < OPD_COUNT(fatal_signals); i++) {
        struct sigaction old;
        if (sigaction(fatal_signals[i], NULL, &old) == 0 && (old.sa_flags & SA_SIGINFO) == 0 &&
            old.sa_handler == SIG_DFL) {
            sigaction(fatal_signals[i], &action, NULL);
        }
    }
}
