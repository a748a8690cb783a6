/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that a recorder must not hurt, one for each mode: record_victim MODE [ARGUMENT]. Every mode prints what it
 * computed, so that its output with and without the recorder can be compared.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ROW_MAJOR = 101, COLUMN_MAJOR = 102, NO_TRANS = 111 };
void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha, const double *a, int lda,
                 const double *b, int ldb, double beta, double *c, int ldc);
void cblas_dger(int order, int m, int n, double alpha, const double *x, int incx, const double *y, int incy, double *a,
                int lda);
void cblas_dscal(int n, double alpha, double *x, int incx);
double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);
double ddot_(const int *n, const double *x, const int *incx, const double *y, const int *incy);
void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc);

static double a[16], b[16], c[16];
static char **own_arguments;

static void fill(void)
{
    for (int i = 0; i < 16; i++) {
        a[i] = b[i] = i + 1;
        c[i] = 7;
    }
}

static void multiply(int times)
{
    for (int i = 0; i < times; i++) {
        cblas_dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, 4, 4, 4, 1, a, 4, b, 4, 0, c, 4);
    }
}

static int basic(const char *argument)
{
    multiply(argument != NULL ? (int)strtol(argument, NULL, 10) : 3);
    return 0;
}

static int huge_stride(const char *argument)
{
    (void)argument;
    multiply(3);
    double *x = malloc(32);
    cblas_dger(COLUMN_MAJOR, 3, 3, 1, x, -1073741825, b, 1, a, 4);
    return 0;
}

static int null_operand(const char *argument)
{
    (void)argument;
    multiply(2);
    cblas_dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, 4, 4, 4, 1, a, 4, b, 4, 0, NULL, 4);
    return 0;
}

/* B points to where no program has memory. */
static int wild_operand(const char *argument)
{
    (void)argument;
    cblas_dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, 4, 4, 4, 1, a, 4, (const double *)(uintptr_t)64, 4, 0, c, 4);
    return 0;
}

static int bad_leading_dimension(const char *argument)
{
    (void)argument;
    multiply(1);
    cblas_dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, 4, 4, 4, 1, a, 4, b, 3, 0, c, 4);
    return 0;
}

static int leaves_quickly(const char *argument)
{
    (void)argument;
    multiply(3);
    fflush(stdout);
    _exit(5);
}

static int kill_self(const char *argument)
{
    multiply(3);
    fflush(stdout);
    raise((int)strtol(argument, NULL, 10));
    return 0;
}

