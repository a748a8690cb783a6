/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_linear [PAIRS]: what a call of MatMul costs beside the bare CBLAS call at 16x16x16, and FusedAttention of 8 heads of 1024 rows of 64
 * beside its unfused chain and PyTorch. Medians of runs taken in turn.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

enum { MAX_PAIRS = 1001, CALLS = 2000 };

static double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

static double median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof values[0], compare);
    return values[count / 2];
}

static void check(opd_status status)
{
    if (status != OPD_OK) {
        fprintf(stderr, "bench_linear: %s\n", opd_error_text());
        exit(3);
    }
}

static void make(opd_call *call, const char *domain, const char *name, const char *shapes)
{
    opd_call_wish wish = { .dtype = OPD_F32, .shapes = shapes };
    check(opd_call_make(call, opd_op_find(domain, name), &wish));
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        if ((operand->flags & OPD_OPERAND_ABSENT) == 0) {
            size_t size = (size_t)opd_tensor_count(&operand->view) * opd_dtype_size(operand->view.dtype);
            operand->view.data = aligned_alloc(64, (size + 127) / 64 * 64);
            memset(operand->view.data, 0, size); /* pages are there before the first run */
        }
    }
    check(opd_call_generate(call, 1, NULL));
}

/* ---------------------------------------------------------------------------------------------------- dispatch */

typedef void sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                   const float *b, int ldb, float beta, float *c, int ldc);

static void bench_dispatch(int pairs)
{
    static double bare[MAX_PAIRS];
    static double run[MAX_PAIRS];
    static double chosen[MAX_PAIRS];
    static opd_call call;
    make(&call, "ai.onnx", "MatMul", "[16,16];[16,16]");
    const opd_kernel *kernel = opd_kernel_find("ai.onnx", "MatMul");
    const opd_variant *variant = NULL;
    check(opd_kernel_choose(&variant, kernel, &call, "openblas"));
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library != NULL ? dlsym(library, "cblas_sgemm") : NULL;
    sgemm *cblas_sgemm = NULL;
    memcpy(&cblas_sgemm, &symbol, sizeof symbol);
    if (cblas_sgemm == NULL) {
        printf("no libopenblas.so.0: dispatch is not measured\n");
        return;
    }
    const float *a = call.operands[0].view.data;
    const float *b = call.operands[1].view.data;
    float *c = call.operands[2].view.data;
    opd_workspace workspace = { .threads = 1 };
    for (int pair = 0; pair < pairs; pair++) {
        double start = now_ns();
        for (int i = 0; i < CALLS; i++) {
            cblas_sgemm(101, 111, 111, 16, 16, 16, 1, a, 16, b, 16, 0, c, 16);
        }
        double middle = now_ns();
        for (int i = 0; i < CALLS; i++) {
            check(opd_variant_run(variant, &call, &workspace));
        }
        double end = now_ns();
        for (int i = 0; i < CALLS; i++) {
            check(opd_kernel_choose(&variant, kernel, &call, NULL));
            check(opd_variant_run(variant, &call, &workspace));
        }
        chosen[pair] = (now_ns() - end) / CALLS - (middle - start) / CALLS;
        run[pair] = (end - middle) / CALLS - (middle - start) / CALLS;
        bare[pair] = (middle - start) / CALLS;
    }
    printf("MatMul f32 16x16x16: cblas_sgemm %.0f ns; opd_variant_run %+.0f ns, opd_kernel_choose and it %+.0f ns\n",
           median(bare, pairs), median(run, pairs), median(chosen, pairs));
}

/* --------------------------------------------------------------------------------------------------- attention */

typedef struct torch_process {
    FILE *to, *from;
} torch_process;

