/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's own life: it sleeps on the session's futex, makes its rounds, and stops when the program has ended. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector.h"

#define VERIFY_MS 20

static atomic_bool has_request;

void opd_collector_request(void)
{
    atomic_store(&has_request, true);
}

/* --------------------------------------------------------------------------------------------------- waiting */

/* A thread that waits for the program's end and then wakes the collector, which sleeps on the session's futex. */
typedef struct ending {
    int pid;
    bool is_child;
    opd_control *control;
    _Atomic bool has_ended;
} ending;

static void futex_wake(opd_control *control)
{
    atomic_fetch_add(&control->wake, 1);
    syscall(SYS_futex, &control->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void *wait_for_end(void *context)
{
    ending *waiter = context;
    siginfo_t info;
    if (waiter->is_child) {
        while (waitid(P_PID, (id_t)waiter->pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
        }
    } else {
        struct pollfd end = { .fd = (int)syscall(SYS_pidfd_open, waiter->pid, 0), .events = POLLIN };
        while (end.fd >= 0 && poll(&end, 1, -1) < 0 && errno == EINTR) {
        }
        if (end.fd >= 0) {
            close(end.fd);
        }
    }
    atomic_store(&waiter->has_ended, true);
    futex_wake(waiter->control);
    return NULL;
}

static void sleep_until_woken(opd_control *control, uint32_t seen, uint32_t timeout_ms)
{
    struct timespec timeout = { .tv_sec = timeout_ms / 1000, .tv_nsec = (long)(timeout_ms % 1000) * 1000000 };
    atomic_store(&control->is_waiting, 1);
    syscall(SYS_futex, &control->wake, FUTEX_WAIT, seen, &timeout, NULL, 0);
    atomic_store(&control->is_waiting, 0);
}

/* Seldom enough to cost nothing; often while it is open whether the recorder is there at all. */
static uint32_t round_period_ms(const opd_collector *collector)
{
    const opd_control *control = collector->control;
    uint32_t period = collector->has_calls ? 1000 : 50;
    if (control->verify != 0) {
        period = VERIFY_MS; /* laps take the operands of the calls away */
    }
    if ((control->triggers & OPD_TRIGGER_TIMEOUT) != 0 && control->timeout_ms / 4 < period) {
        period = control->timeout_ms / 4 > 0 ? control->timeout_ms / 4 : 1;
    }
    return period;
}

/* Should no thread start, the end is looked for every 10 ms. */
int opd_collector_follow(opd_collector *collector, bool is_child)
{
    ending waiter = { .pid = collector->main_pid, .is_child = is_child, .control = collector->control };
    pthread_t thread;
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* signals are for this thread */
    bool has_thread = pthread_create(&thread, NULL, wait_for_end, &waiter) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    while (!atomic_load(&waiter.has_ended)) {
        uint32_t seen = atomic_load(&collector->control->wake);
        opd_collector_round(collector);
        opd_explain_look(collector);
        opd_requests_serve(collector, atomic_exchange(&has_request, false));
        if (!has_thread && opd_session_start_time(collector->main_pid) == 0) {
            break;
        }
        if (!atomic_load(&waiter.has_ended)) {
            sleep_until_woken(collector->control, seen, has_thread ? round_period_ms(collector) : 10);
        }
    }
    if (has_thread) {
        pthread_join(thread, NULL);
    }
    int status = is_child ? 0 : OPD_STATUS_UNKNOWN;
    while (is_child && waitpid(collector->main_pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

void opd_collector_finish_all(opd_collector *collector, int wait_status)
{
    atomic_store(&collector->control->state, OPD_SESSION_CLOSED);
    opd_collector_scan(collector);
    for (opd_watched *watched = collector->first; watched != NULL; watched = watched->next) {
        if (!watched->is_done) {
            bool is_last_image = watched->pid == collector->main_pid && !opd_collector_is_replaced(collector, watched);
            int other = opd_collector_is_replaced(collector, watched) ? 0 : OPD_STATUS_UNKNOWN;
            opd_collector_finish(collector, watched, is_last_image ? wait_status : other);
        }
    }
    opd_verify_finish(collector);
    uint32_t refused = atomic_load(&collector->control->refused);
    if (refused > 0) {
        opd_collector_trouble(collector, "%u process image%s found no room for calls and had none recorded", refused,
                              refused == 1 ? "" : "s");
    }
}
