/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definition of recurrent networks, forwards: layer by layer, direction by direction, step by step. Beside each value stands its error in units of eps, to first
 * order: a sum brings the absolute values of its terms, an activation passes error on by its slope, the state carries it into the next step.
 * source    oneDNN developer guide 2.6, "RNN": the cells' formulas, the order of gates (LSTM: input, forget, candidate, output; GRU: update, reset,
 *           candidate) and of peepholes (input, forget, output).
 */
#include <math.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "dnnl_reference.h"

typedef opd_dnnl_sum measured; /* gauge: error */

typedef struct network {
    const opd_dnnl_definition *of;
    opd_dnnl_source src_layer, src_iter, src_iter_c, weights_layer, weights_iter, peephole, projection, bias;
    int64_t steps, batch, layers, ways, hidden, out; /* out: size of the state that goes on */
    bool is_side_by_side, is_backwards;              /* of all, for one way */
    measured *input, *output, *result;               /* of a layer, and of the network: steps, batch, channels */
    int64_t inputs, outputs;                         /* channels of the input and the result */
    measured *h, *c, *cell_h; /* one sequence: the state, the cell's state, what the cell gives before a projection */
    /* Where the cell stands. */
    int64_t layer, way, step, sequence;
} network;

static measured rounded(const network *net, long double value, long double error)
{
    return (measured){ opd_dnnl_round(net->of, value), error };
}

static void add_term(measured *sum, const network *net, long double weight, measured x)
{
    long double term = opd_dnnl_round(net->of, weight * x.value);
    sum->value = opd_dnnl_round(net->of, sum->value + term);
    sum->gauge += fabsl(term) + fabsl(weight) * x.gauge;
}

static measured sum_of(const network *net, measured a, measured b)
{
    long double value = opd_dnnl_round(net->of, a.value + b.value);
    return (measured){ value, a.gauge + b.gauge + fabsl(value) };
}

static measured product(const network *net, measured a, measured b)
{
    long double value = opd_dnnl_round(net->of, a.value * b.value);
    return (measured){ value, fabsl(a.value) * b.gauge + fabsl(b.value) * a.gauge + fabsl(value) };
}

/* An activation and the error it passes on; 1: its own, absolute where its approximation is. */
static measured activated(const network *net, const char *alg, measured x)
{
    measured result = { 0, 0 };
    measured slope = { 0, 0 };
    long double alpha = (long double)opd_call_real(net->of->call, "alpha", 0);
    (void)opd_dnnl_function(&result, alg, x.value, alpha, 0, false);
    (void)opd_dnnl_function(&slope, alg, x.value, alpha, 0, true);
    return rounded(net, result.value, fabsl(slope.value) * x.gauge + fabsl(result.value));
}

/* Sums of a gate over the layer's input, and over the state. */
static measured over_input(const network *net, int64_t gate, int64_t unit)
{
    measured sum = { 0, 0 };
    const measured *x = net->input + (net->step * net->batch + net->sequence) * net->inputs;
    for (int64_t k = 0; k < net->inputs; k++) {
        const int64_t at[] = { net->layer, net->way, k, gate, unit };
        add_term(&sum, net, opd_dnnl_read(&net->weights_layer, at), x[k]);
    }
    return sum;
}

static measured over_state(const network *net, int64_t gate, int64_t unit, const measured *state)
{
    measured sum = { 0, 0 };
    for (int64_t k = 0; k < net->out; k++) {
        const int64_t at[] = { net->layer, net->way, k, gate, unit };
        add_term(&sum, net, opd_dnnl_read(&net->weights_iter, at), state[k]);
    }
    return sum;
}

static measured with_bias(const network *net, measured sum, int64_t gate, int64_t unit)
{
    const int64_t at[] = { net->layer, net->way, gate, unit };
    if (net->bias.data != NULL) {
        add_term(&sum, net, opd_dnnl_read(&net->bias, at), (measured){ 1, 0 });
    }
    return sum;
}

