/* SPDX-License-Identifier: Apache-2.0 */
/* `ops-debug record`: session, program, rounds of the collector until the program ends, report. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collector.h"
#include "trigger.h"

/* ------------------------------------------------------------------------------------------ signals from outside */

static volatile sig_atomic_t program_pid;
static volatile sig_atomic_t has_request;

static void pass_on(int signal, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    /* What the terminal sends reaches the program by itself. */
    if (info->si_code != SI_KERNEL && program_pid > 0) {
        kill((pid_t)program_pid, signal);
    }
    errno = saved;
}

static void note_request(int signal)
{
    (void)signal;
    has_request = 1;
}

static const int passed_signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 };
#define PASSED_COUNT OPD_COUNT(passed_signals)

/* SIGUSR2 asks for a bundle now; the others go to the program. */
static void take_signals(struct sigaction old[PASSED_COUNT + 1])
{
    struct sigaction action = { .sa_flags = SA_SIGINFO | SA_RESTART };
    action.sa_sigaction = pass_on;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < PASSED_COUNT; i++) {
        sigaction(passed_signals[i], &action, &old[i]);
    }
    struct sigaction request = { .sa_handler = note_request };
    sigemptyset(&request.sa_mask);
    sigaction(SIGUSR2, &request, &old[PASSED_COUNT]);
}

static void give_signals_back(const struct sigaction old[PASSED_COUNT + 1])
{
    for (size_t i = 0; i < PASSED_COUNT; i++) {
        sigaction(passed_signals[i], &old[i], NULL);
    }
    sigaction(SIGUSR2, &old[PASSED_COUNT], NULL);
}

static void fire_requests(opd_collector *collector)
{
    has_request = 0;
    opd_shared_trigger trigger = { .outcome = OPD_OUTCOME_REQUESTED,
                                   .slot = OPD_PROCESS_THREADS,
                                   .operand = -1,
                                   .ticks = opd_now_ticks(collector->control->has_tsc),
                                   .element = -1,
                                   .reason = "asked for by a signal to the collector" };
    for (opd_watched *watched = collector->first; watched != NULL; watched = watched->next) {
        if (!watched->is_done) {
            trigger.tid = (uint32_t)watched->pid;
            opd_trigger_fire(collector->control, watched->process, &trigger);
        }
    }
}

/* --------------------------------------------------------------------------------------------------- waiting */

