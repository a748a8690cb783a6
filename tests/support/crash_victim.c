/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Crashes of every kind, in programs with other threads at rest: crash_victim WAY.
 *   past      write one element past a vector, by the library      worker    by a worker thread of the library
 *   big       in the middle of a matrix, in a product on threads   overflow  the main stack, after a call
 *   deep      the stack of a thread that has made a call           heap      abort inside malloc, its lock held
 *   deaf      a thread has all signals blocked                     two       two threads crash at once
 *   nowhere   a call of a null pointer                             later     when a line has come
 *   stay      no crash: a call that does not return (wild_blas)
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

void dscal_(const int *n, const double *alpha, double *x, const int *incx);
double dasum_(const int *n, const double *x, const int *incx);
double ddot_(const int *n, const double *x, const int *incx, const double *y, const int *incy);
void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc, size_t one, size_t two);

int crash_at_depth(int depth);
void *wait_here(void *context);

static pthread_barrier_t ready;
static const int one = 1;

__attribute__((noinline)) void *wait_here(void *context)
{
    sigset_t all;
    if (context != NULL) {
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    }
    pthread_barrier_wait(&ready);
    for (;;) {
        pause();
    }
}

/* Some pages between two that are shut. */
static double *between_walls(size_t pages)
{
    char *start = mmap(NULL, (pages + 2) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(start + PAGE, pages * PAGE, PROT_READ | PROT_WRITE);
    return (double *)(void *)(start + PAGE);
}

static void call_once(void)
{
    const double x[2] = { 1, 2 };
    const int n = 2;
    volatile double sum = ddot_(&n, x, &one, x, &one);
    (void)sum;
}

__attribute__((noinline)) int crash_at_depth(int depth)
{
    volatile char room[512];
    room[depth % 512] = (char)depth;
    return crash_at_depth(depth + 1) + room[(depth + 1) % 512];
}

static void past(void)
{
    const int n = 6;
    const double two = 2;
    dscal_(&n, &two, between_walls(1) + PAGE / 8 - 6, &one);
}

static void multiply(const double *a, const double *b, double *c, int n)
{
    const double alpha = 1;
    const double beta = 0;
    dgemm_("N", "N", &n, &n, &n, &alpha, a, &n, b, &n, &beta, c, &n, 1, 1);
}

static void worker(void)
{
    double *pages = between_walls(1);
    multiply(pages, pages + 64, pages + 128, 4); /* 16 bytes before A is shut */
}

static void big(void)
{
    const int n = 256;
    double *a = between_walls((size_t)n * n * 8 / PAGE);
    double *b = between_walls((size_t)n * n * 8 / PAGE);
    char *c = mmap(NULL, (size_t)n * n * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(c + 100 * 2048, PAGE, PROT_NONE); /* columns 100 and 101 */
    multiply(a, b, (double *)(void *)c, n);
}

static void overflow(void)
{
    call_once();
    printf("%d\n", crash_at_depth(0));
}

static void *overflow_thread(void *context)
{
    (void)context;
    overflow();
    return NULL;
}

static void deep(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, overflow_thread, NULL);
    pthread_join(thread, NULL);
}

static void heap(void)
{
    call_once();
    size_t *block = malloc(5000);
    void *behind = malloc(5000);
    free(block);
    *(volatile size_t *)(block - 1) = 3; /* the size of a free block */
    printf("%p %p\n", behind, malloc(6000));
}

static void fall(void)
{
    call_once();
    *(volatile int *)8 = 1; // NOLINT(clang-analyzer-core.FixedAddressDereference)
}

__attribute__((noinline)) static void nowhere(void)
{
    void (*volatile function)(void) = NULL;
    call_once();
    function();
    puts("not reached");
}

static void later(void)
{
    call_once();
    puts("called");
    fflush(stdout);
    getchar();
    fall();
}

static void stay(void)
{
    const double x[2] = { 1, 2 };
    const int n = 2;
    call_once();
    printf("%g\n", dasum_(&n, x, &one));
}

static void *fall_thread(void *context)
{
    (void)context;
    pthread_barrier_wait(&ready);
    fall();
    return NULL;
}

static void two(void)
{
    pthread_t thread;
    pthread_barrier_init(&ready, NULL, 2);
    pthread_create(&thread, NULL, fall_thread, NULL);
    pthread_barrier_wait(&ready);
    fall();
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*crash)(void);
    } ways[] = { { "past", past },         { "worker", worker }, { "big", big },   { "deep", deep },
                 { "overflow", overflow }, { "heap", heap },     { "deaf", fall }, { "two", two },
                 { "nowhere", nowhere },   { "later", later },   { "stay", stay } };
    pthread_t threads[2];
    pthread_barrier_init(&ready, NULL, 3);
    for (size_t i = 0; i < 2; i++) { /* the second of a deaf program blocks signals */
        pthread_create(&threads[i], NULL, wait_here,
                       count > 1 && i == 1 && strcmp(words[1], "deaf") == 0 ? &ready : NULL);
    }
    pthread_barrier_wait(&ready);
    for (size_t i = 0; count > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(words[1], ways[i].name) == 0) {
            ways[i].crash();
        }
    }
    return 3;
}
