/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the worker in a process group of its own, under limits, and waits until it ends or its time is over. Between
 * fork and exec only async-signal-safe calls are made: the caller may have threads.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "job.h"
#include "template.h"

#define HARNESS_MS   60000                /* start, loading and preparing, without a byte of progress */
#define JUDGE_MS     600000               /* the reference of a large product is slow */
#define GRACE_MS     1000                 /* beyond the worker's own timer, and after a fault was noted */
#define SLEEPING     30                   /* times the limit of CPU time, of any time */
#define OUTPUT_BYTES (1 << 20)            /* of text the worker may write */
#define SPARE_BYTES  ((uint64_t)16 << 30) /* address space for libraries and their buffers */

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void limit(enum __rlimit_resource resource, rlim_t most)
{
    struct rlimit value;
    if (getrlimit(resource, &value) == 0 && value.rlim_max >= most) {
        value.rlim_cur = most;
        value.rlim_max = most;
        setrlimit(resource, &value);
    }
}

/* Address space: what the operands span (sparse spans are reserved, not used) and room for the libraries. */
static rlim_t address_limit(const opd_job *job)
{
    uint64_t total = SPARE_BYTES + job->memory_limit;
    for (int i = 0; i < job->call.operand_count; i++) {
        total += (uint64_t)(job->operands[i].high - job->operands[i].low) * 2;
    }
    return (rlim_t)total;
}

_Noreturn static void run_child(opd_spawn *spawn, int output_fd, pid_t parent)
{
    sigset_t none;
    char *arguments[] = { (char *)(uintptr_t)(const void *)spawn->worker, NULL };
    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL);
    }
    signal(SIGXFSZ, SIG_IGN); /* a routine that says more than OUTPUT_BYTES is cut short, no more */
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(127);
    }
    personality(ADDR_NO_RANDOMIZE); /* the same addresses each time, where it is allowed */
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_FSIZE, OUTPUT_BYTES);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    limit(RLIMIT_AS, address_limit(spawn->job));
#else
    (void)address_limit;
#endif
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    /* The memory file may itself sit on one of 0 .. 3: first away from there. */
    int job_fd = fcntl(spawn->fd, F_DUPFD_CLOEXEC, 10);
    int text_fd = fcntl(output_fd, F_DUPFD_CLOEXEC, 10);
    if (job_fd < 0 || text_fd < 0 || dup2(input, 0) < 0 || dup2(text_fd, 1) < 0 || dup2(text_fd, 2) < 0 ||
        dup2(job_fd, OPD_JOB_FD) < 0) {
        spawn->job->child_errno = errno;
        _exit(127);
    }
    execve(spawn->worker, arguments, spawn->environment);
    spawn->job->child_errno = errno;
    _exit(127);
}

/* What is seen of the worker from outside. */
typedef struct watch {
    uint32_t stage;
    uint64_t began;   /* the stage, by our clock */
    uint64_t cpu_ms;  /* that the worker had used */
    uint64_t used_at; /* when it was last seen to have used more */
} watch;

