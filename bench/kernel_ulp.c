/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The greatest error of every optimised variant of every registered operator against its definition in wide precision, and of that against
 * MPFR where MPFR has the function, as Markdown tables. What is measured is what the contract bounds: units in the last place, error over
 * the gauge, or differing elements. Elementwise operators of one input see all bit patterns of f16 and bf16, and every STRIDE-th of f32.
 *
 * usage: kernel_ulp [STRIDE [NAME]]    an odd STRIDE; 1: all 2^32, which takes hours
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>
#include <opsdebug/random.h>

#include "mpfr_functions.h"

#define BATCH        65536 /* elements of a call of bit patterns */
#define BATCH_SHAPE  "[65536]"
#define MPFR_STEP    509  /* every so many elements are held against MPFR */
#define TIME_LIMIT   20.0 /* seconds of processor time for one operator and dtype with generated inputs */
#define MAX_VARIANTS 16

static uint64_t stride = 997;

static const opd_dtype dtypes[] = { OPD_F32, OPD_F64, OPD_F16, OPD_BF16 };
static const char *const fills[] = {
    NULL, "normal:0:1", "uniform:0:1", "longtail:1:2", "normal:0:20", "normal:1000:1"
};

struct figure {
    const opd_variant *variant;
    double worst;
    double at; /* the input of the worst, of bit patterns */
    uint64_t elements, class_errors;
};

struct subject {
    const opd_kernel *kernel;
    const opd_op *op;
    opd_dtype dtype;
    const char *attributes;
    const mpfr_function *truth;
    bool is_patterned; /* inputs are bit patterns */
    struct figure figures[MAX_VARIANTS];
    int count;
    double truth_worst; /* of the reference against MPFR, in units of 2^-64 of the value */
    uint64_t truth_elements;
};

static double seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long double element(const opd_tensor *view, int64_t flat)
{
    int64_t index[OPD_MAX_RANK];
    opd_tensor_unflatten(view, flat, index);
    return opd_element_load_wide(view->dtype, (const uint8_t *)view->data + opd_tensor_offset(view, index));
}

/* ---------------------------------------------------------------------------------------------------- judging */

/* In the measure of the contract's bound. */
static double error_of(const struct subject *subject, const opd_tensor *view, long double got, long double want,
                       long double gauge)
{
    long double error = fabsl(got - want);
    long double ulp = (long double)opd_dtype_ulp(view->dtype, (double)want);
    switch (subject->op->bound.kind) {
    case OPD_BOUND_ULP:
        return (double)(error / ulp);
    default: {
        long double eps = (long double)opd_dtype_epsilon(view->dtype == OPD_F64 ? OPD_F64 : OPD_F32);
        long double excess = error - ulp / 2 - (long double)opd_dtype_ulp(view->dtype, 0);
        return excess <= 0 ? 0 : gauge > 0 ? (double)(excess / (eps * gauge)) : HUGE_VAL;
    }
    }
}

static void judge(struct figure *figure, const struct subject *subject, const opd_call *call, int operand,
                  const long double *want, const long double *gauge)
{
    const opd_tensor *view = &call->operands[operand].view;
    int64_t count = opd_tensor_count(view);
    for (int64_t i = 0; i < count; i++) {
        long double got = element(view, i);
        uint64_t bits[2] = { 0 };
        opd_element_store_wide(view->dtype, bits, want[i]);
        long double rounded = opd_element_load_wide(view->dtype, bits);
        figure->elements++;
        if (!isfinite(rounded) || !isfinite(got)) {
            bool is_same = got == rounded || (isnan(got) && isnan(rounded));
            figure->class_errors += !is_same;
            continue;
        }
        if (subject->op->bound.kind == OPD_BOUND_BITS) {
            figure->worst += got != rounded;
            continue;
        }
        double error = error_of(subject, view, got, want[i], gauge[i]);
        if (error > figure->worst) {
            figure->worst = error;
            figure->at = (double)element(&call->operands[0].view, subject->is_patterned ? i : 0);
        }
    }
}