static int forks(const char *argument)
{
    (void)argument;
    multiply(3);
    int child = fork();
    if (child == 0) {
        multiply(2);
        _exit(3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    multiply(1);
    return 0;
}

static int executes(const char *argument)
{
    (void)argument;
    multiply(2);
    execl("/proc/self/exe", own_arguments[0], "basic", "4", (char *)NULL);
    return 9;
}

static int closes_all(const char *argument)
{
    (void)argument;
    multiply(1);
    close_range(3, UINT_MAX, 0);
    close(0);
    close(2);
    multiply(2);
    return 4;
}

static void *multiply_in_thread(void *context)
{
    double own[16];
    int times = *(const int *)context;
    for (int i = 0; i < times; i++) {
        cblas_dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, 4, 4, 4, 1, a, 4, b, 4, 0, own, 4);
    }
    return NULL;
}

static int threads(const char *argument)
{
    enum { COUNT = 32 };
    pthread_t all[COUNT];
    int times = (int)strtol(argument, NULL, 10);
    for (int i = 0; i < COUNT; i++) {
        pthread_create(&all[i], NULL, multiply_in_thread, &times);
    }
    for (int i = 0; i < COUNT; i++) {
        pthread_join(all[i], NULL);
    }
    return 0;
}

/* ARGUMENT: nofile, fsize, as, or narrow: address space for the program and a BLAS, and little more. The limit is set, then threads start and call. */
static int limits(const char *argument)
{
    int times = 4;
    pthread_t thread;
    struct rlimit none = { 3, 3 };
    struct rlimit nothing = { 0, 0 };
    rlim_t bytes = (rlim_t)(strcmp(argument, "narrow") == 0 ? 500 : 900) << 20;
    struct rlimit space = { bytes, bytes };
    if (strcmp(argument, "nofile") == 0) {
        setrlimit(RLIMIT_NOFILE, &none);
    } else if (strcmp(argument, "fsize") == 0) {
        setrlimit(RLIMIT_FSIZE, &nothing);
    } else {
        setrlimit(RLIMIT_AS, &space);
    }
    int child = fork(); /* attaches anew, under the limit */
    if (child == 0) {
        multiply(2);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (pthread_create(&thread, NULL, multiply_in_thread, &times) == 0) {
        pthread_join(thread, NULL);
    }
    multiply(2);
    return status;
}

static sigjmp_buf way_out;

static void on_fault(int signal)
{
    siglongjmp(way_out, signal);
}

/* Its own handler survives a fault inside a routine by a jump, and goes on calling. */
static int own_handler(const char *argument)
{
    (void)argument;
    struct sigaction action = { .sa_handler = on_fault };
    sigaction(SIGSEGV, &action, NULL);
    multiply(1);
    if (sigsetjmp(way_out, 1) == 0) {
        cblas_dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, 4, 4, 4, 1, a, 4, b, 4, 0, NULL, 4);
    } else {
        puts("survived");
    }
    multiply(2);
    return 6;
}

static int in_place(const char *argument)
{
    (void)argument;
    cblas_dscal(4, 2.0, a, 1);
    return 0;
}

static int fortran_characters(const char *argument)
{
    (void)argument;
    const int n = 4;
    const double one = 1;
    const double zero = 0;
    char unterminated[2] = { 'n', 'T' }; /* one letter each, no end */
    dgemm_(unterminated, unterminated + 1, &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
    return 0;
}

static int by_handle(const char *argument)
{
    union {
        void *object;
        double (*function)(int, const double *, int, const double *, int);
    } dot;
    void *handle = dlopen(argument, RTLD_NOW | RTLD_LOCAL);
    dot.object = handle != NULL ? dlsym(handle, "cblas_ddot") : NULL;
    printf("dot %g\n", dot.object != NULL ? dot.function(4, a, 1, b, 1) : -1);
    return 0;
}

/* Overflows in the product: Inf from finite data. */
static int overflow(const char *argument)
{
    for (int i = 0; i < 16; i++) {
        a[i] = 1e200;
    }
    int times = argument != NULL ? (int)strtol(argument, NULL, 10) : 1;
    for (int i = 0; i < times; i++) {
        cblas_dgemm(ROW_MAJOR, NO_TRANS, NO_TRANS, 4, 4, 4, 1, a, 4, a, 4, 0, c, 4);
    }
    return 0;
}

/* Inf from finite data in two routines, each as often as it says. */
static int two_failures(const char *argument)
{
    int times = (int)strtol(argument, NULL, 10);
    for (int i = 0; i < times; i++) {
        overflow(NULL);
        double x[4] = { 1e300, 1, 2, 3 };
        cblas_dscal(4, 1e300, x, 1);
    }
    return 0;
}

/* Calls until it is killed, two minutes at most; says so once it has begun. */
static int endless(const char *argument)
{
    struct timespec rest = { .tv_nsec = 1000000 };
    for (long i = 0; i < 120000; i++) {
        multiply(1);
        if (i == 100) {
            FILE *flag = fopen(argument, "w");
            fclose(flag);
        }
        nanosleep(&rest, NULL);
    }
    return 0;
}

/*
 * Calls until it is killed, two minutes or a little more; the first word of the mapped file tells how many have returned. So slowly that the ring holds what a
 * machine under load lets through between the end of the collector and that of the program.
 */
static int counted(const char *argument)
{
    int file = open(argument, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || ftruncate(file, sizeof(uint64_t)) != 0) {
        return 1;
    }
    _Atomic uint64_t *count = mmap(NULL, sizeof(*count), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (count == MAP_FAILED) {
        return 1;
    }
    struct timespec rest = { .tv_nsec = 2000000 };
    for (int i = 0; i < 60000; i++) {
        multiply(1);
        atomic_fetch_add(count, 1);
        nanosleep(&rest, NULL);
    }
    return 0;
}

/* 200 calls that take a while; says so in the middle. Its status is one that nobody else returns. */
static int steps(const char *argument)
{
    struct timespec rest = { .tv_nsec = 5000000 };
    for (int i = 0; i < 200; i++) {
        multiply(1);
        if (i == 100) {
            FILE *flag = fopen(argument, "w");
            fclose(flag);
        }
        nanosleep(&rest, NULL);
    }
    return 7;
}

static const struct {
    const char *name;
    int (*run)(const char *argument);
} modes[] = {
    { "basic", basic },
    { "huge_stride", huge_stride },
    { "null_operand", null_operand },
    { "wild_operand", wild_operand },
    { "bad_ld", bad_leading_dimension },
    { "quick_exit", leaves_quickly },
    { "raise", kill_self },
    { "forks", forks },
    { "executes", executes },
    { "closes_all", closes_all },
    { "threads", threads },

    { "limits", limits },
    { "own_handler", own_handler },
    { "in_place", in_place },
    { "characters", fortran_characters },
    { "by_handle", by_handle },
    { "overflow", overflow },
    { "two_failures", two_failures },
    { "endless", endless },
    { "counted", counted },
    { "steps", steps },
};

int main(int count, char **arguments)
{
    own_arguments = arguments;
    fill();
    for (size_t i = 0; count > 1 && i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(modes[i].name, arguments[1]) == 0) {
            int status = modes[i].run(count > 2 ? arguments[2] : NULL);
            printf("%s c[5]=%g a[1]=%g\n", arguments[1], c[5], a[1]);
            fflush(stdout);
            return status;
        }
    }
    fprintf(stderr, "record_victim: unknown mode\n");
    return 2;
}