static measured gate_input(const network *net, int64_t gate, int64_t unit)
{
    return with_bias(net, sum_of(net, over_input(net, gate, unit), over_state(net, gate, unit, net->h)), gate, unit);
}

static measured with_peephole(const network *net, measured sum, int64_t which, int64_t unit, measured state)
{
    const int64_t at[] = { net->layer, net->way, which, unit };
    if (net->peephole.data != NULL) {
        add_term(&sum, net, opd_dnnl_read(&net->peephole, at), state);
    }
    return sum;
}

static measured one_minus(const network *net, measured x)
{
    return sum_of(net, (measured){ 1, 0 }, (measured){ -x.value, x.gauge });
}

/* ------------------------------------------------------------------------------------------------------- cells */

/* The state of all units into cell_h: net->h is still the one before. */
typedef void cell_function(network *net);

static void vanilla(network *net)
{
    const char *activation = opd_call_text(net->of->call, "activation", "");
    for (int64_t unit = 0; unit < net->hidden; unit++) {
        net->cell_h[unit] = activated(net, activation, gate_input(net, 0, unit));
    }
}

static void lstm(network *net)
{
    for (int64_t unit = 0; unit < net->hidden; unit++) {
        measured *c = &net->c[unit];
        measured input = with_peephole(net, gate_input(net, 0, unit), 0, unit, *c);
        measured forget = with_peephole(net, gate_input(net, 1, unit), 1, unit, *c);
        measured candidate = activated(net, "tanh", gate_input(net, 2, unit));
        *c = sum_of(net, product(net, activated(net, "logistic", forget), *c),
                    product(net, activated(net, "logistic", input), candidate));
        measured output = with_peephole(net, gate_input(net, 3, unit), 2, unit, *c);
        net->cell_h[unit] = product(net, activated(net, "logistic", output), activated(net, "tanh", *c));
    }
}

/* The candidate sees the state reset; the buffer of the reset state is c, which a GRU has no use for. */
static void gru(network *net)
{
    for (int64_t unit = 0; unit < net->hidden; unit++) {
        net->c[unit] = product(net, activated(net, "logistic", gate_input(net, 1, unit)), net->h[unit]);
    }
    for (int64_t unit = 0; unit < net->hidden; unit++) {
        measured update = activated(net, "logistic", gate_input(net, 0, unit));
        measured sum = sum_of(net, over_input(net, 2, unit), over_state(net, 2, unit, net->c));
        measured candidate = activated(net, "tanh", with_bias(net, sum, 2, unit));
        net->cell_h[unit] =
            sum_of(net, product(net, update, net->h[unit]), product(net, one_minus(net, update), candidate));
    }
}

/* The reset comes after the product with the state, which has a bias of its own. */
static void linear_before_reset_gru(network *net)
{
    for (int64_t unit = 0; unit < net->hidden; unit++) {
        measured update = activated(net, "logistic", gate_input(net, 0, unit));
        measured reset = activated(net, "logistic", gate_input(net, 1, unit));
        measured state = with_bias(net, over_state(net, 2, unit, net->h), 3, unit);
        measured sum = sum_of(net, with_bias(net, over_input(net, 2, unit), 2, unit), product(net, reset, state));
        net->cell_h[unit] = sum_of(net, product(net, update, net->h[unit]),
                                   product(net, one_minus(net, update), activated(net, "tanh", sum)));
    }
}

static const struct {
    const char *alg;
    cell_function *cell;
} cells[] = {
    { "vanilla_rnn", vanilla },
    { "vanilla_lstm", lstm },
    { "vanilla_gru", gru },
    { "lbr_gru", linear_before_reset_gru },
};

/* ------------------------------------------------------------------------------------------------------ networks */

