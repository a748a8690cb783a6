/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speed of elementwise operators beyond the cache, beside memcpy of the same size in the same rounds: bytes read and written per second,
 * medians over rounds in which everything takes its turn, processor time of one thread. SLEEF's vector functions, where the library is
 * there, run over the same arrays with the same streaming of their results; PyTorch is measured by bench/elementwise_torch.py.
 *
 * usage: bench_elementwise [MEGABYTES [FILTER]]    size of one operand, 64
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>
#include <opsdebug/random.h>

#if defined(OPD_HAVE_SLEEF)
#include "sleef_loops.h"
#endif

#define ROUNDS     9
#define MAX_PASSES 96
#define OPERANDS   5

struct pass {
    char name[64];
    opd_call call; /* no operands: run() over raw memory */
    const opd_variant *variant;
    void (*run)(float *to, const float *from, size_t count);
    size_t wanted; /* of a call */
    double bytes;  /* read and written */
    double rate[ROUNDS];
};

static struct pass passes[MAX_PASSES];
static int pass_count;
static void *memory[OPERANDS]; /* aligned to 64, within blocks */
static void *blocks[OPERANDS];
static size_t operand_bytes = (size_t)64 << 20;
static const char *filter = "";

static const struct {
    const char *name;
    opd_dtype dtype;
    const char *attributes;
    double low, high; /* of the inputs */
} wanted[] = {
    { "Abs", OPD_F32, NULL, -4, 4 },
    { "Relu", OPD_F32, NULL, -4, 4 },
    { "Add", OPD_F32, NULL, -4, 4 },
    { "Mul", OPD_F32, NULL, -4, 4 },
    { "Div", OPD_F32, NULL, 1, 4 },
    { "Sqrt", OPD_F32, NULL, 0, 4 },
    { "Max", OPD_F32, NULL, -4, 4 },
    { "Where", OPD_F32, NULL, -4, 4 },
    { "Clip", OPD_F32, NULL, -4, 4 },
    { "LeakyRelu", OPD_F32, NULL, -4, 4 },
    { "Exp", OPD_F32, NULL, -10, 10 },
    { "Log", OPD_F32, NULL, 0, 10 },
    { "Erf", OPD_F32, NULL, -4, 4 },
    { "Tanh", OPD_F32, NULL, -4, 4 },
    { "Sigmoid", OPD_F32, NULL, -10, 10 },
    { "Gelu", OPD_F32, NULL, -4, 4 },
    { "Gelu", OPD_F32, "approximate=tanh", -4, 4 },
    { "HardSwish", OPD_F32, NULL, -4, 4 },
    { "GeluAddResidual", OPD_F32, NULL, -4, 4 },
    { "Pow", OPD_F32, NULL, 0, 4 },
    { "Cast", OPD_F32, "to=10", -4, 4 },
    { "Cast", OPD_F16, "to=1", -4, 4 },
    { "Add", OPD_F64, NULL, -4, 4 },
    { "Exp", OPD_F64, NULL, -10, 10 },
    { "Add", OPD_F16, NULL, -4, 4 },
    { "Gelu", OPD_F16, NULL, -4, 4 },
    { "Add", OPD_BF16, NULL, -4, 4 },
    { "Add", OPD_I32, NULL, -99, 99 },
    { "Add", OPD_I8, NULL, -99, 99 },
};

static void copy_all(float *to, const float *from, size_t count)
{
    memcpy(to, from, count * sizeof(float));
}

static const struct {
    const char *name;
    void (*run)(float *to, const float *from, size_t count);
} raw_passes[] = {
    { "memcpy", copy_all },
#if defined(OPD_HAVE_SLEEF)
    { "SLEEF exp u10", sleef_exp },   { "SLEEF log u10", sleef_log }, { "SLEEF erf u10", sleef_erf },
    { "SLEEF tanh u10", sleef_tanh }, { "SLEEF gelu", sleef_gelu },
#endif
};

static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

/* One call per pass over whole operands; scalar bounds of Clip. */
static opd_status prepare(struct pass *pass, size_t which)
{
    char shapes[128];
    pass->wanted = which;
    long long count = (long long)(operand_bytes / (wanted[which].dtype == OPD_F64 ? 8 : 4));
    bool is_where = strcmp(wanted[which].name, "Where") == 0;
    const opd_op *op = opd_op_find("ai.onnx", wanted[which].name);
    op = op != NULL ? op : opd_op_find("opsdebug", wanted[which].name);
    (void)snprintf(shapes, sizeof shapes,
                   is_where                                           ? "[%lld];[%lld];[%lld]"
                   : strcmp(wanted[which].name, "Clip") == 0          ? "[%lld];[];[]"
                   : op != NULL && strchr(op->signature, ',') != NULL ? "[%lld];[%lld]"
                   : strcmp(wanted[which].name, "Max") == 0           ? "[%lld];[%lld]"
                                                                      : "[%lld]",
                   count, count, count);
    const opd_call_wish wish = { .dtype = wanted[which].dtype,
                                 .shapes = shapes,
                                 .attributes = wanted[which].attributes };
    opd_status status = op != NULL ? opd_call_make(&pass->call, op, &wish) : OPD_E_NOTFOUND;
    const opd_kernel *kernel = op != NULL ? opd_kernel_find(op->domain, op->name) : NULL;
    for (int i = 0; status == OPD_OK && i < pass->call.operand_count; i++) {
        opd_tensor *view = &pass->call.operands[i].view;
        bool is_output = i == pass->call.operand_count - 1;
        view->data = memory[is_output ? OPERANDS - 1 : i];
        pass->bytes += (double)opd_tensor_count(view) * (double)opd_dtype_size(view->dtype);
    }
    status = status == OPD_OK ? opd_kernel_choose(&pass->variant, kernel, &pass->call, NULL) : status;
    if (status == OPD_OK) {
        (void)snprintf(pass->name, sizeof pass->name, "%s %s%s%s (%s)", wanted[which].name,
                       opd_dtype_name(wanted[which].dtype), wanted[which].attributes != NULL ? " " : "",
                       wanted[which].attributes != NULL ? wanted[which].attributes : "", pass->variant->name);
    }
    return status;
}

