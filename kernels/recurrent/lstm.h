/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes and options of an LSTM call, and where its operands have what. Private to kernels/recurrent. */
#ifndef OPD_KERNELS_LSTM_H
#define OPD_KERNELS_LSTM_H

#include "../stage_memory.h"

enum opd_lstm_operand {
    OPD_LSTM_X,
    OPD_LSTM_W,
    OPD_LSTM_R,
    OPD_LSTM_B,
    OPD_LSTM_LENGTHS,
    OPD_LSTM_INITIAL_H,
    OPD_LSTM_INITIAL_C,
    OPD_LSTM_P,
    OPD_LSTM_Y,
    OPD_LSTM_Y_H,
    OPD_LSTM_Y_C,
};

/* Gates in the order of W, R and B; P has the first three. */
enum { OPD_LSTM_I, OPD_LSTM_O, OPD_LSTM_F, OPD_LSTM_G, OPD_LSTM_GATES };

#define OPD_LSTM_DIRECTIONS "forward|reverse|bidirectional"

typedef struct opd_lstm {
    int64_t steps, batch, inputs, hidden;
    int directions;
    bool is_batch_first; /* layout 1 */
    bool is_reverse;     /* the first direction */
    bool couples;        /* input_forget */
    double clip;         /* infinite: none */
} opd_lstm;

void opd_lstm_of_call(opd_lstm *out, const opd_call *call);
static inline bool opd_lstm_is_reverse(const opd_lstm *lstm, int direction)
{
    return direction == 1 || lstm->is_reverse;
}

/* Elements from the first: row of X or Y_h, block of Y. */
static inline int64_t opd_lstm_x_at(const opd_lstm *lstm, int64_t step, int64_t n)
{
    return (lstm->is_batch_first ? n * lstm->steps + step : step * lstm->batch + n) * lstm->inputs;
}
static inline int64_t opd_lstm_y_at(const opd_lstm *lstm, int64_t step, int direction, int64_t n)
{
    int64_t block = lstm->is_batch_first ? (n * lstm->steps + step) * lstm->directions + direction
                                         : (step * lstm->directions + direction) * lstm->batch + n;
    return block * lstm->hidden;
}
static inline int64_t opd_lstm_state_at(const opd_lstm *lstm, int direction, int64_t n)
{
    return (lstm->is_batch_first ? n * lstm->directions + direction : direction * lstm->batch + n) * lstm->hidden;
}

/*
 * The inner stages of all steps, [steps, directions, batch, width]: the n-th step of a direction is the n-th it does. gates: what goes into the
 * activations, without peepholes. NULL: not traced.
 */
enum { OPD_LSTM_STAGES = 3 };
typedef struct opd_lstm_stages {
    double *value[OPD_LSTM_STAGES];
} opd_lstm_stages;
enum { OPD_LSTM_GATE_STAGE, OPD_LSTM_CELL_STAGE, OPD_LSTM_HIDDEN_STAGE };
opd_status opd_lstm_stages_begin(opd_lstm_stages *out, const opd_lstm *lstm);
/* Reports and frees them. */
void opd_lstm_stages_end(opd_lstm_stages *stages, const opd_lstm *lstm);
/* Where the row of a stage begins. */
static inline int64_t opd_lstm_stage_at(const opd_lstm *lstm, int stage, int64_t round, int direction, int64_t n)
{
    int64_t width = (stage == OPD_LSTM_GATE_STAGE ? (int64_t)OPD_LSTM_GATES : 1) * lstm->hidden;
    return ((round * lstm->directions + direction) * lstm->batch + n) * width;
}

opd_shape_function opd_lstm_shape;
opd_generate_function opd_lstm_generate;
opd_definition opd_lstm_define;

#endif
