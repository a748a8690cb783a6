/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definition of LSTM: one direction of one sequence at a time, step by step. The gauge is first-order error analysis beside the values: every
 * sum brings the absolute values of its terms, an activation passes error on by its slope, and the state carries it into the next step.
 */
#include <math.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "../definition_range.h"
#include "lstm.h"

/* A value and its error in units of eps. */
typedef struct measured {
    long double value, error;
    long double finite; /* what its finite terms amount to */
    bool is_open;       /* it may be anything: something leaves the range on the way to it */
} measured;

typedef struct lstm_cell {
    opd_definition_work *work;
    opd_lstm lstm;
    int direction;
    int64_t n;        /* sequence of the batch */
    measured *h, *c;  /* state */
    measured *next_h; /* while h is still read */
    opd_lstm_stages stages;
} lstm_cell;

/* Element of an input that may be absent, which is 0. */
static long double at(const lstm_cell *cell, int operand, int64_t index)
{
    const opd_array *array = &cell->work->array[operand];
    return array->value != NULL ? array->value[index] : 0;
}

static void add(measured *sum, const lstm_cell *cell, long double term, long double error)
{
    sum->value = opd_round(cell->work, sum->value + opd_round(cell->work, term));
    sum->error += fabsl(term) + error;
    sum->finite += opd_finite_size(term);
    sum->is_open |= opd_is_beyond_range(cell->work, sum->finite);
}

/* What goes into the activation of a gate, without peepholes. */
static measured gate_input(const lstm_cell *cell, int gate, int64_t unit, int64_t step)
{
    const opd_lstm *lstm = &cell->lstm;
    measured sum = { .value = 0 };
    int64_t row = gate * lstm->hidden + unit;
    int64_t rows = OPD_LSTM_GATES * lstm->hidden;
    int64_t w = (cell->direction * rows + row) * lstm->inputs;
    int64_t r = (cell->direction * rows + row) * lstm->hidden;
    int64_t x = opd_lstm_x_at(lstm, step, cell->n);
    for (int64_t k = 0; k < lstm->inputs; k++) {
        add(&sum, cell, at(cell, OPD_LSTM_W, w + k) * at(cell, OPD_LSTM_X, x + k), 0);
    }
    for (int64_t k = 0; k < lstm->hidden; k++) {
        long double weight = at(cell, OPD_LSTM_R, r + k);
        add(&sum, cell, weight * cell->h[k].value, fabsl(weight) * cell->h[k].error);
        sum.is_open |= cell->h[k].is_open;
    }
    add(&sum, cell, at(cell, OPD_LSTM_B, 2 * rows * cell->direction + row), 0);
    add(&sum, cell, at(cell, OPD_LSTM_B, 2 * rows * cell->direction + rows + row), 0);
    return sum;
}

static void add_peephole(measured *sum, const lstm_cell *cell, int gate, int64_t unit, measured state)
{
    int64_t index = (cell->direction * 3 + gate) * cell->lstm.hidden + unit;
    long double weight = at(cell, OPD_LSTM_P, index);
    if (cell->work->array[OPD_LSTM_P].value != NULL) {
        add(sum, cell, weight * state.value, fabsl(weight) * state.error);
        sum->is_open |= state.is_open;
    }
}

static measured clipped(const lstm_cell *cell, measured x)
{
    long double limit = (long double)cell->lstm.clip;
    bool is_over = x.value > limit || x.value < -limit;
    return is_over ? (measured){ .value = x.value > 0 ? limit : -limit, .is_open = x.is_open } : x;
}

static measured sigmoid(const lstm_cell *cell, measured x)
{
    x = clipped(cell, x);
    long double value = opd_round(cell->work, 1 / (1 + expl(-x.value)));
    long double error = value * (1 - value) * x.error + fabsl(value);
    return (measured){ .value = value, .error = error, .is_open = x.is_open };
}

static measured hyperbolic(const lstm_cell *cell, measured x)
{
    x = clipped(cell, x);
    long double value = opd_round(cell->work, tanhl(x.value));
    long double error = (1 - value * value) * x.error + fabsl(value);
    return (measured){ .value = value, .error = error, .is_open = x.is_open };
}

static measured product(const lstm_cell *cell, measured a, measured b)
{
    long double value = opd_round(cell->work, a.value * b.value);
    long double error = fabsl(a.value) * b.error + fabsl(b.value) * a.error + fabsl(value);
    return (measured){ .value = value, .error = error, .is_open = a.is_open || b.is_open };
}

static void keep(const lstm_cell *cell, int stage, int64_t round, int64_t index, long double value)
{
    double *kept = cell->stages.value[stage];
    if (kept != NULL) {
        kept[opd_lstm_stage_at(&cell->lstm, stage, round, cell->direction, cell->n) + index] = (double)value;
    }
}