static void judge_reference(struct subject *subject, const opd_call *call, const long double *want)
{
    int64_t count = opd_tensor_count(&call->operands[call->operand_count - 1].view);
    for (int64_t i = 0; subject->truth != NULL && i < count; i += MPFR_STEP) {
        long double y = subject->truth->inputs > 1 ? element(&call->operands[1].view, i) : 0;
        long double value = mpfr_function_value(subject->truth, element(&call->operands[0].view, i), y);
        if (isfinite(value) && fabsl(value) >= 0x1p-16000L && isfinite(want[i])) {
            double error = (double)(fabsl(want[i] - value) / fabsl(value) * 0x1p64L);
            subject->truth_worst = error > subject->truth_worst ? error : subject->truth_worst;
            subject->truth_elements++;
        }
    }
}

/* All variants on one call, whose inputs are there. */
static opd_status measure_call(struct subject *subject, const opd_call *call)
{
    long double *want[OPD_MAX_OPERANDS] = { NULL };
    long double *gauge[OPD_MAX_OPERANDS] = { NULL };
    opd_status status = opd_definition_run(want, gauge, call, true);
    for (int v = 0; v < subject->count && status == OPD_OK; v++) {
        const opd_variant *variant = NULL;
        if (opd_kernel_choose(&variant, subject->kernel, call, subject->figures[v].variant->name) != OPD_OK) {
            continue;
        }
        status = opd_variant_run(variant, call, NULL);
        for (int i = 0; i < call->operand_count && status == OPD_OK; i++) {
            if (want[i] != NULL) {
                judge(&subject->figures[v], subject, call, i, want[i], gauge[i]);
            }
        }
    }
    if (status == OPD_OK && want[call->operand_count - 1] != NULL) {
        judge_reference(subject, call, want[call->operand_count - 1]);
    }
    for (int i = 0; i < call->operand_count; i++) {
        opd_free(want[i]);
        opd_free(gauge[i]);
    }
    return status;
}

/* --------------------------------------------------------------------------------------------------- inputs */

/* Memory of the operands of a role; the shape of outputs may depend on what inputs hold. */
static opd_status allocate(opd_call *call, opd_role role, void **memory)
{
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        if ((operand->flags & OPD_OPERAND_ABSENT) == 0 && operand->role == role) {
            opd_free(memory[i]);
            memory[i] = NULL;
            opd_status status = opd_alloc(&memory[i], (size_t)opd_tensor_count(&operand->view) * 16 + 64);
            if (status != OPD_OK) {
                return status;
            }
            operand->view.data = memory[i];
        }
    }
    return OPD_OK;
}

/* Pattern number i of a dtype: all of the 16-bit ones, every stride-th of f32, random ones of f64. */
static uint64_t pattern(opd_dtype dtype, uint64_t i)
{
    return dtype == OPD_F64 ? opd_random_u64(7, 0, i) : dtype == OPD_F32 ? i * stride : i;
}

static opd_status measure_patterns(struct subject *subject, void **memory)
{
    const opd_call_wish wish = { .dtype = subject->dtype, .shapes = BATCH_SHAPE, .attributes = subject->attributes };
    uint64_t total = subject->dtype == OPD_F32   ? (UINT64_C(1) << 32) / stride
                     : subject->dtype == OPD_F64 ? UINT64_C(1) << 20
                                                 : BATCH;
    opd_call call;
    opd_status status = opd_call_make(&call, subject->op, &wish);
    status = status == OPD_OK ? allocate(&call, OPD_ROLE_IN, memory) : status;
    status = status == OPD_OK ? allocate(&call, OPD_ROLE_OUT, memory) : status;
    for (uint64_t first = 0; first < total && status == OPD_OK; first += BATCH) {
        for (uint64_t i = 0; i < BATCH; i++) {
            uint64_t bits = pattern(subject->dtype, first + i);
            memcpy((uint8_t *)memory[0] + i * opd_dtype_size(subject->dtype), &bits, opd_dtype_size(subject->dtype));
        }
        status = measure_call(subject, &call);
    }
    return status;
}

