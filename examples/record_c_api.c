/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recording an operator of one's own: a softmax that forgets to subtract the maximum, so that a large input makes NaN
 * from finite data.
 *
 *   cc record_c_api.c -lopsdebug-record -lm -o record_c_api
 *   ops-debug record -o run/ -- ./record_c_api
 *
 * The contract of the operator is not known to ops-debug: names, attributes and views are what it goes by.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/record.h>

enum { ROWS = 4, COLS = 8 };

static void softmax(const float *x, float *y)
{
    for (int i = 0; i < ROWS; i++) {
        float sum = 0;
        for (int j = 0; j < COLS; j++) {
            y[i * COLS + j] = expf(x[i * COLS + j]);
            sum += y[i * COLS + j];
        }
        for (int j = 0; j < COLS; j++) {
            y[i * COLS + j] /= sum;
        }
    }
}

static opd_operand describe_operand(const char *name, opd_role role, float *data)
{
    opd_operand operand = { .role = role, .address = (uint64_t)(uintptr_t)data };
    strncpy(operand.name, name, sizeof(operand.name) - 1);
    operand.view = (opd_tensor){ .data = data,
                                 .dtype = OPD_F32,
                                 .rank = 2,
                                 .shape = { ROWS, COLS },
                                 .stride = { COLS, 1 },
                                 .storage = data,
                                 .storage_bytes = sizeof(float) * ROWS * COLS };
    return operand;
}

/* The operator as its callers know it: recorded when a recorder is there, one branch otherwise. */
static void recorded_softmax(float *x, float *y)
{
    if (!opd_record_enabled) {
        softmax(x, y);
        return;
    }
    opd_call call = { .domain = "example", .name = "Softmax", .dtype = OPD_F32, .attr_count = 1, .operand_count = 2 };
    call.attrs[0] = (opd_value){ .name = "axis", .kind = OPD_VALUE_INT, .i = -1 };
    call.operands[0] = describe_operand("X", OPD_ROLE_IN, x);
    call.operands[1] = describe_operand("Y", OPD_ROLE_OUT, y);
    uint64_t token = opd_record_begin(&call);
    softmax(x, y);
    opd_record_end(token, &call, 0);
}

int main(void)
{
    float x[ROWS * COLS];
    float y[ROWS * COLS];
    if (opd_record_start(NULL) != OPD_OK) {
        fputs("record_c_api: no recorder was found, so nothing is recorded\n", stderr);
    }
    opd_record_range_push("batch");
    for (int step = 0; step < 5; step++) {
        for (int i = 0; i < ROWS * COLS; i++) {
            x[i] = (float)((i * 7 + step) % 11) * (step == 3 ? 10.0F : 1.0F);
        }
        opd_record_mark("step", step);
        recorded_softmax(x, y);
        printf("step %d: y[0] = %g, y[10] = %g\n", step, (double)y[0], (double)y[10]);
    }
    opd_record_range_pop();
    opd_record_stop();
    return 0;
}
