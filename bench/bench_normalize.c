/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Speed of reductions and norms, in GB/s of elements read plus written once, beside memcpy of the same bytes in the same run: medians over rounds in
 * which all take their turn, in processor time of one thread, so that other programs count less. Arguments: variant (default: the fastest),
 * megabytes of the input (default 128).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

enum { ROUNDS = 9, MAX_PASSES = 32 };

typedef struct pass {
    char name[192];
    opd_call call;
    const opd_variant *variant;
    opd_workspace workspace;
    double bytes; /* read and written once */
    double rate[ROUNDS];
} pass;

static const struct subject {
    const char *domain, *op, *shapes, *attributes; /* shapes: %lld takes the rows */
    int64_t row;                                   /* elements that one row stands for */
} subjects[] = {
    { "ai.onnx", "Softmax", "f32[%lld,1024]", "", 1024 },
    { "ai.onnx", "LayerNormalization", "f32[%lld,1024];[1024];[1024]", "", 1024 },
    { "ai.onnx", "Softmax", "f32[%lld,64]", "", 64 },
    { "ai.onnx", "LayerNormalization", "f32[%lld,64];[64];[64]", "", 64 },
    { "ai.onnx", "Softmax", "f32[%lld,16384]", "", 16384 },
    { "ai.onnx", "LayerNormalization", "f32[%lld,16384];[16384];[16384]", "", 16384 },
    { "ai.onnx", "Softmax", "f32[%lld,64,256]", "axis=1", 64 * 256 },
    { "ai.onnx", "LogSoftmax", "f32[%lld,1024]", "", 1024 },
    { "ai.onnx", "Softmax", "f64[%lld,1024]", "", 2048 },
    { "ai.onnx", "Softmax", "f16[%lld,1024]", "", 512 },
    { "ai.onnx", "LayerNormalization", "bf16[%lld,1024];[1024];[1024]", "", 512 },
    { "ai.onnx", "RMSNormalization", "f32[%lld,1024];[1024]", "", 1024 },
    { "ai.onnx", "InstanceNormalization", "f32[%lld,16,1024];[16];[16]", "", 16384 },
    { "ai.onnx", "BatchNormalization", "f32[%lld,16,1024];[16];[16];[16];[16]", "", 16384 },
    { "ai.onnx", "LpNormalization", "f32[%lld,64,256]", "axis=1", 16384 },
    { "opsdebug", "AddLayerNorm", "f32[%lld,1024];[%lld,1024];[1024];[1024]", "", 2048 },
    { "opsdebug", "WindowL2Normalization", "f32[%lld,16,32,32]", "", 16384 },
    { "ai.onnx", "ReduceSum", "f32[%lld,1024];[1]", "", 1024 },
    { "ai.onnx", "ReduceMax", "f32[%lld,64,256]", "", 16384 },
    { "ai.onnx", "CumSum", "f32[%lld,64,256];[]", "", 16384 },
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

static opd_status give_memory(opd_call *call, opd_role role)
{
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        if (operand->role != role || (operand->flags & OPD_OPERAND_ABSENT) != 0 || operand->view.data != NULL) {
            continue;
        }
        size_t bytes = (size_t)opd_tensor_count(&operand->view) * opd_dtype_size(operand->view.dtype);
        opd_status status = opd_alloc(&operand->view.data, bytes);
        if (status != OPD_OK) {
            return status;
        }
        memset(operand->view.data, 0, bytes); /* the pages are there before the clock runs */
    }
    return OPD_OK;
}

