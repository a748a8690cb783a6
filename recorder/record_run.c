/* SPDX-License-Identifier: Apache-2.0 */
/* `ops-debug record`: session, program, rounds of the collector until the program ends, report. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <opsdebug/memory.h>

#include "collector.h"

/* ------------------------------------------------------------------------------------------ signals from outside */

static volatile sig_atomic_t program_pid;

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
    opd_collector_request();
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

/* ------------------------------------------------------------------------------------------------- the command */

bool opd_collector_is_single(const char *out)
{
    size_t length = strlen(out);
    return length > strlen(OPD_SUFFIX) && strcmp(out + length - strlen(OPD_SUFFIX), OPD_SUFFIX) == 0;
}

opd_status opd_collector_make_out(char *absolute, size_t size, const char *out)
{
    char path[4096];
    bool is_single = opd_collector_is_single(out);
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

/* For as long as it lasts: the one bundle may come at any time. */
static opd_status claim_single(opd_claim *claim, const char *path)
{
    struct stat found;
    opd_status status = opd_claim_take(claim, path);
    if (status == OPD_OK && lstat(path, &found) == 0 && S_ISDIR(found.st_mode)) {
        opd_claim_release(claim);
        return opd_fail(OPD_E_IO, "%s: is a folder; a name that ends in " OPD_SUFFIX " is that of one bundle", path);
    }
    return status;
}

/* Nothing is lost, and the program is not kept waiting for an answer. */
opd_status opd_collector_keep_old(const opd_collector *collector)
{
    char aside[4400];
    struct stat found;
    if (!collector->is_single || lstat(collector->out, &found) != 0) {
        return OPD_OK;
    }
    snprintf(aside, sizeof(aside), "%s.old", collector->out);
    if (rename(collector->out, aside) != 0) {
        return opd_fail(OPD_E_IO, "%s: cannot be kept as %s: %s", collector->out, aside, strerror(errno));
    }
    return OPD_OK;
}

static void notify(const opd_record_options *options, const char *format, ...) OPD_PRINTF(2, 3);

static void notify(const opd_record_options *options, const char *format, ...)
{
    char text[600];
    va_list arguments;
    if (options->notice != NULL) {
        va_start(arguments, format);
        vsnprintf(text, sizeof(text), format, arguments);
        va_end(arguments);
        options->notice(options->notice_context, text);
    }
}

/* The program without a recorder: it is not to suffer from our trouble. */
static opd_status run_unrecorded(opd_record_report *report, const opd_record_options *options)
{
    int pid;
    notify(options, "nothing is recorded: %s; the program runs without the recorder", opd_error_text());
    snprintf(report->why_nothing, sizeof(report->why_nothing), "%s; the program ran without the recorder",
             opd_error_text());
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

static opd_status run_recorded(opd_record_report *report, const opd_record_options *options, const char *out)
{
    opd_collector collector = { .out = out };
    if (opd_collector_open(&collector, options, report) != OPD_OK) {
        return run_unrecorded(report, options);
    }
    if (report->reduced[0] != '\0' && options->budget != ((opd_record_options)OPD_RECORD_OPTIONS_INIT).budget) {
        notify(options, "--budget cannot be had: %s", report->reduced);
    }
    int pid;
    opd_status status = opd_launch(&pid, &collector, options);
    if (status != OPD_OK) {
        opd_collector_close(&collector);
        return status == OPD_E_LIMIT ? run_unrecorded(report, options) : status;
    }
    struct sigaction old[PASSED_COUNT + 1];
    collector.main_pid = pid;
    program_pid = pid;
    take_signals(old);
    report->exit_status = opd_collector_follow(&collector, true);
    opd_collector_finish_all(&collector, report->exit_status);
    if (report->calls == 0) {
        opd_explain_nothing(&collector, options);
    } else if (collector.gaps[0] != '\0') {
        opd_collector_trouble(&collector, "%s", collector.gaps);
    }
    opd_collector_close(&collector);
    give_signals_back(old);
    program_pid = 0;
    return OPD_OK;
}

opd_status opd_record_run(opd_record_report *report, const opd_record_options *options)
{
    static char out[4352];
    static opd_claim claim;
    memset(report, 0, sizeof(*report));
    opd_status status = opd_collector_make_out(out, sizeof(out), options->out != NULL ? options->out : "ops-debug-out");
    if (status == OPD_OK && opd_collector_is_single(out)) {
        status = claim_single(&claim, out);
    }
    if (status != OPD_OK) {
        return status;
    }
    opd_fail_without_signal(SIGXFSZ);
    opd_fail_without_signal(SIGPIPE);
    status = run_recorded(report, options, out);
    opd_claim_release(&claim);
    return status;
}

/* The collector's own process: no terminal, no caller; it ends with the process it looks after. */
static void collect_for(const opd_record_options *options, const char *out, int pid, int ready)
{
    static opd_record_report report;
    static opd_claim claim;
    opd_collector collector = { .out = out };
    setsid();
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = STDIN_FILENO; nothing >= 0 && i <= STDERR_FILENO; i++) {
        dup2(nothing, i);
    }
    opd_fail_without_signal(SIGXFSZ);
    if ((opd_collector_is_single(out) && claim_single(&claim, out) != OPD_OK) ||
        opd_collector_open(&collector, options, &report) != OPD_OK) {
        _exit(1);
    }
    collector.main_pid = pid;
    ssize_t written = write(ready, collector.directory, sizeof(collector.directory));
    close(ready);
    if (written == (ssize_t)sizeof(collector.directory)) {
        opd_collector_follow(&collector, false);
        opd_collector_finish_all(&collector, OPD_STATUS_UNKNOWN);
    }
    opd_collector_close(&collector);
    opd_claim_release(&claim);
    _exit(0);
}

opd_status opd_record_attach(char session[OPD_SESSION_PATH], const opd_record_options *options, int pid)
{
    static char out[4352];
    int ends[2];
    if (opd_session_start_time(pid) == 0) {
        return opd_fail(OPD_E_NOTFOUND, "there is no process %d", pid);
    }
    if (!opd_explain_is_descendant(getpid(), pid)) {
        return opd_fail(
            OPD_E_INVALID,
            "process %d did not ask for a collector: a program with the C API starts its own; others are recorded "
            "from their start, by ops-debug record -- PROGRAM",
            pid);
    }
    opd_status status = opd_collector_make_out(out, sizeof(out), options->out != NULL ? options->out : "ops-debug-out");
    if (status != OPD_OK) {
        return status;
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return opd_fail(OPD_E_IO, "pipe: %s", strerror(errno));
    }
    int child = fork();
    if (child == 0) {
        close(ends[0]);
        collect_for(options, out, pid, ends[1]);
    }
    char directory[OPD_SESSION_PATH];
    close(ends[1]);
    ssize_t got = child > 0 ? read(ends[0], directory, sizeof(directory)) : -1;
    close(ends[0]);
    if (got != (ssize_t)sizeof(directory)) {
        return opd_fail(OPD_E_IO, "the collector for process %d did not start", pid);
    }
    memcpy(session, directory, sizeof(directory));
    return OPD_OK;
}