/* A thread that waits for the program's end and then wakes the collector, which sleeps on the session's futex. */
typedef struct ending {
    int pid;
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
    while (waitid(P_PID, (id_t)waiter->pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
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
    if ((control->triggers & OPD_TRIGGER_TIMEOUT) != 0 && control->timeout_ms / 4 < period) {
        period = control->timeout_ms / 4 > 0 ? control->timeout_ms / 4 : 1;
    }
    return period;
}

/* Rounds until the program has ended; its wait status. */
static int follow(opd_collector *collector)
{
    ending waiter = { .pid = collector->main_pid, .control = collector->control };
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
        if (!collector->has_calls) {
            opd_explain_look(collector);
        }
        if (has_request) {
            fire_requests(collector);
            continue;
        }
        siginfo_t info = { .si_pid = 0 };
        if (!has_thread && waitid(P_PID, (id_t)collector->main_pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
            info.si_pid != 0) {
            break;
        }
        if (!atomic_load(&waiter.has_ended)) {
            sleep_until_woken(collector->control, seen, has_thread ? round_period_ms(collector) : 10);
        }
    }
    if (has_thread) {
        pthread_join(thread, NULL);
    }
    int status = 0;
    while (waitpid(collector->main_pid, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------- the command */

/* Makes the folder of the bundles, parents included, and gives its absolute path. */
static opd_status make_out(char *absolute, size_t size, const char *out)
{
    char path[4096];
    size_t length = strlen(out);
    bool is_single = length > strlen(OPD_SUFFIX) && strcmp(out + length - strlen(OPD_SUFFIX), OPD_SUFFIX) == 0;
    if (snprintf(path, sizeof(path), "%s%s", out, is_single ? "" : "/") >= (int)sizeof(path)) {
        return opd_fail(OPD_E_INVALID, "the output path is longer than %zu bytes", sizeof(path));
    }
    for (char *at = path + 1; *at != '\0'; at++) {
        if (*at == '/') {
            *at = '\0';
            if (mkdir(path, 0777) != 0 && errno != EEXIST) {
                return opd_fail(OPD_E_IO, "%s: %s", path, strerror(errno));
            }
            *at = '/';
        }
    }
    char *slash = strrchr(path, '/');
    char directory[4096] = ".";
    const char *name = is_single ? out : "";
    if (slash != NULL) {
        name = is_single ? strrchr(out, '/') + 1 : "";
        snprintf(directory, sizeof(directory), "%.*s", slash == path ? 1 : (int)(slash - path), path);
    }
    char real[4096];
    struct stat status;
    if (realpath(directory, real) == NULL || stat(real, &status) != 0) {
        return opd_fail(OPD_E_IO, "%s: %s", directory, strerror(errno));
    }
    if (!S_ISDIR(status.st_mode)) {
        return opd_fail(OPD_E_IO, "%s: not a folder", directory);
    }
    if (access(real, W_OK) != 0) {
        return opd_fail(OPD_E_IO, "%s: %s", directory, strerror(errno));
    }
    snprintf(absolute, size, "%s%s%s", real, name[0] != '\0' ? "/" : "", name);
    return OPD_OK;
}

/* The program without a recorder: it is not to suffer from our trouble. */
static opd_status run_unrecorded(opd_record_report *report, const opd_record_options *options)
{
    int pid;
    snprintf(report->trouble, sizeof(report->trouble), "not recorded: %s", opd_error_text());
    opd_status status = opd_launch(&pid, NULL, options);
    if (status != OPD_OK) {
        return status;
    }
    struct sigaction old[PASSED_COUNT + 1];
    program_pid = pid;
    take_signals(old);
    while (waitpid(pid, &report->exit_status, 0) < 0 && errno == EINTR) {
    }
    give_signals_back(old);
    return OPD_OK;
}

static void finish_all(opd_collector *collector, int wait_status)
{
    atomic_store(&collector->control->state, OPD_SESSION_CLOSED);
    opd_collector_scan(collector);
    for (opd_watched *watched = collector->first; watched != NULL; watched = watched->next) {
        if (!watched->is_done) {
            bool is_last_image = watched->pid == collector->main_pid;
            for (const opd_watched *at = watched->next; at != NULL; at = at->next) {
                is_last_image = is_last_image && !(at->pid == watched->pid && at->image > watched->image);
            }
            opd_collector_finish(collector, watched, is_last_image ? wait_status : 0);
        }
    }
}

opd_status opd_record_run(opd_record_report *report, const opd_record_options *options)
{
    static char out[4352];
    opd_collector collector = { .out = out };
    memset(report, 0, sizeof(*report));
    opd_status status = make_out(out, sizeof(out), options->out != NULL ? options->out : "ops-debug-out");
    if (status != OPD_OK) {
        return status;
    }
    if (opd_collector_open(&collector, options, report) != OPD_OK) {
        return run_unrecorded(report, options);
    }
    int pid;
    status = opd_launch(&pid, &collector, options);
    if (status != OPD_OK) {
        opd_collector_close(&collector);
        return status;
    }
    struct sigaction old[PASSED_COUNT + 1];
    collector.main_pid = pid;
    program_pid = pid;
    take_signals(old);
    report->exit_status = follow(&collector);
    finish_all(&collector, report->exit_status);
    if (report->calls == 0) {
        opd_explain_nothing(&collector, options);
    }
    opd_collector_close(&collector);
    give_signals_back(old);
    program_pid = 0;
    return OPD_OK;
}
