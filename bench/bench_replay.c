/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wall time of one replay from process start: `ops-debug replay` on a bundle with a dgemm of 1 MB of operands, medians of paired runs.
 * Beside it, in the same rounds, a bare program that only loads the same OpenBLAS and makes the same call.
 *
 *     bench_replay [OPS-DEBUG] [ROUNDS]       default: the ops-debug of this build, 25 rounds
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <opsdebug/bundle.h>
#include <opsdebug/random.h>

#define SIZE       209 /* three square f64 matrices: 1.05 MB */
#define ROUNDS_MAX 1000

static const char library[] = "libopenblas.so.0";

static void fill_case(opd_case *item)
{
    opd_call call;
    const opd_routine *routine = opd_routine_find("dgemm");
    static const char *const names[] = { "m", "n", "k" };
    opd_status status = opd_call_init(&call, routine->op, routine->name, routine->dtype);
    call.flags |= OPD_CALL_CBLAS;
    for (size_t i = 0; i < OPD_COUNT(names) && status == OPD_OK; i++) {
        status = opd_call_set(&call, names[i], SIZE);
    }
    if (status == OPD_OK) {
        status = opd_call_compact(&call);
    }
    if (status == OPD_OK) {
        status = opd_case_allocate(item, &call, (uint64_t)1 << 30);
    }
    if (status != OPD_OK) {
        fprintf(stderr, "bench_replay: %s\n", opd_error_text());
        exit(3);
    }
    for (int i = 0; i < item->call.operand_count; i++) {
        opd_fill fill = { .kind = OPD_FILL_NORMAL, .a = 0, .b = 1, .seed = 1, .stream = (uint64_t)i };
        opd_tensor_fill(&item->call.operands[i].view, &fill);
    }
}

static void write_bundle(const char *path)
{
    opd_header_info header = { .version = OPD_FORMAT_VERSION, .kind = "failure", .capture = "inputs" };
    opd_case item;
    opd_writer *writer = NULL;
    fill_case(&item);
    item.call.thread = 1;
    item.call.number = 1;
    if (opd_writer_open(&writer, path, &header) != OPD_OK || opd_writer_call_with_data(writer, &item.call) != OPD_OK ||
        opd_writer_close(writer) != OPD_OK) {
        fprintf(stderr, "bench_replay: %s\n", opd_error_text());
        exit(3);
    }
    opd_case_done(&item);
}

/* The peer: what any program pays that makes this call. */
static int run_bare(void)
{
    typedef void gemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *,
                      int);
    static double a[SIZE * SIZE];
    static double b[SIZE * SIZE];
    static double c[SIZE * SIZE];
    gemm *call = NULL;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *address = handle != NULL ? dlsym(handle, "cblas_dgemm") : NULL;
    if (address == NULL) {
        return 77;
    }
    memcpy(&call, &address, sizeof call);
    call(102, 111, 111, SIZE, SIZE, SIZE, 1.0, a, SIZE, b, SIZE, 1.0, c, SIZE);
    return 0;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double time_program(char *const *arguments, int *status)
{
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    double begin = seconds();
    if (posix_spawn(&pid, arguments[0], &actions, NULL, arguments, environ) != 0 || waitpid(pid, status, 0) != pid) {
        fprintf(stderr, "bench_replay: cannot run %s\n", arguments[0]);
        exit(3);
    }
    double end = seconds();
    posix_spawn_file_actions_destroy(&actions);
    return (end - begin) * 1e3;
}

static int compare(const void *a, const void *b)
{
    double one = *(const double *)a;
    double two = *(const double *)b;
    return one < two ? -1 : one > two;
}

int main(int argc, char **argv)
{
    static double replays[ROUNDS_MAX];
    static double bares[ROUNDS_MAX];
    char self[512];
    char path[] = "/tmp/bench-replay-XXXXXX.opsb";
    int status = 0;
    if (argc == 2 && strcmp(argv[1], "bare") == 0) {
        return run_bare();
    }
    long rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 25;
    rounds = rounds < 3 ? 3 : rounds > ROUNDS_MAX ? ROUNDS_MAX : rounds;
    int fd = mkstemps(path, 5);
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (fd < 0 || length <= 0) {
        return 3;
    }
    close(fd);
    self[length] = '\0';
    write_bundle(path);
    char *replay[] = { argc > 1 ? argv[1] : OPD_BENCH_PROGRAM, "replay", path, "--library", "openblas", NULL };
    char *bare[] = { self, "bare", NULL };
    for (long i = -2; i < rounds; i++) { /* two to warm up */
        double one = time_program(replay, &status);
        if (!WIFEXITED(status) || WEXITSTATUS(status) > 1) {
            fprintf(stderr, "bench_replay: the replay ended with status %d\n", WEXITSTATUS(status));
            unlink(path);
            return 3;
        }
        double two = time_program(bare, &status);
        if (i >= 0) {
            replays[i] = one;
            bares[i] = two;
        }
    }
    unlink(path);
    qsort(replays, (size_t)rounds, sizeof *replays, compare);
    qsort(bares, (size_t)rounds, sizeof *bares, compare);
    printf("replay of a %.2f MB bundle from process start: median %.1f ms (%.1f .. %.1f)\n",
           3.0 * SIZE * SIZE * 8 / 1e6, replays[rounds / 2], replays[0], replays[rounds - 1]);
    printf("bare program, the same library and call:        median %.1f ms (%.1f .. %.1f)\n", bares[rounds / 2],
           bares[0], bares[rounds - 1]);
    return 0;
}