static uint64_t cpu_ms_of(pid_t pid)
{
    clockid_t clock;
    struct timespec used = { 0 };
    bool is_known = clock_getcpuclockid(pid, &clock) == 0 && clock_gettime(clock, &used) == 0;
    return is_known ? (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / 1000000 : 0;
}

/*
 * A limit of CPU time: used up (the worker's own timer could not tell), or none used for as long. A routine that sleeps and looks, for ever, uses some: in the
 * end all time counts.
 */
static bool is_stuck(watch *of, const opd_job *job, pid_t pid)
{
    uint64_t cpu = cpu_ms_of(pid);
    uint64_t armed = atomic_load(&job->armed_ns) / 1000000;
    uint64_t limit = job->timeout_ms + GRACE_MS;
    if (cpu > of->cpu_ms || of->used_at < armed) {
        of->used_at = now_ms();
        of->cpu_ms = cpu;
    }
    return cpu >= atomic_load(&job->armed_cpu_ns) / 1000000 + limit || now_ms() >= of->used_at + limit ||
           now_ms() >= armed + SLEEPING * limit;
}

/* Does code run that has the time limit of a run: the routine, or a definition of a user's own? */
static bool is_timed(const opd_job *job, uint32_t stage)
{
    bool is_definition = stage == OPD_STAGE_RETURNED && job->is_in_definition && opd_job_has_own_definition(job);
    return stage == OPD_STAGE_ARMED || is_definition;
}

/* When the worker's present stage has taken too long; began: when it was first seen. */
static uint64_t stage_deadline(const opd_job *job, uint32_t stage, uint64_t began)
{
    if (is_timed(job, stage)) {
        return atomic_load(&job->armed_ns) / 1000000 + job->timeout_ms + GRACE_MS;
    }
    switch (stage) {
    case OPD_STAGE_RETURNED:
        return began + JUDGE_MS;
    case OPD_STAGE_FAULTED:
    case OPD_STAGE_FAILED:
    case OPD_STAGE_DONE:
        return began + GRACE_MS;
    default:
        return began + HARNESS_MS;
    }
}

/* Stages that the worker may be in for long. */
static void report_progress(const opd_spawn *spawn, uint32_t stage, uint64_t elapsed)
{
    static const char *const words[] = {
        [OPD_STAGE_SPAWNED] = "starting",
        [OPD_STAGE_LOADING] = "loading the library",
        [OPD_STAGE_PREPARING] = "preparing the operands",
        [OPD_STAGE_ARMED] = "in the routine",
    };
    const opd_replay_options *options = spawn->options;
    char text[64];
    if (options == NULL || options->progress == NULL) {
        return;
    }
    if (stage == OPD_STAGE_RETURNED) {
        snprintf(text, sizeof text, "comparing with a reference of %.2g operations", spawn->operations);
        options->progress(options->progress_context, text, elapsed);
    } else if (stage < OPD_COUNT(words)) {
        options->progress(options->progress_context, words[stage], elapsed);
    }
}

static void wait_worker(opd_spawn *spawn, pid_t pid)
{
    int handle = pidfd_open(pid, 0);
    watch seen = { .stage = OPD_STAGE_SPAWNED, .began = now_ms() };
    int wait_ms = 20;
    for (;;) {
        struct pollfd item = { .fd = handle, .events = POLLIN };
        poll(&item, handle >= 0 ? 1 : 0, handle >= 0 ? wait_ms : 2);
        pid_t ended = waitpid(pid, &spawn->wait_status, WNOHANG);
        if (ended == pid) {
            break;
        }
        if (ended < 0 && errno == ECHILD) { /* the program ignores SIGCHLD: the kernel reaped it */
            spawn->wait_status = 0;
            break;
        }
        uint32_t here = atomic_load(&spawn->job->stage);
        if (here != seen.stage) {
            seen.stage = here;
            seen.began = now_ms();
        }
        report_progress(spawn, here, now_ms() - seen.began);
        bool is_over = is_timed(spawn->job, here) && spawn->job->is_timeout_cpu
                           ? is_stuck(&seen, spawn->job, pid)
                           : now_ms() >= stage_deadline(spawn->job, here, seen.began);
        if (is_over) {
            spawn->is_timeout = true;
            kill(-pid, SIGKILL);
            kill(pid, SIGKILL);
            waitpid(pid, &spawn->wait_status, 0);
            break;
        }
        wait_ms = wait_ms < 250 ? wait_ms * 2 : 250;
    }
    kill(-pid, SIGKILL); /* whatever the routine may have started */
    if (handle >= 0) {
        close(handle);
    }
}

/* What the library said, for the reason: printable, one line. */
static void read_output(opd_spawn *spawn, int fd)
{
    ssize_t got = pread(fd, spawn->output, sizeof spawn->output - 1, 0);
    size_t size = got > 0 ? (size_t)got : 0;
    spawn->output[size] = '\0';
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)spawn->output[i] < ' ') {
            spawn->output[i] = ' ';
        }
    }
    while (size > 0 && spawn->output[size - 1] == ' ') {
        spawn->output[--size] = '\0';
    }
}

opd_status opd_spawn_run(opd_spawn *spawn)
{
    pid_t parent = getpid();
    int output_fd = memfd_create("opd-worker-output", MFD_CLOEXEC);
    if (output_fd < 0) {
        return opd_fail(OPD_E_IO, "cannot create a memory file: %s", strerror(errno));
    }
    if (access(spawn->worker, X_OK) != 0) {
        close(output_fd);
        return opd_fail(OPD_E_CHILD, "cannot run the worker %s: %s", spawn->worker, strerror(errno));
    }
    pid_t pid = -1;
    if (!opd_call_is_foreign(&spawn->job->call) ||
        !opd_template_copy(&pid, spawn, output_fd, address_limit(spawn->job))) {
        pid = fork();
    }
    if (pid == 0) {
        run_child(spawn, output_fd, parent);
    }
    if (pid < 0) {
        close(output_fd);
        return opd_fail(OPD_E_CHILD, "cannot start the worker: %s", strerror(errno));
    }
    setpgid(pid, pid); /* both sides, so that neither order of events loses */
    wait_worker(spawn, pid);
    read_output(spawn, output_fd);
    close(output_fd);
    if (spawn->job->child_errno != 0) {
        return opd_fail(OPD_E_CHILD, "cannot run the worker %s: %s", spawn->worker, strerror(spawn->job->child_errno));
    }
    return OPD_OK;
}