static void project(network *net)
{
    if (net->projection.data == NULL) {
        memcpy(net->h, net->cell_h, (size_t)net->out * sizeof *net->h);
        return;
    }
    for (int64_t unit = 0; unit < net->out; unit++) {
        net->h[unit] = (measured){ 0, 0 };
        for (int64_t k = 0; k < net->hidden; k++) {
            const int64_t at[] = { net->layer, net->way, k, unit };
            add_term(&net->h[unit], net, opd_dnnl_read(&net->projection, at), net->cell_h[k]);
        }
    }
}

static void initial(const network *net, measured *state, const opd_dnnl_source *source, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        const int64_t at[] = { net->layer, net->way, net->sequence, k };
        state[k] = (measured){ source->data != NULL ? opd_dnnl_read(source, at) : 0, 0 };
    }
}

/* The last state, where it is what is wanted. */
static void keep_last(const network *net, const char *name, const measured *state, int64_t count)
{
    int64_t first = ((net->layer * net->ways + net->way) * net->batch + net->sequence) * count;
    if (opd_dnnl_is_wanted(net->of, name)) {
        memcpy(net->of->states + first, state, (size_t)count * sizeof *state);
    }
}

static void run_sequence(network *net, cell_function *cell)
{
    bool is_backwards = net->is_backwards || net->way == 1;
    initial(net, net->h, &net->src_iter, net->out);
    initial(net, net->c, &net->src_iter_c, net->hidden);
    for (int64_t i = 0; i < net->steps; i++) {
        net->step = is_backwards ? net->steps - 1 - i : i;
        cell(net);
        project(net);
        memcpy(net->output + (net->step * net->batch + net->sequence) * net->out, net->h,
               (size_t)net->out * sizeof *net->h);
    }
    keep_last(net, "dst_iter", net->h, net->out);
    keep_last(net, "dst_iter_c", net->c, net->hidden);
}

/* The last layers' results of several ways stand side by side, or are added. */
static void combine(const network *net, int64_t rows)
{
    for (int64_t i = 0; i < rows * net->out; i++) {
        measured *to = net->result + i / net->out * net->outputs + i % net->out;
        if (net->is_side_by_side) {
            to[net->way * net->out] = net->output[i];
        } else {
            *to = net->way == 0 ? net->output[i] : sum_of(net, *to, net->output[i]);
        }
    }
}

/* Each way is a stack of layers of its own. */
static void run_network(network *net, cell_function *cell)
{
    int64_t rows = net->steps * net->batch;
    for (net->way = 0; net->way < net->ways; net->way++) {
        for (int64_t i = 0; i < rows * net->inputs; i++) {
            const int64_t at[] = { i / net->inputs / net->batch, i / net->inputs % net->batch, i % net->inputs };
            net->input[i] = (measured){ opd_dnnl_read(&net->src_layer, at), 0 };
        }
        for (net->layer = 0; net->layer < net->layers; net->layer++) {
            for (net->sequence = 0; net->sequence < net->batch; net->sequence++) {
                run_sequence(net, cell);
            }
            if (net->layer + 1 < net->layers) { /* as wide as the input, checked */
                memcpy(net->input, net->output, (size_t)(rows * net->out) * sizeof *net->input);
            }
        }
        combine(net, rows);
    }
}

