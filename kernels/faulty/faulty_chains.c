/* SPDX-License-Identifier: Apache-2.0 */
/* Wrong chains: a fused sum in the wrong place, gates in another library's order. */
#include <math.h>

#include <opsdebug/memory.h>

#include "faulty.h"

/* The residual is added before Gelu, not after. */
opd_status opd_faulty_residual_first(const opd_call *call, const opd_workspace *workspace)
{
    (void)workspace;
    for (int64_t i = 0; i < opd_faulty_count(call, 2); i++) {
        double x = (double)opd_faulty_data(call, 0)[i] + (double)opd_faulty_data(call, 1)[i];
        double gelu = 0.5 * x * erfc(-x * 0.70710678118654752);
        opd_faulty_stage("gelu", &gelu, 1);
        opd_faulty_data(call, 2)[i] = (float)gelu;
    }
    return OPD_OK;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* A sequence goes forward, step by step; h and c are the state, z four gates. Operands: X, W, R, B, (four more), Y, Y_h, Y_c. */
typedef struct lstm {
    const opd_call *call;
    int64_t batch, inputs, hidden;
    double *h, *c, *z;
} lstm;

static double gate_of(const lstm *at, int64_t row, const float *x)
{
    const float *w = opd_faulty_data(at->call, 1) + row * at->inputs;
    const float *r = opd_faulty_data(at->call, 2) + row * at->hidden;
    const float *b = opd_faulty_data(at->call, 3);
    double sum = b != NULL ? (double)b[row] + (double)b[4 * at->hidden + row] : 0;
    for (int64_t i = 0; i < at->inputs; i++) {
        sum += (double)w[i] * (double)x[i];
    }
    for (int64_t i = 0; i < at->hidden; i++) {
        sum += (double)r[i] * at->h[i];
    }
    return sum;
}

/* ONNX has the gates in the order i, o, f, c; these take them for i, f, c, o. */
static void do_step(const lstm *at, int64_t step, int64_t n)
{
    int64_t hidden = at->hidden;
    float *y = opd_faulty_data(at->call, 8);
    for (int64_t row = 0; row < 4 * hidden; row++) {
        at->z[row] = gate_of(at, row, opd_faulty_data(at->call, 0) + (step * at->batch + n) * at->inputs);
    }
    for (int64_t i = 0; i < hidden; i++) {
        at->c[i] = sigmoid(at->z[hidden + i]) * at->c[i] + sigmoid(at->z[i]) * tanh(at->z[2 * hidden + i]);
        at->h[i] = sigmoid(at->z[3 * hidden + i]) * tanh(at->c[i]);
        if (y != NULL) {
            y[(step * at->batch + n) * hidden + i] = (float)at->h[i];
        }
    }
}

static void begin_sequence(const lstm *at, int64_t n)
{
    for (int64_t i = 0; i < at->hidden; i++) {
        const float *h = opd_faulty_data(at->call, 5);
        const float *c = opd_faulty_data(at->call, 6);
        at->h[i] = h != NULL ? (double)h[n * at->hidden + i] : 0;
        at->c[i] = c != NULL ? (double)c[n * at->hidden + i] : 0;
    }
}

static void end_sequence(const lstm *at, int64_t n)
{
    for (int k = 9; k <= 10; k++) {
        float *out = opd_faulty_data(at->call, k);
        for (int64_t i = 0; i < at->hidden && out != NULL; i++) {
            out[n * at->hidden + i] = (float)(k == 9 ? at->h[i] : at->c[i]);
        }
    }
}

/* h, c and four gates of every sequence. */
size_t opd_faulty_lstm_bytes(const opd_call *call, int32_t threads)
{
    (void)threads;
    return (size_t)call->operands[0].view.shape[1] * 6 * (size_t)call->operands[2].view.shape[2] * sizeof(double);
}

opd_status opd_faulty_lstm_gates(const opd_call *call, const opd_workspace *workspace)
{
    lstm at = { .call = call,
                .batch = call->operands[0].view.shape[1],
                .inputs = call->operands[0].view.shape[2],
                .hidden = call->operands[2].view.shape[2] };
    for (int64_t n = 0; n < at.batch; n++) {
        at.h = (double *)workspace->bytes + n * 6 * at.hidden;
        at.c = at.h + at.hidden;
        begin_sequence(&at, n);
    }
    for (int64_t step = 0; step < call->operands[0].view.shape[0]; step++) {
        for (int64_t n = 0; n < at.batch; n++) {
            at.h = (double *)workspace->bytes + n * 6 * at.hidden;
            at.c = at.h + at.hidden;
            at.z = at.c + at.hidden;
            do_step(&at, step, n);
            opd_faulty_stage("gates", at.z, 4 * at.hidden);
            opd_faulty_stage("cell", at.c, at.hidden);
            opd_faulty_stage("hidden", at.h, at.hidden);
        }
    }
    for (int64_t n = 0; n < at.batch; n++) {
        at.h = (double *)workspace->bytes + n * 6 * at.hidden;
        at.c = at.h + at.hidden;
        end_sequence(&at, n);
    }
    return OPD_OK;
}
