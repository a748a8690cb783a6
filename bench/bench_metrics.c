/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speed of opd_metrics_compare on two arrays of f32 beside memcmp of the same bytes, in the same run: equal arrays take the first pass
 * only, arrays with rounding differences all three. Medians of paired runs, in this core's time. bench_metrics.py does the same in numpy.
 *
 *     bench_metrics [MEBIBYTES]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <opsdebug/metrics.h>
#include <opsdebug/random.h>

#define RUNS 9

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int order(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;
    return left < right ? -1 : left > right;
}

static double median(double *values)
{
    qsort(values, RUNS, sizeof *values, order);
    return values[RUNS / 2];
}

static double time_of_memcmp(const opd_tensor *a, const opd_tensor *b, size_t bytes)
{
    double begin = now();
    int differs = memcmp(a->data, b->data, bytes);
    double end = now();
    if (differs == 2) { /* never: keeps the call */
        abort();
    }
    return end - begin;
}

static double time_of_metrics(opd_metrics *out, const opd_tensor *a, const opd_tensor *b)
{
    double begin = now();
    if (opd_metrics_compare(out, a, b) != OPD_OK) {
        fprintf(stderr, "bench_metrics: %s\n", opd_error_text());
        exit(3);
    }
    return now() - begin;
}

int main(int argc, char **argv)
{
    size_t bytes = (argc > 1 ? (size_t)strtoul(argv[1], NULL, 10) : 64) << 20;
    int64_t count = (int64_t)(bytes / 4);
    float *memory[3];
    opd_tensor view[3];
    for (int i = 0; i < 3; i++) {
        memory[i] = malloc(bytes);
        if (memory[i] == NULL || opd_tensor_contiguous(&view[i], OPD_F32, 1, &count, memory[i]) != OPD_OK) {
            return 3;
        }
    }
    opd_fill fill = { .kind = OPD_FILL_NORMAL, .b = 1, .seed = 1 };
    opd_tensor_fill(&view[0], &fill);
    memcpy(memory[1], memory[0], bytes);
    for (int64_t i = 0; i < count; i++) { /* errors of a few units in the last place */
        memory[2][i] = memory[0][i] * (1.0F + 0x1p-23F * (float)((int)(opd_random_u64(2, 0, (uint64_t)i) % 9) - 4));
    }
    double base[RUNS];
    double first[RUNS];
    double all[RUNS];
    opd_metrics metrics;
    for (int i = 0; i < RUNS; i++) {
        base[i] = time_of_memcmp(&view[0], &view[1], bytes);
        first[i] = time_of_metrics(&metrics, &view[1], &view[0]);
        all[i] = time_of_metrics(&metrics, &view[2], &view[0]);
    }
    double reference = median(base);
    printf("memcmp of 2 x %zu MiB    %7.1f ms  %5.1f GB/s\n", bytes >> 20, 1e3 * reference,
           2e-9 * (double)bytes / reference);
    printf("first pass (equal)       %7.1f ms  %5.2f x memcmp\n", 1e3 * median(first), median(first) / reference);
    printf("all figures (differing)  %7.1f ms  %5.2f x memcmp\n", 1e3 * median(all), median(all) / reference);
    printf("ulp p50 %g p95 %g p99 %g max %g, rel p99 %g\n", metrics.ulp[OPD_P50], metrics.ulp[OPD_P95],
           metrics.ulp[OPD_P99], metrics.max_ulp, metrics.rel[OPD_P99]);
    for (int i = 0; i < 3; i++) {
        free(memory[i]);
    }
    return 0;
}