static void do_unit(lstm_cell *cell, int64_t unit, int64_t step, int64_t round)
{
    measured *c = &cell->c[unit];
    measured z[OPD_LSTM_GATES];
    for (int gate = 0; gate < OPD_LSTM_GATES; gate++) {
        z[gate] = gate_input(cell, gate, unit, step);
        keep(cell, OPD_LSTM_GATE_STAGE, round, gate * cell->lstm.hidden + unit, z[gate].value);
    }
    add_peephole(&z[OPD_LSTM_I], cell, OPD_LSTM_I, unit, *c);
    add_peephole(&z[OPD_LSTM_F], cell, OPD_LSTM_F, unit, *c);
    measured input = sigmoid(cell, z[OPD_LSTM_I]);
    measured forget = sigmoid(cell, z[OPD_LSTM_F]);
    if (cell->lstm.couples) {
        forget.value = opd_round(cell->work, 1 - input.value);
        forget.error = input.error + fabsl(forget.value);
    }
    measured kept = product(cell, forget, *c);
    measured added = product(cell, input, hyperbolic(cell, z[OPD_LSTM_G]));
    c->value = opd_round(cell->work, kept.value + added.value);
    c->error = kept.error + added.error + fabsl(c->value);
    c->is_open = kept.is_open || added.is_open ||
                 opd_is_beyond_range(cell->work, opd_finite_size(kept.value) + opd_finite_size(added.value));
    add_peephole(&z[OPD_LSTM_O], cell, OPD_LSTM_O, unit, *c);
    cell->next_h[unit] = product(cell, sigmoid(cell, z[OPD_LSTM_O]), hyperbolic(cell, *c));
    keep(cell, OPD_LSTM_CELL_STAGE, round, unit, c->value);
    keep(cell, OPD_LSTM_HIDDEN_STAGE, round, unit, cell->next_h[unit].value);
}

static void put(const lstm_cell *cell, int operand, int64_t first, const measured *from)
{
    opd_array *out = &cell->work->array[operand];
    for (int64_t k = 0; k < cell->lstm.hidden && out->value != NULL; k++) {
        out->value[first + k] = from[k].value;
        if (out->gauge != NULL) {
            out->gauge[first + k] = from[k].is_open ? (long double)INFINITY : from[k].error;
        }
    }
}

/* The outputs are zeroed: steps beyond the length stay so. */
static void do_sequence(lstm_cell *cell)
{
    const opd_lstm *lstm = &cell->lstm;
    int64_t state = opd_lstm_state_at(lstm, cell->direction, cell->n);
    bool has_lengths = cell->work->array[OPD_LSTM_LENGTHS].value != NULL;
    int64_t length = has_lengths ? (int64_t)at(cell, OPD_LSTM_LENGTHS, cell->n) : lstm->steps;
    for (int64_t k = 0; k < lstm->hidden; k++) {
        cell->h[k] = (measured){ .value = at(cell, OPD_LSTM_INITIAL_H, state + k) };
        cell->c[k] = (measured){ .value = at(cell, OPD_LSTM_INITIAL_C, state + k) };
    }
    for (int64_t i = 0; i < length; i++) {
        int64_t step = opd_lstm_is_reverse(lstm, cell->direction) ? length - 1 - i : i;
        for (int64_t unit = 0; unit < lstm->hidden; unit++) {
            do_unit(cell, unit, step, i);
        }
        memcpy(cell->h, cell->next_h, (size_t)lstm->hidden * sizeof *cell->h);
        put(cell, OPD_LSTM_Y, opd_lstm_y_at(lstm, step, cell->direction, cell->n), cell->h);
    }
    put(cell, OPD_LSTM_Y_H, state, cell->h);
    put(cell, OPD_LSTM_Y_C, state, cell->c);
}

opd_status opd_lstm_define(opd_definition_work *work)
{
    lstm_cell cell = { .work = work };
    opd_lstm_of_call(&cell.lstm, work->call);
    size_t hidden = (size_t)cell.lstm.hidden;
    void *block = NULL;
    opd_status status = opd_alloc_array(&block, 3 * hidden + 1, sizeof *cell.h);
    if (status == OPD_OK) {
        status = opd_lstm_stages_begin(&cell.stages, &cell.lstm);
    }
    if (status != OPD_OK) {
        opd_free(block);
        return status;
    }
    cell.h = block;
    cell.c = cell.h + hidden;
    cell.next_h = cell.c + hidden;
    for (cell.direction = 0; cell.direction < cell.lstm.directions; cell.direction++) {
        for (cell.n = 0; cell.n < cell.lstm.batch; cell.n++) {
            do_sequence(&cell);
        }
    }
    opd_lstm_stages_end(&cell.stages, &cell.lstm);
    opd_free(block);
    return OPD_OK;
}