/* The inputs of a call, a tile of random numbers repeated: filling is slower than what is measured. */
static void fill_inputs(const opd_call *call, double low, double high)
{
    for (int i = 0; i < call->operand_count - 1; i++) {
        const opd_tensor *view = &call->operands[i].view;
        size_t bytes = (size_t)opd_tensor_count(view) * opd_dtype_size(view->dtype);
        opd_tensor tile = *view;
        tile.shape[0] = view->rank > 0 && view->shape[0] > 65536 ? 65536 : tile.shape[0];
        size_t part = (size_t)opd_tensor_count(&tile) * opd_dtype_size(view->dtype);
        bool is_choice = view->dtype == OPD_BOOL;
        opd_fill fill = { .kind = is_choice ? OPD_FILL_INTEGERS : OPD_FILL_UNIFORM,
                          .a = is_choice ? 0 : low,
                          .b = is_choice ? 1 : high,
                          .seed = 3,
                          .stream = (uint64_t)i };
        opd_tensor_fill(&tile, &fill);
        for (size_t at = part; at < bytes; at += part) {
            memcpy((uint8_t *)view->data + at, view->data, bytes - at < part ? bytes - at : part);
        }
    }
}

static opd_status run(struct pass *pass, int round)
{
    const opd_workspace workspace = { .threads = 1 };
    double start = seconds();
    opd_status status = OPD_OK;
    if (pass->run != NULL) {
        pass->run(memory[OPERANDS - 1], memory[0], operand_bytes / sizeof(float));
    } else {
        status = opd_variant_run(pass->variant, &pass->call, &workspace);
    }
    pass->rate[round] = pass->bytes / (seconds() - start) * 1e-9;
    return status;
}

static opd_status add_passes(void)
{
    for (size_t i = 0; i < OPD_COUNT(raw_passes); i++) {
        struct pass *pass = &passes[pass_count++];
        pass->run = raw_passes[i].run;
        pass->bytes = 2.0 * (double)operand_bytes;
        (void)snprintf(pass->name, sizeof pass->name, "%s", raw_passes[i].name);
    }
    opd_status status = OPD_OK;
    for (size_t i = 0; i < OPD_COUNT(wanted) && status == OPD_OK; i++) {
        if (strstr(wanted[i].name, filter) != NULL) {
            status = prepare(&passes[pass_count++], i);
        }
    }
    return status;
}

static double median_of(const struct pass *pass)
{
    double sorted[ROUNDS];
    memcpy(sorted, pass->rate, sizeof sorted);
    qsort(sorted, ROUNDS, sizeof sorted[0], compare);
    return sorted[ROUNDS / 2];
}

/* The median of the ratios to memcpy of the same round. */
static double median_ratio(const struct pass *pass)
{
    double sorted[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        sorted[i] = pass->rate[i] / passes[0].rate[i];
    }
    qsort(sorted, ROUNDS, sizeof sorted[0], compare);
    return sorted[ROUNDS / 2];
}

static opd_status measure(void)
{
    opd_status status = OPD_OK;
    for (int round = -1; round < ROUNDS && status == OPD_OK; round++) { /* the first one is not counted */
        for (int i = 0; i < pass_count && status == OPD_OK; i++) {
            struct pass *pass = &passes[i];
            if (pass->run == NULL) {
                fill_inputs(&pass->call, wanted[pass->wanted].low, wanted[pass->wanted].high);
            }
            status = run(pass, round < 0 ? 0 : round);
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    operand_bytes = argc > 1 ? (size_t)strtoull(argv[1], NULL, 10) << 20 : operand_bytes;
    filter = argc > 2 ? argv[2] : filter;
    opd_status status = OPD_OK;
    for (int i = 0; i < OPERANDS && status == OPD_OK; i++) {
        status = opd_alloc(&blocks[i], operand_bytes + 63);
        if (status == OPD_OK) {
            memory[i] = (void *)(((uintptr_t)blocks[i] + 63) & ~(uintptr_t)63);
            memset(memory[i], 1, operand_bytes);
        }
    }
    status = status == OPD_OK ? add_passes() : status;
    status = status == OPD_OK ? measure() : status;
    if (status == OPD_OK) {
        (void)printf("operands of %zu MiB, one thread, medians of %d rounds\n%-40s %8s %10s\n", operand_bytes >> 20,
                     ROUNDS, "", "GB/s", "of memcpy");
    }
    for (int i = 0; i < pass_count && status == OPD_OK; i++) {
        (void)printf("%-40s %8.2f %9.0f%%\n", passes[i].name, median_of(&passes[i]), 100 * median_ratio(&passes[i]));
    }
    if (status != OPD_OK) {
        (void)fprintf(stderr, "bench_elementwise: %s\n", opd_error_text());
    }
    for (int i = 0; i < OPERANDS; i++) {
        opd_free(blocks[i]);
    }
    return status == OPD_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