static bool describe(network *net, const opd_dnnl_definition *of)
{
    const struct {
        opd_dnnl_source *source;
        const char *name;
        bool is_needed;
    } sources[] = {
        { &net->src_layer, "src_layer", true },
        { &net->src_iter, "src_iter", false },
        { &net->src_iter_c, "src_iter_c", false },
        { &net->weights_layer, "weights_layer", true },
        { &net->weights_iter, "weights_iter", true },
        { &net->peephole, "weights_peephole", false },
        { &net->projection, "weights_projection", false },
        { &net->bias, "bias", false },
    };
    const char *direction = opd_call_text(of->call, "direction", "");
    net->of = of;
    for (size_t i = 0; i < OPD_COUNT(sources); i++) {
        if (!opd_dnnl_source_of(sources[i].source, of->call, sources[i].name) && sources[i].is_needed) {
            return false;
        }
    }
    const opd_dnnl_source *weights = &net->weights_layer;
    net->steps = net->src_layer.dims[0];
    net->batch = net->src_layer.dims[1];
    net->inputs = net->src_layer.dims[2];
    net->layers = weights->dims[0];
    net->ways = weights->dims[1];
    net->hidden = weights->dims[4];
    net->out = net->weights_iter.dims[2];
    net->is_side_by_side = strcmp(direction, "bidirectional_concat") == 0;
    net->is_backwards = strcmp(direction, "right2left") == 0;
    net->outputs = net->is_side_by_side ? net->ways * net->out : net->out;
    bool is_deep_enough = net->layers == 1 || net->out == net->inputs;
    bool is_plain = net->projection.data != NULL || net->out == net->hidden;
    bool has_ways = net->ways == (strncmp(direction, "bidirectional", 13) == 0 ? 2 : 1);
    return is_deep_enough && is_plain && has_ways;
}

/* Room for the wanted operand, the input and output of a layer, and the states of a sequence. */
static opd_status allocate(network *net, opd_dnnl_definition *of, void **block)
{
    int64_t wanted = 1;
    int64_t rows = 0;
    int64_t input = 0;
    int64_t output = 0;
    int64_t result = 0;
    void *states = NULL;
    bool fits = opd_mul_i64(&rows, net->steps, net->batch) && opd_mul_i64(&input, rows, net->inputs) &&
                opd_mul_i64(&output, rows, net->out) && opd_mul_i64(&result, rows, net->outputs);
    for (int d = 0; d < of->wanted_rank; d++) {
        fits = fits && opd_mul_i64(&wanted, wanted, of->wanted_dims[d]);
    }
    fits = fits && wanted > 0 && input > 0 && output > 0 && input < INT64_MAX / 4 && result < INT64_MAX / 4 &&
           net->hidden < INT64_MAX / 16 && net->out < INT64_MAX / 16;
    if (!fits) {
        return opd_fail(OPD_E_DECLINED, "%s of nothing, or of more than fits", of->call->name);
    }
    opd_status status = opd_alloc_array(&states, (size_t)wanted, sizeof *of->states);
    of->states = states;
    if (status == OPD_OK) {
        status = opd_alloc_array(block, (size_t)(input + output + result + net->out + 2 * net->hidden), sizeof *net->h);
    }
    if (status == OPD_OK) {
        net->input = *block;
        net->output = net->input + input;
        net->result = net->output + output;
        net->h = net->result + result;
        net->c = net->h + net->out;
        net->cell_h = net->c + net->hidden;
    }
    return status;
}

opd_status opd_dnnl_rnn_prepare(opd_dnnl_definition *of)
{
    network net;
    void *block = NULL;
    cell_function *cell = NULL;
    memset(&net, 0, sizeof net);
    for (size_t i = 0; i < OPD_COUNT(cells); i++) {
        cell = strcmp(opd_call_text(of->call, "alg", ""), cells[i].alg) == 0 ? cells[i].cell : cell;
    }
    bool is_result = strncmp(of->wanted, "dst_", 4) == 0;
    if (cell == NULL || !is_result || !describe(&net, of)) {
        return opd_fail(OPD_E_DECLINED, "there is no reference for %s of %s", of->wanted, of->call->name);
    }
    opd_status status = allocate(&net, of, &block);
    if (status == OPD_OK) {
        run_network(&net, cell);
    }
    if (status == OPD_OK && opd_dnnl_is_wanted(of, "dst_layer")) {
        memcpy(of->states, net.result, (size_t)(net.steps * net.batch * net.outputs) * sizeof *net.result);
    }
    opd_free(block);
    return status;
}

bool opd_dnnl_rnn_element(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at)
{
    int64_t flat = 0;
    for (int d = 0; d < of->wanted_rank; d++) {
        flat = flat * of->wanted_dims[d] + at[d];
    }
    *out = of->states[flat];
    return true;
}
