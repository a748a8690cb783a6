/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of the C library that the preloaded object passes on and takes note of: who handles faults, and that the
 * process ends. What does not come this way (system calls of the program's own) costs context, never a call.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <opsdebug/status.h>

#include "crash.h"

typedef int sigaction_function(int number, const struct sigaction *action, struct sigaction *old);
typedef __sighandler_t signal_function(int number, __sighandler_t handler);
typedef void exit_function(int status);

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

/* Before anything can be a handler's: dlsym is not for them. */
static void find_true(void)
{
    if (true_exit.object == NULL) {
        true_sigaction.object = dlsym(RTLD_NEXT, "sigaction");
        true_signal.object = dlsym(RTLD_NEXT, "signal");
        true_exit.object = dlsym(RTLD_NEXT, "_exit");
    }
}

__attribute__((constructor)) static void prepare(void)
{
    find_true();
}

OPD_PUBLIC int sigaction(int number, const struct sigaction *action, struct sigaction *old)
{
    find_true();
    int status = true_sigaction.function(number, action, old);
    if (status == 0 && action != NULL) {
        opd_crash_replaced(number, action);
    }
    return status;
}

OPD_PUBLIC __sighandler_t signal(int number, __sighandler_t handler)
{
    find_true();
    __sighandler_t old = true_signal.function(number, handler);
    if (old != SIG_ERR) {
        struct sigaction action = { .sa_handler = handler };
        opd_crash_replaced(number, &action);
    }
    return old;
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
