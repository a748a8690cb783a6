/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speed of tensor data into and out of a bundle on one thread: MB/s of elements, compression included, files in the directory given
 * (default /dev/shm, so that the disk is not what is measured). Medians of several runs, each on a new file; memcpy, zstd at levels 1
 * and 3 and, where it is installed, Blosc (byte shuffle, zstd 1) on the same bytes beside it, in memory.
 *
 *     bench_bundle [DIR] [MEBIBYTES] [WORKLOAD]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zstd.h>
#ifdef OPD_WITH_BLOSC
#include <blosc.h>
#endif

#include <opsdebug/bundle.h>
#include <opsdebug/random.h>

#define RUNS 7

typedef struct workload {
    const char *name;
    opd_dtype dtype;
    const char *fill;
    bool is_relu;
} workload;

static const workload workloads[] = {
    { "f32 normal", OPD_F32, "normal", false },       { "f64 normal", OPD_F64, "normal", false },
    { "bf16 normal", OPD_BF16, "normal", false },     { "f32 zeros", OPD_F32, "constant:0", false },
    { "f32 relu", OPD_F32, "normal", true },          { "f32 small integers", OPD_F32, "integers:0:15", false },
    { "u8 random", OPD_U8, "integers:0:255", false },
};

/* Time of this core, so that a busy machine does not count. */
static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return left < right ? -1 : left > right;
}

static double median(double *values)
{
    qsort(values, RUNS, sizeof(*values), compare);
    return values[RUNS / 2];
}

static void check(opd_status status)
{
    if (status != OPD_OK) {
        fprintf(stderr, "bench_bundle: %s\n", opd_error_text());
        exit(3);
    }
}

static double write_once(const char *path, const opd_tensor *view, const opd_digest *digest, const void *data,
                         uint64_t *stored)
{
    opd_header_info header = { .kind = "run" };
    opd_writer *writer = NULL;

    check(opd_writer_open(&writer, path, &header));
    double start = now();
    check(opd_writer_tensor(writer, digest, view, data));
    check(opd_writer_flush(writer));
    double seconds = now() - start;
    *stored = opd_writer_size(writer);
    check(opd_writer_close(writer));
    return seconds;
}

static double load_once(void *dst, const char *path, const opd_tensor *view, const opd_digest *digest,
                        double *open_seconds)
{
    opd_bundle *bundle = NULL;
    double start = now();

    check(opd_bundle_open(&bundle, path));
    *open_seconds = now() - start;
    check(opd_bundle_tensor(dst, (size_t)opd_tensor_packed_bytes(view), bundle, digest, view));
    double seconds = now() - start;
    opd_bundle_close(bundle);
    return seconds;
}

/* Another compressor: bytes it makes of src. */
typedef size_t squeeze(void *dst, size_t capacity, const void *src, size_t bytes, size_t element);

static size_t by_zstd_1(void *dst, size_t capacity, const void *src, size_t bytes, size_t element)
{
    (void)element;
    return ZSTD_compress(dst, capacity, src, bytes, 1);
}

static size_t by_zstd_3(void *dst, size_t capacity, const void *src, size_t bytes, size_t element)
{
    (void)element;
    return ZSTD_compress(dst, capacity, src, bytes, 3);
}

#ifdef OPD_WITH_BLOSC
static size_t by_blosc(void *dst, size_t capacity, const void *src, size_t bytes, size_t element)
{
    int made = blosc_compress_ctx(1, BLOSC_SHUFFLE, element, bytes, src, dst, capacity, "zstd", 0, 1);
    return made > 0 ? (size_t)made : 0;
}
#endif

static const struct peer {
    const char *name;
    squeeze *run;
} peers[] = {
    { "zstd -1", by_zstd_1 },
    { "zstd -3", by_zstd_3 },
#ifdef OPD_WITH_BLOSC
    { "Blosc", by_blosc },
#endif
};

/* MB/s and ratio of each peer on the same bytes. */
static void run_peers(const void *data, size_t bytes, size_t element)
{
    size_t capacity = ZSTD_compressBound(bytes) + 4096;
    void *packed = NULL;

    check(opd_alloc(&packed, capacity));
    for (size_t i = 0; i < OPD_COUNT(peers); i++) {
        double seconds[RUNS];
        size_t made = 0;
        for (int k = 0; k < RUNS; k++) {
            double start = now();
            made = peers[i].run(packed, capacity, data, bytes, element);
            seconds[k] = now() - start;
        }
        printf(" %8.0f %6.3f", (double)bytes / median(seconds) / 1e6, (double)made / (double)bytes);
    }
    printf("\n");
    opd_free(packed);
}

static void run(const workload *work, const char *path, size_t bytes)
{
    double writes[RUNS];
    double loads[RUNS];
    double opens[RUNS];
    double copies[RUNS];
    int64_t count = (int64_t)(bytes / opd_dtype_size(work->dtype));
    uint64_t stored = 0;
    void *data = NULL;
    void *back = NULL;
    opd_tensor view;
    opd_fill fill;

    check(opd_alloc(&data, bytes));
    check(opd_alloc(&back, bytes));
    check(opd_tensor_contiguous(&view, work->dtype, 1, &count, data));
    check(opd_fill_parse(&fill, work->fill));
    opd_tensor_fill(&view, &fill);
    for (int64_t i = 0; work->is_relu && i < count; i++) {
        float *value = (float *)data + i;
        *value = *value > 0 ? *value : 0;
    }
    opd_digest digest = opd_tensor_digest(&view);
    for (int i = 0; i < RUNS; i++) {
        double start = now();
        memcpy(back, data, bytes);
        copies[i] = now() - start;
        writes[i] = write_once(path, &view, &digest, data, &stored);
        loads[i] = load_once(back, path, &view, &digest, &opens[i]);
        if (memcmp(back, data, bytes) != 0) {
            fprintf(stderr, "bench_bundle: %s came back different\n", work->name);
            exit(3);
        }
    }
    unlink(path);
    printf("%-20s %9.0f %9.0f %9.0f %8.3f %9.3f", work->name, (double)bytes / median(writes) / 1e6,
           (double)bytes / median(loads) / 1e6, (double)bytes / median(copies) / 1e6, (double)stored / (double)bytes,
           median(opens) * 1e3);
    run_peers(data, bytes, opd_dtype_size(work->dtype));
    opd_free(data);
    opd_free(back);
}

int main(int argc, char **argv)
{
    const char *directory = argc > 1 ? argv[1] : "/dev/shm";
    size_t bytes = (size_t)(argc > 2 ? strtoul(argv[2], NULL, 10) : 128) << 20;
    char path[4096];

    snprintf(path, sizeof(path), "%s/bench-%ld.opsb", directory, (long)getpid());
    printf("%zu MiB per tensor, medians of %d runs, in %s\n", bytes >> 20, RUNS, directory);
    printf("%-20s %9s %9s %9s %8s %9s", "data", "write MB/s", "load MB/s", "memcpy", "ratio", "open ms");
    for (size_t i = 0; i < OPD_COUNT(peers); i++) {
        printf(" %15s", peers[i].name);
    }
    printf("\n");
    for (size_t i = 0; i < OPD_COUNT(workloads); i++) {
        if (argc <= 3 || strcmp(argv[3], workloads[i].name) == 0) {
            run(&workloads[i], path, bytes);
        }
    }
    return 0;
}
