/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that leave where one does not expect it: exec, jumps, exits and threads that end in the middle of a routine,
 * handlers of their own. odd_victim MODE [ARGUMENT [ARGUMENT]]; what is printed is the same with and without the recorder.
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROW_MAJOR = 101, NO_TRANS = 111, SIZE = 4 };
void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc);

double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);

static double a[SIZE * SIZE], b[SIZE * SIZE], c[SIZE * SIZE];
static double *const nowhere = (double *)(uintptr_t)64;

static void multiply(int times)
{
    for (int i = 0; i < times; i++) {
        cblas_dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, SIZE, SIZE, SIZE, 1, a, SIZE, b, SIZE, 0, c, SIZE);
    }
}

/* ARGUMENT: operand (the recorder reads it first) or result (only the routine writes it). */
static void multiply_badly(const char *where)
{
    int is_operand = strcmp(where, "operand") == 0;
    cblas_dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, SIZE, SIZE, SIZE, 1, a, SIZE, is_operand ? nowhere : b, SIZE, 0,
                is_operand ? c : nowhere, SIZE);
}

/* ------------------------------------------------------------------------------------------------ other programs */

static char *program;

static void *execute(void *arguments)
{
    execv(program, arguments);
    return NULL;
}

/* One more image of this program by the way named; the ways that make a process wait for it. */
static int start_next(const char *way, char *const *arguments)
{
    int pid = 0;
    int status = 0;
    pthread_t thread;
    if (strcmp(way, "exec") == 0) {
        execv(program, arguments);
    } else if (strcmp(way, "thread") == 0) {
        pthread_create(&thread, NULL, execute, (void *)(uintptr_t)arguments);
        pthread_join(thread, NULL);
    } else if (strcmp(way, "spawn") == 0) {
        posix_spawn(&pid, program, NULL, NULL, arguments, environ);
    } else {
        pid = strcmp(way, "vfork") == 0 ? vfork() : fork();
        if (pid == 0) {
            execv(program, arguments);
            _exit(9);
        }
    }
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status);
}

/* images WAY N: 3 calls in each of N images. */
static int images(const char *way, const char *count)
{
    char rest[16];
    int left = (int)strtol(count, NULL, 10);
    char *const arguments[] = { program, "images", (char *)(uintptr_t)way, rest, NULL };
    multiply(3);
    snprintf(rest, sizeof(rest), "%d", left - 1);
    return left > 1 ? start_next(way, arguments) : 6;
}

/* -------------------------------------------------------------------------------------------------- own handlers */

static sigjmp_buf way_out;
static const char *reaction;

static void on_fault(int number)
{
    if (strcmp(reaction, "jump") == 0) {
        siglongjmp(way_out, 1);
    }
    if (strcmp(reaction, "exit") == 0) {
        exit(3);
    }
    if (strcmp(reaction, "quit") == 0) {
        _exit(3);
    }
    signal(number, SIG_DFL); /* default: it strikes again */
}

static void take_faults(const char *how, int flags)
{
    struct sigaction action = { .sa_handler = on_fault, .sa_flags = flags };
    reaction = how;
    sigaction(SIGSEGV, &action, NULL);
}

static void use_other_stack(void)
{
    stack_t stack = { .ss_sp = malloc(1 << 16), .ss_size = 1 << 16 };
    sigaltstack(&stack, NULL);
}

/* handler REACTION WHERE: a crash under a handler of its own; calls before, and after when it comes to that. */
static int handler(const char *how, const char *where)
{
    take_faults(how, 0);
    multiply(2);
    if (sigsetjmp(way_out, 1) == 0) {
        multiply_badly(where);
    }
    multiply(3);
    return 6;
}

/* last REACTION WHERE: no call comes after the crash. */
static int last(const char *how, const char *where)
{
    take_faults(how, 0);
    multiply(2);
    if (sigsetjmp(way_out, 1) == 0) {
        multiply_badly(where);
    }
    return 6;
}

/* smaller REACTION WHERE: after the crash routines of fewer arguments, whose frames are smaller; the last makes a NaN. */
static int smaller(const char *how, const char *where)
{
    const double huge[] = { 1, INFINITY };
    const double zero[] = { 1, 0 };
    take_faults(how, 0);
    if (sigsetjmp(way_out, 1) == 0) {
        multiply_badly(where);
    }
    c[5] = cblas_ddot(1, huge, 1, zero, 1) + cblas_ddot(2, huge, 1, zero, 1);
    return 6;
}

/* stack REACTION WHERE: the handler has a stack of its own, many times over. */
static int stack(const char *how, const char *where)
{
    use_other_stack();
    take_faults(how, SA_ONSTACK);
    for (int i = 0; i < 40; i++) {
        if (sigsetjmp(way_out, 1) == 0) {
            multiply_badly(where);
        }
        multiply(1);
    }
    return 6;
}

/* child REACTION WHERE: as handler, in a forked child; prints how it ended. */
static int child(const char *how, const char *where)
{
    int status = 0;
    multiply(1);
    int pid = fork();
    if (pid == 0) {
        exit(handler(how, where));
    }
    waitpid(pid, &status, 0);
    printf("child %x\n", (unsigned)status);
    multiply(1);
    return 0;
}

