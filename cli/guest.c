/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's library in this process is code of others: its constructors, its entry point and the functions of its contracts run here (its variants and
 * definitions do not). So a child tries them first, and a handler of faults stays for those that come later, on other calls.
 */
#include "guest.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#include "command.h"

enum { TRIAL_MS = 60000, MAX_GUESTS = 64 };

/* What the child leaves behind. */
typedef struct trial {
    volatile bool is_done;
    volatile opd_status status;
    char doing[96]; /* "while it was loaded" */
    char text[512];
} trial;

/* What a library prints belongs on no document: standard output is standard error meanwhile. */
static opd_status load_aside(const char *path)
{
    fflush(stdout);
    int kept = dup(STDOUT_FILENO);
    if (kept >= 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO);
    }
    opd_status status = opd_library_load(path);
    if (kept >= 0) {
        fflush(stdout);
        dup2(kept, STDOUT_FILENO);
        close(kept);
    }
    return status;
}

/* Makes the default call of every operator that came in; whether it can be made is no matter here. */
_Noreturn static void try_library(trial *out, const char *path)
{
    int known = opd_op_count();
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL);
    }
    out->status = load_aside(path);
    snprintf(out->text, sizeof out->text, "%s", opd_error_text());
    for (int i = known; out->status == OPD_OK && i < opd_op_count(); i++) {
        static opd_call call;
        const opd_call_wish wish = { 0 };
        snprintf(out->doing, sizeof out->doing, "in the contract of %.40s", opd_op_at(i)->name);
        opd_call_make(&call, opd_op_at(i), &wish);
    }
    out->is_done = true;
    _exit(0);
}

static opd_status judge_trial(const trial *seen, const char *path, int ended, uint32_t late_ms)
{
    if (late_ms > 0) {
        return opd_fail(OPD_E_CHILD, "the library %s does not come to an end %s: %u s", path, seen->doing,
                        late_ms / 1000);
    }
    if (WIFSIGNALED(ended)) {
        const char *name = sigabbrev_np(WTERMSIG(ended));
        return opd_fail(OPD_E_CHILD, "the library %s crashes %s: SIG%s", path, seen->doing, name != NULL ? name : "?");
    }
    if (!seen->is_done) {
        return opd_fail(OPD_E_CHILD, "the library %s ends the process %s, with status %d", path, seen->doing,
                        WEXITSTATUS(ended));
    }
    return seen->status == OPD_OK ? OPD_OK : opd_fail(seen->status, "%s", seen->text);
}

/* Waits for the child; false when its time is over, and it was ended. */
static bool wait_trial(int *ended, pid_t pid, int end_fd, uint32_t timeout_ms)
{
    struct pollfd end = { .fd = end_fd, .events = POLLIN }; /* hangs up when the child is gone */
    int ready = 0;
    do {
        ready = poll(&end, 1, (int)timeout_ms);
    } while (ready < 0 && errno == EINTR);
    if (ready == 0) {
        kill(pid, SIGKILL);
    }
    while (waitpid(pid, ended, 0) < 0 && errno == EINTR) {
    }
    return ready != 0;
}

static opd_status try_in_child(const char *path, uint32_t timeout_ms)
{
    int ends[2];
    trial *seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (seen == MAP_FAILED) {
        return opd_fail(OPD_E_NOMEM, "no memory to try the library %s", path);
    }
    if (pipe(ends) != 0) {
        munmap(seen, sizeof *seen);
        return opd_fail(OPD_E_IO, "cannot try the library %s: %s", path, strerror(errno));
    }
    snprintf(seen->doing, sizeof seen->doing, "while it is loaded");
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        try_library(seen, path);
    }
    close(ends[1]);
    int ended = 0;
    bool is_in_time = pid < 0 || wait_trial(&ended, pid, ends[0], timeout_ms);
    opd_status status = pid < 0 ? opd_fail(OPD_E_CHILD, "cannot try the library %s: %s", path, strerror(errno))
                                : judge_trial(seen, path, ended, is_in_time ? 0 : timeout_ms);
    close(ends[0]);
    munmap(seen, sizeof *seen);
    return status;
}

/* ------------------------------------------------------------------------------------------------ faults later */

static char guest_paths[MAX_GUESTS][1024];
static int guest_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const char *guest_at(const void *address)
{
    Dl_info info;
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) {
        return NULL;
    }
    for (int i = 0; i < guest_count; i++) {
        const char *path = guest_paths[i];
        const char *name =
            strncmp(info.dli_fname, "./", 2) == 0 && strchr(path, '/') == NULL ? info.dli_fname + 2 : info.dli_fname;
        if (strcmp(name, path) == 0) {
            return path;
        }
    }
    return NULL;
}

/* Code of a library may have called what faults: it is anywhere on the way there. */
static void on_fault(int number, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    void *frames[64];
    const char *path = NULL;
    char line[1280];
    int count = backtrace(frames, (int)OPD_COUNT(frames));
    for (int i = 0; i < count && path == NULL; i++) {
        path = guest_at(frames[i]);
    }
    if (path == NULL) {
        signal(number, SIG_DFL);
        raise(number);
        return;
    }
    const char *name = sigabbrev_np(number);
    int size = snprintf(line, sizeof line, "ops-debug: the library %s crashes in the contract of an operator: SIG%s\n",
                        path, name != NULL ? name : "?");
    ssize_t unused = write(STDERR_FILENO, line, (size_t)size);
    (void)unused;
    _exit(OPD_EXIT_TROUBLE);
}

static void watch_faults(void)
{
    static const int signals[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
    struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
    void *frame = NULL;
    backtrace(&frame, 1); /* it loads a library of its own at first */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < OPD_COUNT(signals); i++) {
        sigaction(signals[i], &action, NULL);
    }
}

static opd_status load_once(const char *path, uint32_t timeout_ms)
{
    for (int i = 0; i < guest_count; i++) {
        if (strcmp(guest_paths[i], path) == 0) {
            return OPD_OK;
        }
    }
    if (guest_count == MAX_GUESTS || strlen(path) >= sizeof guest_paths[0]) {
        return opd_fail(OPD_E_LIMIT, "%s: more than %d libraries of operators, or a path of over %zu bytes", path,
                        MAX_GUESTS, sizeof guest_paths[0] - 1);
    }
    opd_status status = try_in_child(path, timeout_ms > 0 ? timeout_ms : TRIAL_MS);
    if (status == OPD_OK) {
        status = load_aside(path);
    }
    if (status == OPD_OK) {
        snprintf(guest_paths[guest_count++], sizeof guest_paths[0], "%s", path);
        watch_faults();
    }
    return status;
}

opd_status opd_guest_load(const char *path, uint32_t timeout_ms)
{
    pthread_mutex_lock(&lock);
    opd_status status = load_once(path, timeout_ms);
    pthread_mutex_unlock(&lock);
    return status;
}