/* PyTorch in a process of its own: a line in, milliseconds of one run out. */
static bool start_torch(torch_process *out, int32_t threads)
{
    char count[16];
    snprintf(count, sizeof count, "%d", threads);
    int to[2];
    int from[2];
    if (pipe(to) != 0 || pipe(from) != 0) {
        return false;
    }
    pid_t child = fork();
    if (child == 0) {
        dup2(to[0], 0);
        dup2(from[1], 1);
        close(to[1]);
        close(from[0]);
        execl("/usr/bin/python3", "python3", OPD_BENCH_TORCH, count, (char *)NULL);
        _exit(127);
    }
    close(to[0]);
    close(from[1]);
    out->to = fdopen(to[1], "w");
    out->from = fdopen(from[0], "r");
    char line[256];
    return child > 0 && out->from != NULL && fgets(line, sizeof line, out->from) != NULL && printf("%s", line) > 0;
}

static bool ask_torch(const torch_process *torch, double *plain, double *fused)
{
    char line[128];
    fprintf(torch->to, "run\n");
    fflush(torch->to);
    return fgets(line, sizeof line, torch->from) != NULL && sscanf(line, "%lf %lf", plain, fused) == 2;
}

static double time_run(const opd_variant *variant, const opd_call *call, const opd_workspace *workspace)
{
    double start = now_ns();
    check(opd_variant_run(variant, call, workspace));
    return (now_ns() - start) / 1e6;
}

static void prepare(const opd_variant **variant, opd_workspace *workspace, const opd_call *call, const char *name)
{
    check(opd_kernel_choose(variant, opd_kernel_find("opsdebug", "FusedAttention"), call, name));
    workspace->size = (*variant)->workspace(call, workspace->threads);
    workspace->bytes = aligned_alloc(64, workspace->size);
    memset(workspace->bytes, 0, workspace->size);
}

static void bench_attention(int pairs, int32_t threads)
{
    static double times[4][MAX_PAIRS];
    static double ratios[3][MAX_PAIRS];
    static opd_call call;
    make(&call, "opsdebug", "FusedAttention", "[1,8,1024,64];[1,8,1024,64];[1,8,1024,64]");
    const opd_variant *fused = NULL;
    const opd_variant *chain = NULL;
    opd_workspace own = { .threads = threads };
    opd_workspace whole = { .threads = threads };
    torch_process torch = { NULL, NULL };
    bool has_torch = start_torch(&torch, threads);
    prepare(&fused, &own, &call, NULL);
    prepare(&chain, &whole, &call, "unfused");
    for (int i = 0; i < pairs; i++) {
        times[0][i] = time_run(fused, &call, &own);
        times[1][i] = time_run(chain, &call, &whole);
        has_torch = has_torch && ask_torch(&torch, &times[2][i], &times[3][i]);
        for (int j = 0; j < 3; j++) {
            ratios[j][i] = times[j + 1][i] / times[0][i];
        }
    }
    double flops = opd_call_flops(&call);
    double best = median(times[0], pairs);
    printf(
        "FusedAttention f32 B=1 H=8 S=1024 D=64, %d threads: %s %.2f ms (%.1f GFLOP/s, workspace %zu KiB), unfused %.2f ms "
        "(x%.2f, workspace %zu KiB)\n",
        threads, fused->name, best, flops / best / 1e6, own.size / 1024, median(times[1], pairs),
        median(ratios[0], pairs), whole.size / 1024);
    if (has_torch) {
        printf("  PyTorch: matmul, softmax, matmul %.2f ms (x%.2f), scaled_dot_product_attention %.2f ms (x%.2f)\n",
               median(times[2], pairs), median(ratios[1], pairs), median(times[3], pairs), median(ratios[2], pairs));
    } else {
        printf("  PyTorch: python3-torch is not installed (scripts/setup bench)\n");
    }
}

int main(int argc, char **argv)
{
    int pairs = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 31;
    if (pairs < 1 || pairs > MAX_PAIRS) {
        fprintf(stderr, "bench_linear: PAIRS is 1 to %d\n", MAX_PAIRS);
        return 2;
    }
    bench_dispatch(pairs);
    bench_attention(pairs, (int32_t)sysconf(_SC_NPROCESSORS_ONLN));
    return 0;
}
