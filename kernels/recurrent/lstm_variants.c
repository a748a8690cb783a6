/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LSTM as products: one of all steps' inputs with W, then per step one of the state with R, and the activations sequence by sequence. f16 has its
 * state and sums in f32. The products' bits do not depend on the batch or on threads, so these do not either.
 */
#include <math.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "lstm.h"
#include "lstm_variants.h"

/* What a run has in its workspace; numbers are double for f64, else float. */
typedef struct lstm_run {
    const opd_call *call;
    opd_lstm lstm;
    opd_dtype number;
    int64_t size; /* bytes of a number */
    int direction;
    int64_t round;   /* steps done in this direction */
    char *projected; /* [rows of X, gates * hidden] */
    char *input;     /* [batch, gates * hidden]: what the step adds to the state's product */
    char *z;         /* [batch, gates * hidden] */
    char *h, *c;     /* [batch, hidden] */
    char *bias;      /* [gates * hidden]: of R */
    char *peephole;  /* [3 * hidden] */
    opd_workspace products;
    opd_lstm_stages stages; /* of their own memory, when traced */
} lstm_run;

static const opd_tensor *given(const opd_call *call, int operand)
{
    return (call->operands[operand].flags & OPD_OPERAND_ABSENT) == 0 ? &call->operands[operand].view : NULL;
}

const char *opd_lstm_declines(const opd_call *call)
{
    for (int i = 0; i < call->operand_count; i++) {
        const opd_tensor *view = given(call, i);
        int64_t step = 1;
        for (int d = view != NULL ? view->rank - 1 : -1; d >= 0; d--) {
            if (view->shape[d] != 1 && view->stride[d] != step) {
                return "an operand is not contiguous";
            }
            step *= view->shape[d];
        }
    }
    return NULL;
}

/* Gives each region its place; returns the bytes before the products' own. */
static size_t lay_out(lstm_run *run, char *bytes)
{
    const opd_lstm *lstm = &run->lstm;
    int64_t wide = OPD_LSTM_GATES * lstm->hidden;
    const struct region {
        char **place;
        int64_t numbers;
    } regions[] = {
        { &run->projected, lstm->steps * lstm->batch * wide },
        { &run->input, lstm->batch * wide },
        { &run->z, lstm->batch * wide },
        { &run->h, lstm->batch * lstm->hidden },
        { &run->c, lstm->batch * lstm->hidden },
        { &run->bias, wide },
        { &run->peephole, 3 * lstm->hidden },
    };
    size_t used = 0;
    for (size_t i = 0; i < OPD_COUNT(regions); i++) {
        *regions[i].place = bytes != NULL ? bytes + used : NULL;
        used += ((size_t)(regions[i].numbers * run->size) + 63) & ~(size_t)63;
    }
    return used;
}

static lstm_run begin(const opd_call *call)
{
    lstm_run run = { .call = call, .number = call->dtype == OPD_F64 ? OPD_F64 : OPD_F32 };
    run.size = (int64_t)opd_dtype_size(run.number);
    opd_lstm_of_call(&run.lstm, call);
    return run;
}

size_t opd_lstm_bytes(const opd_call *call, int32_t threads)
{
    lstm_run run = begin(call);
    return lay_out(&run, NULL) + opd_gemm_workspace(threads);
}

/* ------------------------------------------------------------------------------------------------ conversions */

/* Elements of an input as numbers; 0 where it is absent. */
static void take(const lstm_run *run, char *to, int operand, int64_t first, int64_t count)
{
    const opd_tensor *view = given(run->call, operand);
    if (view == NULL) {
        memset(to, 0, (size_t)(count * run->size));
    } else if (view->dtype != OPD_F16) {
        memcpy(to, (const char *)view->data + first * run->size, (size_t)(count * run->size));
    } else {
        const uint16_t *from = (const uint16_t *)view->data + first;
        for (int64_t i = 0; i < count; i++) {
            float value = (float)opd_element_load_wide(OPD_F16, from + i);
            memcpy(to + 4 * i, &value, sizeof value);
        }
    }
}

/* The other way; from NULL: zeros. */
static void put(const lstm_run *run, int operand, int64_t first, const char *from)
{
    const opd_tensor *view = given(run->call, operand);
    int64_t count = run->lstm.hidden;
    if (view == NULL) {
        return;
    }
    int64_t size = (int64_t)opd_dtype_size(view->dtype);
    char *to = (char *)view->data + first * size;
    if (from == NULL) {
        memset(to, 0, (size_t)(count * size));
    } else if (view->dtype != OPD_F16) {
        memcpy(to, from, (size_t)(count * size));
    } else {
        for (int64_t i = 0; i < count; i++) {
            float value = 0;
            memcpy(&value, from + 4 * i, sizeof value);
            opd_element_store(OPD_F16, to + 2 * i, (double)value, 0);
        }
    }
}

