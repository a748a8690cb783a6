/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal handlers of the worker. The raw facts are stored and the stage is set before anything that could itself get stuck (the
 * symbol lookup takes the loader's lock); the parent reads them whatever happens after.
 */
#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "trap.h"

#define STACK_BYTES 65536

static opd_job *trap_job;
static pid_t main_tid;
static timer_t trap_timer;
static bool has_timer;

static void copy_name(char *to, size_t size, const char *from)
{
    size_t length = 0;
    while (from[length] != '\0' && length + 1 < size) {
        to[length] = from[length];
        length++;
    }
    to[length] = '\0';
}

/* dladdr allocates nothing and takes a recursive lock that no thread holds while a routine runs. */
static void name_place(opd_job_fault *fault)
{
    Dl_info info;
    if (fault->pc == 0 || dladdr((void *)(uintptr_t)fault->pc, &info) == 0) {
        return;
    }
    fault->object_base = (uint64_t)(uintptr_t)info.dli_fbase;
    if (info.dli_fname != NULL) {
        const char *name = info.dli_fname;
        for (const char *at = name; *at != '\0'; at++) {
            name = *at == '/' ? at + 1 : name;
        }
        copy_name(fault->object, sizeof fault->object, name);
    }
    if (info.dli_sname != NULL) {
        copy_name(fault->symbol, sizeof fault->symbol, info.dli_sname);
        fault->symbol_base = (uint64_t)(uintptr_t)info.dli_saddr;
    }
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    static _Atomic int entered;
    opd_job *job = trap_job;
    if (atomic_exchange(&entered, 1) != 0) {
        /* A second thread faults meanwhile, or the handler itself: the first one's facts stand. */
        if (number == SIGALRM) {
            return;
        }
        for (;;) {
            pause();
        }
    }
    opd_job_fault *fault = &job->fault;
    fault->tid = (int32_t)syscall(SYS_gettid);
    fault->is_main_thread = fault->tid == main_tid;
    fault->code = info->si_code;
    if (number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE) {
        fault->address = (uint64_t)(uintptr_t)info->si_addr;
    }
#if defined(__x86_64__)
    const ucontext_t *state = context;
    fault->pc = (uint64_t)state->uc_mcontext.gregs[REG_RIP];
    fault->error = (uint64_t)state->uc_mcontext.gregs[REG_ERR];
    fault->has_error = number == SIGSEGV || number == SIGBUS;
#elif defined(__aarch64__)
    const ucontext_t *state = context;
    fault->pc = state->uc_mcontext.pc;
#else
    (void)context;
#endif
    fault->signal = number;
    job->fault_stage = atomic_load(&job->stage);
    atomic_store(&job->stage, OPD_STAGE_FAULTED);
    name_place(fault);
    _exit(0);
}

void opd_trap_install(opd_job *job)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS, SIGALRM };
    static uint8_t stack[STACK_BYTES];
    stack_t alternate = { .ss_sp = stack, .ss_size = sizeof stack };
    struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };
    trap_job = job;
    main_tid = (pid_t)syscall(SYS_gettid);
    sigaltstack(&alternate, NULL);
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < OPD_COUNT(signals); i++) {
        sigaction(signals[i], &action, NULL);
    }
    if (!has_timer) {
        struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM };
        event._sigev_un._tid = main_tid;
        clockid_t clock = job->is_timeout_cpu ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
        has_timer = timer_create(clock, &event, &trap_timer) == 0;
    }
}

uint64_t opd_trap_time(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void opd_trap_begin(void)
{
    atomic_store(&trap_job->armed_ns, opd_trap_time(CLOCK_MONOTONIC));
    if (trap_job->is_timeout_cpu) {
        atomic_store(&trap_job->armed_cpu_ns, opd_trap_time(CLOCK_PROCESS_CPUTIME_ID));
    }
}

void opd_trap_clock(uint32_t timeout_ms)
{
    struct itimerspec when = { .it_value = { .tv_sec = timeout_ms / 1000,
                                             .tv_nsec = (long)(timeout_ms % 1000) * 1000000 } };
    if (has_timer) {
        timer_settime(trap_timer, 0, &when, NULL);
    }
}
