/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak_victim CALLS: 8 threads that share that many small calls; now and then one forks a child that calls, and loads and unloads a library.
 * How far the first thread is goes to standard error. Prints the calls made, children's included, and the resident KiB
 * after a tenth of them and at the end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

void cblas_dscal(int n, double alpha, double *x, int incx);

enum { THREADS = 8, CHILDREN = 64, CHILD_CALLS = 10 };
static long share;
static _Atomic long children;

static long resident_kib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL || fscanf(file, "%*s %ld", &pages) != 1) {
        pages = 0;
    }
    if (file != NULL) {
        fclose(file);
    }
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void call(long times)
{
    double x[2] = { 1, 2 };
    for (long i = 0; i < times; i++) {
        cblas_dscal(2, 1.0, x, 1);
    }
}

static void fork_and_load(void)
{
    int child = fork();
    if (child == 0) {
        call(CHILD_CALLS);
        _exit(0);
    }
    if (child > 0) {
        waitpid(child, NULL, 0);
        atomic_fetch_add(&children, 1);
    }
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    if (library != NULL) {
        dlclose(library);
    }
}

static void *work(void *context)
{
    const long *is_first = context;
    long done = 0;
    for (int part = 0; part < CHILDREN; part++) {
        long next = share * (part + 1) / CHILDREN;
        call(next - done);
        done = next;
        if (*is_first != 0) {
            fork_and_load();
            fprintf(stderr, "%d of %d parts of %ld calls\n", part + 1, CHILDREN, share * THREADS);
        }
    }
    return NULL;
}

static void run(long calls)
{
    static const long first = 1;
    static const long other = 0;
    pthread_t threads[THREADS];
    share = calls / THREADS;
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)(i == 0 ? &first : &other));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
}

int main(int count, char **words)
{
    long calls = count == 2 ? strtol(words[1], NULL, 10) : 0;
    long tenth = calls / 10 / THREADS * THREADS;
    long rest = (calls - tenth) / THREADS * THREADS;
    run(tenth);
    long first = resident_kib();
    run(rest);
    printf("%ld %ld %ld\n", tenth + rest + atomic_load(&children) * CHILD_CALLS, first, resident_kib());
    return 0;
}