static int64_t length_of(const lstm_run *run, int64_t n)
{
    const opd_tensor *lengths = given(run->call, OPD_LSTM_LENGTHS);
    return lengths != NULL ? ((const int32_t *)lengths->data)[n] : run->lstm.steps;
}

/* The step that a sequence is at, -1 when it has ended. */
static int64_t step_of(const lstm_run *run, int64_t n)
{
    int64_t length = length_of(run, n);
    int64_t step = opd_lstm_is_reverse(&run->lstm, run->direction) ? length - 1 - run->round : run->round;
    return run->round < length ? step : -1;
}

/* ----------------------------------------------------------------------------------------------------- a unit */

#define CELLS_OF(type, EXP, TANH)                                                                                     \
    static inline type bounded_##type(type x, type clip)                                                              \
    {                                                                                                                 \
        return x > clip ? clip : x < -clip ? -clip : x;                                                               \
    }                                                                                                                 \
    /* of a negative x without the infinite exp(-x): tiny results are right too */                                    \
    static inline type sigmoid_##type(type x, type clip)                                                              \
    {                                                                                                                 \
        type within = bounded_##type(x, clip);                                                                        \
        type small = EXP(within < 0 ? within : -within);                                                              \
        return (within < 0 ? small : 1) / (1 + small);                                                                \
    }                                                                                                                 \
    static void cells_##type(const lstm_run *run, int64_t n)                                                          \
    {                                                                                                                 \
        typedef type number;                                                                                          \
        int64_t hidden = run->lstm.hidden;                                                                            \
        type clip = (type)run->lstm.clip;                                                                             \
        const type *z = (const type *)(const void *)run->z + n * OPD_LSTM_GATES * hidden;                             \
        const type *p = (const type *)(const void *)run->peephole;                                                    \
        number *h = (number *)(void *)run->h + n * hidden;                                                            \
        number *c = (number *)(void *)run->c + n * hidden;                                                            \
        for (int64_t k = 0; k < hidden; k++) {                                                                        \
            type input = sigmoid_##type(z[k] + p[k] * c[k], clip);                                                    \
            type forget = run->lstm.couples                                                                           \
                              ? 1 - input                                                                             \
                              : sigmoid_##type(z[OPD_LSTM_F * hidden + k] + p[OPD_LSTM_F * hidden + k] * c[k], clip); \
            type added = input * TANH(bounded_##type(z[OPD_LSTM_G * hidden + k], clip));                              \
            c[k] = forget * c[k] + added;                                                                             \
            type output = sigmoid_##type(z[OPD_LSTM_O * hidden + k] + p[OPD_LSTM_O * hidden + k] * c[k], clip);       \
            h[k] = output * TANH(bounded_##type(c[k], clip));                                                         \
        }                                                                                                             \
    }
CELLS_OF(float, expf, tanhf)
CELLS_OF(double, exp, tanh)

/* The row of a stage that this step of sequence n makes; from: its numbers. */
static void keep(const lstm_run *run, int stage, int64_t n, const char *from, int64_t count)
{
    double *kept = run->stages.value[stage];
    for (int64_t i = 0; kept != NULL && i < count; i++) {
        float narrow = 0;
        double wide = 0;
        memcpy(run->number == OPD_F64 ? (void *)&wide : (void *)&narrow, from + (n * count + i) * run->size,
               (size_t)run->size);
        kept[opd_lstm_stage_at(&run->lstm, stage, run->round, run->direction, n) + i] =
            run->number == OPD_F64 ? wide : (double)narrow;
    }
}

static void do_cells(void *context, int64_t n)
{
    const lstm_run *run = context;
    int64_t step = step_of(run, n);
    if (step < 0) {
        return;
    }
    keep(run, OPD_LSTM_GATE_STAGE, n, run->z, OPD_LSTM_GATES * run->lstm.hidden);
    (run->number == OPD_F64 ? cells_double : cells_float)(run, n);
    keep(run, OPD_LSTM_CELL_STAGE, n, run->c, run->lstm.hidden);
    keep(run, OPD_LSTM_HIDDEN_STAGE, n, run->h, run->lstm.hidden);
    put(run, OPD_LSTM_Y, opd_lstm_y_at(&run->lstm, step, run->direction, n), run->h + n * run->lstm.hidden * run->size);
}

/* --------------------------------------------------------------------------------------------------- products */

/* y = a times the transpose of the direction's block of a weight, and c added. */
static void multiply(const lstm_run *run, opd_gemm_run *gemm, int weight, opd_gemm product)
{
    const opd_tensor *view = &run->call->operands[weight].view;
    int64_t wide = OPD_LSTM_GATES * run->lstm.hidden;
    product.n = wide;
    product.alpha = product.beta = 1;
    product.b = (opd_matrix){ .dtype = view->dtype, .row = 1, .column = product.k };
    product.b.data =
        (const char *)view->data + run->direction * wide * product.k * (int64_t)opd_dtype_size(view->dtype);
    product.y_dtype = run->number;
    product.y_row = wide;
    opd_gemm_job job = { .gemm = product, .batches = 1 };
    gemm(&job, &run->products);
}

static void project(const lstm_run *run, opd_gemm_run *gemm)
{
    const opd_tensor *x = &run->call->operands[OPD_LSTM_X].view;
    const opd_tensor *b = given(run->call, OPD_LSTM_B);
    int64_t wide = OPD_LSTM_GATES * run->lstm.hidden;
    opd_gemm product = { .m = run->lstm.steps * run->lstm.batch, .k = run->lstm.inputs, .y = run->projected };
    product.a = (opd_matrix){ x->data, x->dtype, run->lstm.inputs, 1 };
    if (b != NULL) {
        int64_t first = 2 * wide * run->direction * (int64_t)opd_dtype_size(b->dtype);
        product.c = (opd_matrix){ (const char *)b->data + first, b->dtype, 0, 1 };
    }
    multiply(run, gemm, OPD_LSTM_W, product);
}

#define INPUT_OF(type)                                                              \
    static void input_##type(const lstm_run *run, int64_t n, int64_t row)           \
    {                                                                               \
        typedef type number;                                                        \
        int64_t wide = OPD_LSTM_GATES * run->lstm.hidden;                           \
        const type *from = (const type *)(const void *)run->projected + row * wide; \
        const type *bias = (const type *)(const void *)run->bias;                   \
        number *to = (number *)(void *)run->input + n * wide;                       \
        for (int64_t k = 0; k < wide; k++) {                                        \
            to[k] = from[k] + bias[k];                                              \
        }                                                                           \
    }
INPUT_OF(float)
INPUT_OF(double)

static void do_step(lstm_run *run, opd_gemm_run *gemm)
{
    const opd_lstm *lstm = &run->lstm;
    int64_t wide = OPD_LSTM_GATES * lstm->hidden;
    for (int64_t n = 0; n < lstm->batch; n++) {
        int64_t step = step_of(run, n);
        if (step >= 0) {
            int64_t row = lstm->is_batch_first ? n * lstm->steps + step : step * lstm->batch + n;
            (run->number == OPD_F64 ? input_double : input_float)(run, n, row);
        } else {
            memset(run->input + n * wide * run->size, 0, (size_t)(wide * run->size));
        }
    }
    opd_gemm product = { .m = lstm->batch, .k = lstm->hidden, .y = run->z };
    product.a = (opd_matrix){ run->h, run->number, lstm->hidden, 1 };
    product.c = (opd_matrix){ run->input, run->number, wide, 1 };
    multiply(run, gemm, OPD_LSTM_R, product);
    opd_parallel(run->products.threads, lstm->batch, do_cells, run);
}

static void begin_direction(lstm_run *run)
{
    const opd_lstm *lstm = &run->lstm;
    int64_t wide = OPD_LSTM_GATES * lstm->hidden;
    take(run, run->bias, OPD_LSTM_B, 2 * wide * run->direction + wide, wide);
    take(run, run->peephole, OPD_LSTM_P, 3 * lstm->hidden * run->direction, 3 * lstm->hidden);
    for (int64_t n = 0; n < lstm->batch; n++) {
        int64_t state = opd_lstm_state_at(lstm, run->direction, n);
        int64_t first = n * lstm->hidden * run->size;
        take(run, run->h + first, OPD_LSTM_INITIAL_H, state, lstm->hidden);
        take(run, run->c + first, OPD_LSTM_INITIAL_C, state, lstm->hidden);
        for (int64_t step = length_of(run, n); step < lstm->steps; step++) {
            put(run, OPD_LSTM_Y, opd_lstm_y_at(lstm, step, run->direction, n), NULL);
        }
    }
}

opd_status opd_lstm_run(const opd_call *call, const opd_workspace *workspace, opd_gemm_run *gemm)
{
    lstm_run run = begin(call);
    const opd_lstm *lstm = &run.lstm;
    size_t used = lay_out(&run, workspace->bytes);
    run.products = (opd_workspace){ (char *)workspace->bytes + used, workspace->size - used, workspace->threads };
    if (lstm->batch == 0 || lstm->hidden == 0) {
        return OPD_OK;
    }
    opd_status status = opd_lstm_stages_begin(&run.stages, lstm);
    if (status != OPD_OK) {
        return status;
    }
    for (run.direction = 0; run.direction < lstm->directions; run.direction++) {
        begin_direction(&run);
        if (lstm->steps > 0) {
            project(&run, gemm);
        }
        for (run.round = 0; run.round < lstm->steps; run.round++) {
            do_step(&run, gemm);
        }
        for (int64_t n = 0; n < lstm->batch; n++) {
            int64_t state = opd_lstm_state_at(lstm, run.direction, n);
            put(&run, OPD_LSTM_Y_H, state, run.h + n * lstm->hidden * run.size);
            put(&run, OPD_LSTM_Y_C, state, run.c + n * lstm->hidden * run.size);
        }
    }
    opd_lstm_stages_end(&run.stages, lstm);
    return OPD_OK;
}
