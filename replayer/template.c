/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both sides of the template. A job goes over a socket: two descriptors and who asks. The copy is made in two steps: the process between
 * ends at once, and the kernel hands its child to the nearest ancestor that takes orphans, which is the replaying process. So the copy is
 * waited for, limited and killed as any worker.
 */
#include "template.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS    120000 /* the first answer comes when PyTorch is loaded */
#define ADOPTION_US 200
#define ADOPTIONS   25000

typedef struct request {
    pid_t asks;
    uint64_t address_limit;
} request;

static struct {
    pthread_mutex_t lock;
    pid_t pid;   /* 0 = none */
    pid_t owner; /* process that started it: not its forked children */
    int socket;
    uint64_t environment; /* hash */
    bool is_useless;      /* it could not be started, or not load PyTorch */
} own = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* -------------------------------------------------------------------------------------------- the replaying side */

/* FNV-1a over the entries. */
static uint64_t hash_of(char *const *environment)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *environment != NULL; environment++) {
        for (const char *at = *environment;; at++) {
            hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
            if (*at == '\0') {
                break;
            }
        }
    }
    return hash;
}

static void stop(void)
{
    if (own.pid != 0) {
        kill(own.pid, SIGKILL);
        waitpid(own.pid, NULL, 0);
        close(own.socket);
        own.pid = 0;
    }
}

_Noreturn static void run_child(const opd_spawn *spawn, int socket)
{
    sigset_t none;
    char word[] = OPD_TEMPLATE_WORD;
    char *arguments[] = { (char *)(uintptr_t)(const void *)spawn->worker, word, NULL };
    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++) {
        signal(number, SIG_DFL);
    }
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    personality(ADDR_NO_RANDOMIZE);
    if (dup2(socket, OPD_JOB_FD) == OPD_JOB_FD) {
        execve(spawn->worker, arguments, spawn->environment);
    }
    _exit(127);
}

static bool start(const opd_spawn *spawn)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t pid = fork();
    if (pid == 0) {
        run_child(spawn, ends[1]);
    }
    close(ends[1]);
    if (pid < 0) {
        close(ends[0]);
        return false;
    }
    own.pid = pid;
    own.owner = getpid();
    own.socket = ends[0];
    own.environment = hash_of(spawn->environment);
    return true;
}

static bool send_job(const opd_spawn *spawn, int output_fd, uint64_t address_limit)
{
    request wish = { .asks = getpid(), .address_limit = address_limit };
    struct iovec piece = { &wish, sizeof wish };
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control = { .bytes = { 0 } };
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes
    };
    const int fds[2] = { spawn->fd, output_fd };
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fds);
    memcpy(CMSG_DATA(head), fds, sizeof fds);
    return sendmsg(own.socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof wish;
}

static bool take_answer(pid_t *pid)
{
    struct pollfd item = { .fd = own.socket, .events = POLLIN };
    pid_t answer = 0;
    while (poll(&item, 1, START_MS) < 0 && errno == EINTR) {
    }
    if (recv(own.socket, &answer, sizeof answer, MSG_DONTWAIT) != (ssize_t)sizeof answer || answer <= 0) {
        return false;
    }
    *pid = answer;
    return true;
}

bool opd_template_copy(pid_t *pid, const opd_spawn *spawn, int output_fd, uint64_t address_limit)
{
    if (pthread_mutex_trylock(&own.lock) != 0) {
        return false;
    }
    if (own.pid != 0 && own.owner == getpid() && own.environment != hash_of(spawn->environment)) {
        stop();
    }
    bool has_one = !own.is_useless && ((own.pid != 0 && own.owner == getpid()) || start(spawn));
    bool is_made = has_one && send_job(spawn, output_fd, address_limit) && take_answer(pid);
    if (has_one && !is_made) {
        stop();
        own.is_useless = true;
    }
    pthread_mutex_unlock(&own.lock);
    return is_made;
}

/* ------------------------------------------------------------------------------------------------ the worker's side */

static bool take_job(request *wish, int fds[2])
{
    struct iovec piece = { wish, sizeof *wish };
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes
    };
    if (recvmsg(OPD_JOB_FD, &message, MSG_CMSG_CLOEXEC) != (ssize_t)sizeof *wish) {
        return false;
    }
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head == NULL || head->cmsg_type != SCM_RIGHTS || head->cmsg_len != CMSG_LEN(2 * sizeof(int))) {
        return false;
    }
    memcpy(fds, CMSG_DATA(head), 2 * sizeof(int));
    return true;
}

/* The copy: waits until it is the asking process's child, and takes its place as any worker has it. */
static void settle(const request *wish, const int fds[2])
{
    for (int i = 0; getppid() != wish->asks; i++) {
        if (i == ADOPTIONS) {
            _exit(127);
        }
        usleep(ADOPTION_US);
    }
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != wish->asks || dup2(fds[1], 1) < 0 || dup2(fds[1], 2) < 0 || dup2(fds[0], OPD_JOB_FD) < 0) {
        _exit(127);
    }
    close(fds[0]);
    close(fds[1]);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const struct rlimit space = { wish->address_limit, wish->address_limit };
    setrlimit(RLIMIT_AS, &space);
#endif
}

void opd_template_serve(void)
{
    request wish;
    int fds[2];
    while (take_job(&wish, fds)) {
        int ends[2];
        pid_t made = 0;
        if (pipe(ends) != 0) {
            _exit(1);
        }
        pid_t between = fork();
        if (between == 0) {
            made = fork();
            if (made == 0) {
                close(ends[0]);
                close(ends[1]);
                settle(&wish, fds);
                return;
            }
            _exit(write(ends[1], &made, sizeof made) == (ssize_t)sizeof made ? 0 : 1);
        }
        close(ends[1]);
        if (between < 0 || read(ends[0], &made, sizeof made) != (ssize_t)sizeof made) {
            made = 0;
        }
        close(ends[0]);
        close(fds[0]);
        close(fds[1]);
        while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR) {
        }
        if (send(OPD_JOB_FD, &made, sizeof made, MSG_NOSIGNAL) != (ssize_t)sizeof made) {
            _exit(1);
        }
    }
    _exit(0);
}
