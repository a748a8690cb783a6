/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small inference runtime that records itself: ranges, inner stages, recipes of its inputs, and an operator with a safety net. Its fast softmax forgets
 * to subtract the maximum; the reference does not.
 *
 *   cc record_runtime.c -lopsdebug-record -lm -o record_runtime
 *   ops-debug record -o run/ --capture stats -- ./record_runtime
 *
 * With --capture stats no content is kept; the recipe of X makes the failing call replayable all the same.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/record.h>

enum { ROWS = 4, COLS = 8, STEPS = 6, BAD_STEP = 3 };

static void softmax(const opd_call *call, int is_safe)
{
    const float *x = call->operands[0].view.data;
    float *y = call->operands[1].view.data;
    for (int i = 0; i < ROWS; i++, x += COLS, y += COLS) {
        float largest = x[0];
        float sum = 0;
        for (int j = 1; j < COLS; j++) {
            largest = fmaxf(largest, x[j]);
        }
        for (int j = 0; j < COLS; j++) {
            y[j] = expf(x[j] - (is_safe ? largest : 0));
            sum += y[j];
        }
        OPD_TRACEPOINT("exp", OPD_F32, y, COLS);
        for (int j = 0; j < COLS; j++) {
            y[j] /= sum;
        }
    }
}

static opd_status run_fast(const opd_call *call, void *context)
{
    (void)context;
    softmax(call, 0);
    return OPD_OK;
}

static opd_status run_reference(const opd_call *call, void *context)
{
    (void)context;
    softmax(call, 1);
    return OPD_OK;
}

static opd_operand describe_operand(const char *name, opd_role role, float *data)
{
    opd_operand operand = { .role = role };
    strncpy(operand.name, name, sizeof(operand.name) - 1);
    operand.view =
        (opd_tensor){ .data = data, .dtype = OPD_F32, .rank = 2, .shape = { ROWS, COLS }, .stride = { COLS, 1 } };
    return operand;
}

int main(void)
{
    static opd_checked checked = { .fast = run_fast, .reference = run_reference, .tolerance = 1e-5 };
    float x[ROWS * COLS];
    float y[ROWS * COLS];
    /* The names of ONNX: ops-debug knows the operator, so the call can be replayed, reduced and diagnosed. */
    opd_call call = { .domain = "ai.onnx", .name = "Softmax", .dtype = OPD_F32, .attr_count = 1, .operand_count = 2 };
    call.attrs[0] = (opd_value){ .name = "axis", .kind = OPD_VALUE_INT, .i = -1 };
    call.operands[0] = describe_operand("input", OPD_ROLE_IN, x);
    call.operands[1] = describe_operand("output", OPD_ROLE_OUT, y);
    if (opd_record_start(NULL) != OPD_OK) {
        fputs("record_runtime: no recorder was found, so nothing is recorded\n", stderr);
    }
    opd_record_generator("weights", 42);
    for (int step = 0; step < STEPS; step++) {
        opd_fill fill = { .kind = OPD_FILL_UNIFORM, .a = -1, .b = 1, .seed = 42, .stream = (uint64_t)step };
        fill.b = step == BAD_STEP ? 200 : 1;
        opd_range_push("step");
        opd_record_seed(fill.seed);
        opd_record_fill("input", &call.operands[0].view, &fill);
        opd_status status = opd_run_checked(&checked, &call);
        opd_range_pop();
        printf("step %d: status %d, y[0] = %.4f%s\n", step, (int)status, (double)y[0],
               checked.is_unstable ? ", by the reference" : "");
    }
    opd_record_stop();
    return 0;
}