static void *send_stop(void *target)
{
    usleep(100000);
    pthread_kill(*(const pthread_t *)target, SIGTERM);
    return NULL;
}

static void multiply_long(int side, int times)
{
    double *large = calloc((size_t)side * (size_t)side, sizeof(double));
    for (int i = 0; i < times; i++) {
        cblas_dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, side, side, side, 1, large, side, large, side, 0, large, side);
    }
    free(large);
}

/* large SIDE: one product of that size. */
static int large(const char *side, const char *unused)
{
    (void)unused;
    multiply_long((int)strtol(side, NULL, 10), 1);
    return 0;
}

/* stop REACTION: asked to end while a routine runs, it does so in order. */
static int stop(const char *how, const char *unused)
{
    (void)unused;
    struct sigaction action = { .sa_handler = on_fault };
    pthread_t self = pthread_self();
    pthread_t thread;
    reaction = how;
    sigaction(SIGTERM, &action, NULL);
    pthread_create(&thread, NULL, send_stop, &self);
    multiply_long(600, 10000);
    return 6;
}

/* alarm N: jumps out of whatever runs, copying or computing, N times; then calls as if nothing had been. */
static void on_alarm(int number)
{
    (void)number;
    siglongjmp(way_out, 1);
}

static __attribute__((noinline)) void multiply_deep(int depth)
{
    volatile char room[512];
    room[0] = (char)depth;
    if (depth > 0) {
        multiply_deep(depth - 1);
    } else {
        multiply(1);
    }
    room[1] = room[0];
}

static int alarms(const char *count, const char *is_other_stack)
{
    enum { SIDE = 1500 };
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = is_other_stack != NULL ? SA_ONSTACK : 0 };
    double *large = calloc(2 * SIDE, SIDE * sizeof(double));
    volatile long left = strtol(count, NULL, 10);
    use_other_stack();
    sigaction(SIGALRM, &action, NULL);
    memset(large, 0, 2 * SIDE * SIDE * sizeof(double));
    while (left-- > 0) {
        if (sigsetjmp(way_out, 1) == 0) {
            ualarm(300 + (unsigned)left * 97 % 3000, 0);
            for (;;) {
                cblas_dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, 1, SIDE, SIDE, 1, large, SIDE, large, SIDE, 0,
                            large + SIDE * SIDE, SIDE);
            }
        }
        multiply_deep((int)left % 8);
    }
    multiply(100);
    return 6;
}

/* ------------------------------------------------------------------------------------------------ ending threads */

static void *end_in_routine(void *where)
{
    multiply(1);
    multiply_badly(where);
    return NULL;
}

static void leave_thread(int number)
{
    (void)number;
    pthread_exit(NULL);
}

/* threads WHERE: 20 threads end inside a routine, by their handler; then the program crashes elsewhere when told to. */
static int threads(const char *where, const char *crashes)
{
    struct sigaction action = { .sa_handler = leave_thread };
    struct sigaction old;
    pthread_t thread;
    sigaction(SIGSEGV, &action, &old);
    for (int i = 0; i < 20; i++) {
        pthread_create(&thread, NULL, end_in_routine, (void *)(uintptr_t)where);
        pthread_join(thread, NULL);
    }
    sigaction(SIGSEGV, &old, NULL);
    multiply(5);
    if (crashes != NULL) {
        *(volatile double *)nowhere = 1;
    }
    return 6;
}

/* ------------------------------------------------------------------------------------------------------ sandboxes */

/* Kills the process at any system call but those to print and to end. */
static void allow_only_output(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog list = { sizeof(filter) / sizeof(filter[0]), filter };
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &list);
}

/* sandbox KIND: filter or strict; calls before and after the program shut itself in. */
static int sandbox(const char *kind, const char *unused)
{
    (void)unused;
    multiply(3);
    if (strcmp(kind, "filter") == 0) {
        allow_only_output();
        multiply(2000);
        write(STDOUT_FILENO, "in\n", 3);
        _exit(7);
    }
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
    multiply(2000);
    write(STDOUT_FILENO, "in\n", 3);
    syscall(SYS_exit, 7);
    return 0;
}

static const struct {
    const char *name;
    int (*run)(const char *argument, const char *second);
} modes[] = {
    { "images", images }, { "handler", handler }, { "last", last },       { "stack", stack },
    { "child", child },   { "stop", stop },       { "alarms", alarms },   { "threads", threads },
    { "large", large },   { "sandbox", sandbox }, { "smaller", smaller },
};

int main(int count, char **arguments)
{
    static char own[4096];
    program = own;
    if (readlink("/proc/self/exe", own, sizeof(own) - 1) < 0 || count < 3) {
        return 2;
    }
    for (int i = 0; i < SIZE * SIZE; i++) {
        a[i] = b[i] = i + 1;
    }
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(modes[i].name, arguments[1]) == 0) {
            int status = modes[i].run(arguments[2], count > 3 ? arguments[3] : NULL);
            printf("%s %g\n", arguments[1], c[5]);
            return status;
        }
    }
    return 2;
}
