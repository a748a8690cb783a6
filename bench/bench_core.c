/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speed of the passes over element data, in GB/s of elements read, beside memcpy of the same bytes in the same run. Medians over
 * rounds in which every pass takes its turn, so that a slow spell of the machine falls on all of them; processor time of the thread, so
 * that other programs on the machine count less.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <opsdebug/memory.h>
#include <opsdebug/random.h>
#include <opsdebug/tensor.h>

#define ROUNDS      7
#define ROUND_TIME  0.02 /* seconds of one pass in one round, at least one run */
#define LARGE       ((size_t)64 << 20)
#define SMALL       ((size_t)256 << 10)
#define TINY        ((size_t)256)
#define BATCH_BYTES 1e6
#define MAX_PASSES  32

typedef struct pass {
    char name[64];
    opd_tensor view;
    void (*run)(const opd_tensor *view, void *copy);
    double rate[ROUNDS];
} pass;

static uint64_t sink; /* results end here, so that no pass is optimised away */

static void run_memcpy(const opd_tensor *view, void *copy)
{
    memcpy(copy, view->data, opd_tensor_packed_bytes(view));
}

static void run_digest(const opd_tensor *view, void *copy)
{
    (void)copy;
    opd_digest digest = opd_tensor_digest(view);
    sink += digest.bytes[0];
}

static void run_nonfinite(const opd_tensor *view, void *copy)
{
    (void)copy;
    opd_health health;
    opd_tensor_nonfinite(&health, view);
    sink += health.nan;
}

static void run_health(const opd_tensor *view, void *copy)
{
    (void)copy;
    opd_health health;
    opd_tensor_health(&health, view);
    sink += health.nan;
}

static void run_pack(const opd_tensor *view, void *copy)
{
    opd_tensor_pack(copy, view);
}

static void run_digest_health(const opd_tensor *view, void *copy)
{
    (void)copy;
    opd_digest digest;
    opd_health health;
    opd_tensor_scan(view, NULL, &digest, &health);
    sink += digest.bytes[0] + health.nan;
}

static void run_copy_digest(const opd_tensor *view, void *copy)
{
    opd_digest digest;
    opd_tensor_scan(view, copy, &digest, NULL);
    sink += digest.bytes[0];
}

static void run_scan(const opd_tensor *view, void *copy)
{
    opd_digest digest;
    opd_health health;
    opd_tensor_scan(view, copy, &digest, &health);
    sink += digest.bytes[0] + health.nan;
}

static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double rate_of(const pass *p, void *copy)
{
    double bytes = (double)opd_tensor_packed_bytes(&p->view);
    double start = seconds();
    double spent = 0.0;
    int runs = 0;
    int batch = bytes < BATCH_BYTES ? (int)(BATCH_BYTES / (bytes + 1.0))
                                    : 1; /* reading the clock takes longer than a tiny pass */
    do {
        for (int i = 0; i < batch; i++) {
            p->run(&p->view, copy);
        }
        runs += batch;
        spent = seconds() - start;
    } while (spent < ROUND_TIME);
    return bytes * runs / spent * 1e-9;
}

