/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the C library that the preloaded object passes on and takes note of: who handles faults, that the program
 * is about to forbid itself system calls or address space, and that the process ends. What does not come this way (system calls of the program's own) costs context, never a call.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <opsdebug/memory.h>
#include <opsdebug/record.h>
#include <opsdebug/status.h>

#include "crash.h"
#include "here.h"

typedef int sigaction_function(int number, const struct sigaction *action, struct sigaction *old);
typedef __sighandler_t signal_function(int number, __sighandler_t handler);
typedef int prctl_function(int option, ...);
typedef void exit_function(int status);
typedef int prlimit_function(pid_t pid, __rlimit_resource_t resource, const struct rlimit *limits, struct rlimit *old);

static union {
    void *object;
    sigaction_function *function;
} true_sigaction;
static union {
    void *object;
    signal_function *function;
} true_signal;

static union {
    void *object;
    exit_function *function;
} true_exit;

static union {
    void *object;
    prctl_function *function;
} true_prctl;

static union {
    void *object;
    prlimit_function *function;
} true_prlimit;

/* Before anything can be a handler's: dlsym is not for them. */
static void find_true(void)
{
    if (true_exit.object == NULL) {
        true_sigaction.object = dlsym(RTLD_NEXT, "sigaction");
        true_signal.object = dlsym(RTLD_NEXT, "signal");
        true_prctl.object = dlsym(RTLD_NEXT, "prctl");
        true_prlimit.object = dlsym(RTLD_NEXT, "prlimit");
        true_exit.object = dlsym(RTLD_NEXT, "_exit");
    }
}

__attribute__((constructor)) static void prepare(void)
{
    find_true();
}

OPD_PUBLIC int sigaction(int sig, const struct sigaction *act, struct sigaction *oact)
{
    find_true();
    int status = true_sigaction.function(sig, act, oact);
    if (status == 0 && act != NULL) {
        opd_crash_replaced(sig, act);
    }
    return status;
}

OPD_PUBLIC __sighandler_t signal(int sig, __sighandler_t handler)
{
    find_true();
    __sighandler_t old = true_signal.function(sig, handler);
    if (old != SIG_ERR) {
        struct sigaction action = { .sa_handler = handler };
        opd_crash_replaced(sig, &action);
    }
    return old;
}

OPD_PUBLIC int prctl(int option, ...)
{
    unsigned long words[4];
    va_list rest;
    va_start(rest, option);
    for (size_t i = 0; i < OPD_COUNT(words); i++) {
        words[i] = va_arg(rest, unsigned long); /* as many as the kernel takes, whatever was given */
    }
    va_end(rest);
    find_true();
    if (option == PR_SET_SECCOMP || option == PR_SET_NO_NEW_PRIVS) { /* the second goes before any filter of a user's */
        opd_here_is_quiet = 1;
    }
    bool is_strict = option == PR_SET_SECCOMP && words[0] == SECCOMP_MODE_STRICT;
    if (is_strict || (option == PR_SET_TSC && words[0] == PR_TSC_SIGSEGV)) {
        opd_record_enabled = false; /* not even the clock may be read any more */
    }
    return true_prctl.function(option, words[0], words[1], words[2], words[3]);
}

/* setrlimit of the C library is this too. The limits of 64 bits have the same layout where these are the only ones. */
OPD_PUBLIC int prlimit(pid_t pid, __rlimit_resource_t resource, const struct rlimit *new_limit,
                       struct rlimit *old_limit)
{
    _Static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64), "one layout");
    find_true();
    int status = true_prlimit.function(pid, resource, new_limit, old_limit);
    if (status == 0 && new_limit != NULL && resource == RLIMIT_AS && new_limit->rlim_cur != RLIM_INFINITY &&
        (pid == 0 || pid == getpid())) {
        int saved = errno;
        opd_here_yield_space(new_limit->rlim_cur);
        errno = saved;
    }
    return status;
}

OPD_PUBLIC int prlimit64(pid_t pid, __rlimit_resource_t resource, const struct rlimit64 *new_limit,
                         struct rlimit64 *old_limit)
{
    return prlimit(pid, resource, (const struct rlimit *)new_limit, (struct rlimit *)old_limit);
}

OPD_PUBLIC int setrlimit(__rlimit_resource_t resource, const struct rlimit *rlimits)
{
    return prlimit(0, resource, rlimits, NULL);
}

OPD_PUBLIC int setrlimit64(__rlimit_resource_t resource, const struct rlimit64 *rlimits)
{
    return prlimit64(0, resource, rlimits, NULL);
}

OPD_PUBLIC void _exit(int status)
{
    find_true();
    opd_crash_note_exit();
    true_exit.function(status);
    __builtin_unreachable();
}

OPD_PUBLIC void _Exit(int status)
{
    _exit(status);
}