static opd_status measure_generated(struct subject *subject, void **memory)
{
    const opd_call_wish wish = { .dtype = subject->dtype, .attributes = subject->attributes };
    double start = seconds();
    opd_status status = OPD_OK;
    for (size_t f = 0; f < OPD_COUNT(fills) && status == OPD_OK && seconds() - start < TIME_LIMIT; f++) {
        opd_call call;
        opd_fill fill;
        status = opd_call_make(&call, subject->op, &wish);
        status = status == OPD_OK ? allocate(&call, OPD_ROLE_IN, memory) : status;
        if (status == OPD_OK && fills[f] != NULL) {
            status = opd_fill_parse(&fill, fills[f]);
        }
        status = status == OPD_OK ? opd_call_generate(&call, f, fills[f] != NULL ? &fill : NULL) : status;
        status = status == OPD_OK ? allocate(&call, OPD_ROLE_OUT, memory) : status;
        status = status == OPD_OK ? measure_call(subject, &call) : status;
    }
    return status;
}

/* --------------------------------------------------------------------------------------------------- tables */

static void print_bound(const struct subject *subject)
{
    const opd_bound *bound = &subject->op->bound;
    bool is_narrow = subject->dtype == OPD_F16 || subject->dtype == OPD_BF16;
    switch (bound->kind) {
    case OPD_BOUND_BITS:
        (void)printf("no differing element");
        break;
    case OPD_BOUND_ULP:
        (void)printf("%.3g ULP", (double)(is_narrow ? bound->narrow_limit : bound->limit));
        break;
    default:
        (void)printf("%.3g gauge", bound->limit > 0 ? (double)bound->limit : 16.0);
        break;
    }
}

static void print_row(const struct subject *subject)
{
    uint64_t class_errors = 0;
    (void)printf("| %s%s%s | %s | ", subject->op->name, subject->attributes != NULL ? " " : "",
                 subject->attributes != NULL ? subject->attributes : "", opd_dtype_name(subject->dtype));
    print_bound(subject);
    (void)printf(" |");
    uint64_t elements = 0;
    for (int v = 0; v < subject->count; v++) {
        const struct figure *figure = &subject->figures[v];
        if (figure->elements == 0) {
            continue;
        }
        (void)printf("%s %s %.3g", elements > 0 ? "," : "", figure->variant->name, figure->worst);
        if (subject->is_patterned && subject->dtype != OPD_F64 && figure->worst > 0.6) {
            (void)printf(" (%a)", figure->at);
        }
        elements = figure->elements;
        class_errors += figure->class_errors;
    }
    (void)printf(" | %llu | %llu |\n", (unsigned long long)class_errors, (unsigned long long)elements);
    (void)fflush(stdout);
}

static bool is_unary(const opd_op *op, opd_dtype dtype, const char *attributes)
{
    opd_call call;
    const opd_call_wish own = { .dtype = dtype };
    const opd_call_wish wish = { .dtype = dtype, .shapes = BATCH_SHAPE, .attributes = attributes };
    if (opd_call_make(&call, op, &own) != OPD_OK || call.operand_count != 2) {
        return false;
    }
    bool is_elementwise = op->reduction != NULL && strcmp(op->reduction, "0") == 0;
    return is_elementwise && opd_call_make(&call, op, &wish) == OPD_OK && call.operand_count == 2 &&
           call.operands[1].view.dtype == dtype && opd_tensor_count(&call.operands[1].view) == BATCH;
}

static bool takes(const opd_op *op, opd_dtype dtype)
{
    opd_call call;
    const opd_call_wish wish = { .dtype = dtype };
    return opd_call_make(&call, op, &wish) == OPD_OK;
}