static int compare(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

static const struct {
    const char *name;
    void (*run)(const opd_tensor *view, void *copy);
} dense_passes[] = {
    { "memcpy", run_memcpy },
    { "digest", run_digest },
    { "nonfinite", run_nonfinite },
    { "health", run_health },
    { "digest+health", run_digest_health },
    { "copy+digest", run_copy_digest },
    { "copy+digest+health", run_scan },
};

static const opd_dtype dense_dtypes[] = { OPD_F32, OPD_F64, OPD_F16, OPD_BF16, OPD_C64, OPD_I32 };

static int add(pass *passes, int count, const char *name, opd_tensor view, void (*run)(const opd_tensor *, void *))
{
    passes[count].view = view;
    passes[count].run = run;
    (void)snprintf(passes[count].name, sizeof(passes[count].name), "%s %s", opd_dtype_name(view.dtype), name);
    return count + 1;
}

/* Views that are not one dense run. */
static int add_strided(pass *passes, int count, void *data, size_t bytes)
{
    int64_t side = 1;
    while ((size_t)(side * side) * 16 <= bytes) {
        side *= 2;
    }
    side /= 2;
    opd_tensor view = { .data = data, .dtype = OPD_F32, .rank = 2, .shape = { side, side }, .stride = { 1, 2 * side } };
    count = add(passes, count, "copy+digest+health, columns with ld = 2 m", view, run_scan);
    view.mask.kind = OPD_MASK_LOWER;
    count = add(passes, count, "copy+digest+health, lower triangle", view, run_scan);
    view.mask.kind = OPD_MASK_NONE;
    view.stride[0] = 2;
    count = add(passes, count, "pack, every second element", view, run_pack);
    count = add(passes, count, "copy+digest+health, every second element", view, run_scan);
    view.shape[0] = 3;
    view.shape[1] = side * side / 4;
    view.stride[0] = 1;
    view.stride[1] = 4;
    count = add(passes, count, "pack, 3 of every 4 elements", view, run_pack);
    return count;
}

/* blocks: one per dtype */
static void measure(void *const *blocks, void *copy, size_t bytes)
{
    static pass passes[MAX_PASSES * 2];
    int count = 0;
    for (size_t d = 0; d < OPD_COUNT(dense_dtypes); d++) {
        opd_tensor view = { .data = blocks[d], .dtype = dense_dtypes[d], .rank = 1, .stride = { 1 } };
        view.shape[0] = (int64_t)(bytes / opd_dtype_size(view.dtype));
        for (size_t i = 0; i < OPD_COUNT(dense_passes); i++) {
            bool is_of_bytes = dense_passes[i].run == run_memcpy || dense_passes[i].run == run_digest;
            if (d == 0 || !is_of_bytes) {
                count = add(passes, count, dense_passes[i].name, view, dense_passes[i].run);
            }
        }
    }
    count = add_strided(passes, count, blocks[0], bytes);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < count; i++) {
            passes[i].rate[round] = rate_of(&passes[i], copy);
        }
    }
    (void)printf("%zu bytes of elements: median, lowest, highest GB/s of %d rounds; median ns of one call\n", bytes,
                 ROUNDS);
    for (int i = 0; i < count; i++) {
        qsort(passes[i].rate, ROUNDS, sizeof(double), compare);
        (void)printf("  %-46s %7.2f %7.2f %7.2f %12.0f\n", passes[i].name, passes[i].rate[ROUNDS / 2],
                     passes[i].rate[0], passes[i].rate[ROUNDS - 1],
                     (double)opd_tensor_packed_bytes(&passes[i].view) / passes[i].rate[ROUNDS / 2]);
    }
}

int main(void)
{
    void *blocks[OPD_COUNT(dense_dtypes)] = { NULL };
    void *copy = NULL;
    int exit_code = EXIT_FAILURE;
    opd_fill fill = { .kind = OPD_FILL_NORMAL, .a = 0.0, .b = 100.0, .seed = 1 };
    for (size_t d = 0; d < OPD_COUNT(dense_dtypes); d++) {
        if (opd_alloc(&blocks[d], LARGE) != OPD_OK) {
            goto out;
        }
        opd_tensor view = { .data = blocks[d], .dtype = dense_dtypes[d], .rank = 1, .stride = { 1 } };
        int64_t whole = (int64_t)(LARGE / opd_dtype_size(view.dtype));
        view.shape[0] = whole / 16; /* the rest repeats it: filling is slower than what is measured */
        opd_tensor_fill(&view, &fill);
        for (size_t part = 1; part < 16; part++) {
            memcpy((uint8_t *)blocks[d] + part * (LARGE / 16), blocks[d], LARGE / 16);
        }
    }
    if (opd_alloc(&copy, LARGE) != OPD_OK) {
        goto out;
    }
    memset(copy, 1, LARGE);
    measure(blocks, copy, LARGE);
    measure(blocks, copy, SMALL);
    measure(blocks, copy, TINY);
    exit_code = sink == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
out:
    if (copy == NULL) {
        (void)fprintf(stderr, "bench_core: %s\n", opd_error_text());
    }
    opd_free(copy);
    for (size_t d = 0; d < OPD_COUNT(dense_dtypes); d++) {
        opd_free(blocks[d]);
    }
    return exit_code;
}