static opd_status prepare(pass *out, const struct subject *subject, const char *variant, int64_t elements)
{
    char shapes[128];
    long long rows = elements / subject->row;
    size_t at = 0;
    for (const char *p = subject->shapes; *p != '\0' && at + 24 < sizeof shapes; p++) {
        if (strncmp(p, "%lld", 4) == 0) {
            at += (size_t)snprintf(shapes + at, sizeof shapes - at, "%lld", rows);
            p += 3;
        } else {
            shapes[at++] = *p;
        }
        shapes[at] = '\0';
    }
    opd_call_wish wish = { .shapes = shapes, .attributes = subject->attributes };
    const opd_kernel *kernel = opd_kernel_find(subject->domain, subject->op);
    opd_status status = opd_call_make(&out->call, opd_op_find(subject->domain, subject->op), &wish);
    if (status == OPD_OK) {
        status = give_memory(&out->call, OPD_ROLE_IN);
    }
    if (status == OPD_OK) {
        status = opd_call_generate(&out->call, 1, NULL);
    }
    if (status == OPD_OK) {
        status = give_memory(&out->call, OPD_ROLE_OUT);
    }
    if (status == OPD_OK) {
        status = opd_kernel_choose(&out->variant, kernel, &out->call, variant);
    }
    if (status != OPD_OK) {
        return status;
    }
    out->workspace.threads = 1;
    out->workspace.size = out->variant->workspace != NULL ? out->variant->workspace(&out->call, 1) : 0;
    out->bytes = opd_call_bytes(&out->call);
    (void)snprintf(out->name, sizeof out->name, "%s %s %s", subject->op, shapes, subject->attributes);
    return opd_alloc(&out->workspace.bytes, out->workspace.size + 64);
}

static void release(pass *p)
{
    for (int i = 0; i < p->call.operand_count; i++) {
        opd_free(p->call.operands[i].view.data);
    }
    opd_free(p->workspace.bytes);
}

/* One operator and memcpy in turns: an own pair of rates for each, as the memory of all at once would not fit. */
static opd_status measure(const struct subject *subject, const char *variant, size_t bytes, void *const *copy)
{
    pass p = { .bytes = 0 };
    double memcpy_rate[ROUNDS];
    opd_status status = prepare(&p, subject, variant, (int64_t)(bytes / sizeof(float)));
    for (int round = -1; round < ROUNDS && status == OPD_OK; round++) {
        double start = seconds();
        memcpy(copy[1], copy[0], bytes);
        double between = seconds();
        status = opd_variant_run(p.variant, &p.call, &p.workspace);
        double end = seconds();
        if (round >= 0) {
            memcpy_rate[round] = 2.0 * (double)bytes / (between - start) * 1e-9;
            p.rate[round] = p.bytes / (end - between) * 1e-9;
        }
    }
    if (status == OPD_OK) {
        qsort(p.rate, ROUNDS, sizeof p.rate[0], compare);
        qsort(memcpy_rate, ROUNDS, sizeof memcpy_rate[0], compare);
        double median = p.rate[ROUNDS / 2];
        (void)printf("  %-62s %-9s %7.2f %7.2f %7.2f   %5.0f %%\n", p.name, p.variant->name, median, p.rate[0],
                     p.rate[ROUNDS - 1], 100.0 * median / memcpy_rate[ROUNDS / 2]);
        (void)fflush(stdout);
    }
    release(&p);
    return status;
}

int main(int argc, char **argv)
{
    const char *variant = argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL;
    size_t bytes = (size_t)(argc > 2 ? strtoul(argv[2], NULL, 10) : 128) << 20;
    void *copy[2] = { NULL, NULL };
    opd_status status = opd_alloc(&copy[0], bytes);
    if (status == OPD_OK) {
        status = opd_alloc(&copy[1], bytes);
    }
    if (status == OPD_OK) {
        memset(copy[0], 1, bytes);
        memset(copy[1], 1, bytes);
        (void)printf("%zu MB of input: median, lowest, highest GB/s of %d rounds; share of memcpy's\n", bytes >> 20,
                     ROUNDS);
    }
    for (size_t i = 0; i < OPD_COUNT(subjects) && status == OPD_OK; i++) {
        status = measure(&subjects[i], variant, bytes, copy);
    }
    if (status != OPD_OK) {
        (void)fprintf(stderr, "bench_normalize: %s\n", opd_error_text());
    }
    opd_free(copy[0]);
    opd_free(copy[1]);
    return status == OPD_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
