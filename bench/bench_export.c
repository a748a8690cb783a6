/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Export of a large run: processor time and bytes per call of each format, and the memory the exporter takes, with calls of dgemm in four threads,
 * nested in pairs, digests and health on every operand. Bundle and exports lie in the directory given (default /dev/shm). Medians.
 *
 *     bench_export [DIR] [CALLS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <opsdebug/bundle.h>
#include <opsdebug/random.h>
#include <opsdebug/view.h>

enum { RUNS = 3, THREADS = 4 };

static void must(opd_status status)
{
    if (status != OPD_OK) {
        (void)fprintf(stderr, "bench_export: %s\n", opd_error_text());
        exit(3);
    }
}

/* Processor time, so that other work on the machine does not count. */
static double processor_seconds(void)
{
    struct timespec time;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static opd_digest digest_of(uint64_t number)
{
    opd_digest digest;
    uint64_t halves[2] = { opd_random_u64(1, 0, number), opd_random_u64(2, 0, number) };

    memcpy(digest.bytes, halves, sizeof(halves));
    return digest;
}

/* A chain: each call reads the weights, which all share, and the output of the call before it. */
static void write_run(const char *path, uint32_t calls)
{
    static const opd_header_info header = { .version = OPD_FORMAT_VERSION, .kind = "run", .pid = 500 };
    const opd_routine *routine = opd_routine_find("dgemm");
    opd_writer *writer = NULL;
    opd_call call;

    must(opd_writer_open(&writer, path, &header));
    must(opd_call_init(&call, routine->op, routine->name, routine->dtype));
    call.pid = 500;
    for (uint32_t i = 0; i < calls; i++) {
        uint32_t number = i / THREADS;
        call.thread = 500 + i % THREADS;
        call.number = number + 1;
        call.begin_ns = 1000000 + (uint64_t)number / 2 * 5000 + number % 2 * 1000;
        call.end_ns = call.begin_ns + (number % 2 == 0 ? 4000 : 2000);
        call.depth = number % 2;
        for (int k = 0; k < call.operand_count; k++) {
            opd_operand *operand = &call.operands[k];
            operand->flags = OPD_OPERAND_HAS_HEALTH;
            operand->before =
                k == 0 ? digest_of(call.thread) : digest_of((uint64_t)i - (uint64_t)(k == 1 ? THREADS : 0));
            operand->after = (operand->role & OPD_ROLE_OUT) != 0 ? digest_of(i) : (opd_digest){ { 0 } };
            operand->health_before = (opd_health){ .min = -1, .max = 1, .mean = (double)i };
            operand->health_after = operand->health_before;
        }
        must(opd_writer_call(writer, &call));
    }
    must(opd_writer_close(writer));
}

typedef struct measure {
    double seconds;
    opd_view_report report;
    long peak_kib;
} measure;

/* In a process of its own, so that its memory can be told from the others'. */
static measure export_once(const char *from, const char *to, opd_view_format format)
{
    measure result;
    int ends[2];

    if (pipe(ends) != 0) {
        exit(3);
    }
    pid_t child = fork();
    if (child == 0) {
        opd_bundle *bundle = NULL;
        struct rusage usage;
        must(opd_bundle_open(&bundle, from));
        double begin = processor_seconds();
        must(opd_view_export(&result.report, bundle, to, format));
        result.seconds = processor_seconds() - begin;
        (void)getrusage(RUSAGE_SELF, &usage);
        result.peak_kib = usage.ru_maxrss;
        _exit(write(ends[1], &result, sizeof(result)) == (ssize_t)sizeof(result) ? 0 : 3);
    }
    ssize_t got = read(ends[0], &result, sizeof(result));
    (void)waitpid(child, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    if (got != (ssize_t)sizeof(result)) {
        (void)fprintf(stderr, "bench_export: the export failed\n");
        exit(3);
    }
    return result;
}

static int compare(const void *left, const void *right)
{
    double a = ((const measure *)left)->seconds;
    double b = ((const measure *)right)->seconds;

    return a < b ? -1 : a > b;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "/dev/shm";
    uint32_t calls = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 500000;
    char bundle[512];
    char trace[512];
    struct stat size;

    (void)snprintf(bundle, sizeof(bundle), "%s/bench_export-%d.opsb", folder, (int)getpid());
    write_run(bundle, calls);
    (void)printf("%u calls, bundle of %.1f bytes per call\n", calls,
                 stat(bundle, &size) == 0 ? (double)size.st_size / calls : 0.0);
    (void)printf("%-10s %12s %12s %10s %12s %10s\n", "format", "ns/call", "bytes/call", "flows", "peak MiB", "MiB/s");
    for (int format = 0; format < OPD_VIEW_FORMATS; format++) {
        measure runs[RUNS];
        (void)snprintf(trace, sizeof(trace), "%s/bench_export-%d.out", folder, (int)getpid());
        for (int run = 0; run < RUNS; run++) {
            runs[run] = export_once(bundle, trace, (opd_view_format)format);
        }
        qsort(runs, RUNS, sizeof(*runs), compare);
        const measure *middle = &runs[RUNS / 2];
        double bytes = (double)middle->report.bytes;
        (void)printf("%-10s %12.0f %12.1f %10llu %12.1f %10.0f\n", opd_view_format_name((opd_view_format)format),
                     middle->seconds * 1e9 / calls, bytes / calls, (unsigned long long)middle->report.flows,
                     (double)middle->peak_kib / 1024, bytes / 1048576 / middle->seconds);
        (void)unlink(trace);
    }
    (void)unlink(bundle);
    return 0;
}