static void find_variants(struct subject *subject)
{
    const opd_variant *variant = NULL;
    for (int i = 0; (variant = opd_kernel_variant(subject->kernel, i)) != NULL && subject->count < MAX_VARIANTS; i++) {
        bool is_definition = strcmp(variant->name, "naive") == 0 || strcmp(variant->name, "high-precision") == 0;
        if (opd_variant_is_choice(variant) && !is_definition && opd_isa_missing(variant->isa) == NULL) {
            subject->figures[subject->count++] = (struct figure){ .variant = variant };
        }
    }
}

/* Other forms of an operator that have polynomials of their own. */
static const struct {
    const char *name, *attributes;
} forms[] = { { "Gelu", "approximate=tanh" },
              { "GeluAddResidual", "approximate=tanh" },
              { "Cast", "to=10" },
              { "Cast", "to=16" },
              { "Cast", "to=6" } };

static opd_status measure(struct subject *subject, void **memory)
{
    find_variants(subject);
    subject->truth = subject->attributes == NULL ? mpfr_function_find(subject->op->name) : NULL;
    subject->is_patterned = is_unary(subject->op, subject->dtype, subject->attributes);
    opd_status status = subject->is_patterned ? measure_patterns(subject, memory) : measure_generated(subject, memory);
    if (status == OPD_OK) {
        print_row(subject);
    }
    return status;
}

static opd_status measure_all(const char *only, struct subject *of_truth, int *truth_count, void **memory)
{
    opd_status status = OPD_OK;
    for (int k = 0; k < opd_kernel_count() && status == OPD_OK; k++) {
        const opd_kernel *kernel = opd_kernel_at(k);
        const opd_op *op = opd_op_find(kernel->domain, kernel->name);
        bool is_wanted = op != NULL && kernel->define != NULL && (only == NULL || strcmp(only, kernel->name) == 0);
        for (size_t d = 0; d < OPD_COUNT(dtypes) && is_wanted && status == OPD_OK; d++) {
            if (!takes(op, dtypes[d])) {
                continue;
            }
            struct subject subject = { .kernel = kernel, .op = op, .dtype = dtypes[d] };
            status = measure(&subject, memory);
            if (subject.truth_elements > 0 && *truth_count < OPD_MAX_SYMBOLS * 4) {
                of_truth[(*truth_count)++] = subject;
            }
            for (size_t f = 0; f < OPD_COUNT(forms) && status == OPD_OK; f++) {
                if (strcmp(forms[f].name, op->name) == 0) {
                    subject = (struct subject){
                        .kernel = kernel, .op = op, .dtype = dtypes[d], .attributes = forms[f].attributes
                    };
                    status = measure(&subject, memory);
                }
            }
        }
    }
    return status;
}

int main(int argc, char **argv)
{
    static struct subject of_truth[OPD_MAX_SYMBOLS * 4];
    int truth_count = 0;
    void *memory[OPD_MAX_OPERANDS] = { NULL };
    stride = argc > 1 ? strtoull(argv[1], NULL, 10) | 1 : stride;
    (void)printf("| operator | dtype | bound | greatest error (at) | wrong NaN or Inf | elements |\n"
                 "|---|---|---|---|---|---|\n");
    opd_status status = measure_all(argc > 2 ? argv[2] : NULL, of_truth, &truth_count, memory);
    if (status == OPD_OK) {
        (void)printf("\nThe wide definitions against MPFR with 160 bits, in units of 2^-64 of the value:\n\n"
                     "| operator | inputs in | worst | elements |\n|---|---|---|---|\n");
    }
    for (int i = 0; i < truth_count && status == OPD_OK; i++) {
        (void)printf("| %s | %s | %.3g | %llu |\n", of_truth[i].op->name, opd_dtype_name(of_truth[i].dtype),
                     of_truth[i].truth_worst, (unsigned long long)of_truth[i].truth_elements);
    }
    if (status != OPD_OK) {
        (void)fprintf(stderr, "kernel_ulp: %s\n", opd_error_text());
    }
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_free(memory[i]);
    }
    return status == OPD_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
