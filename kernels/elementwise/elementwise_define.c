/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of the elementwise operators: one rule per operator from the values of its inputs at one position to the value
 * there, and one walk over all positions that broadcasts. Integers never pass through floating point that could round.
 */
#include <math.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "../stage_memory.h"
#include "elementwise.h"

typedef struct point {
    const opd_definition_work *work;
    opd_dtype dtype; /* T; of Cast: the output's */
    int count;       /* inputs, absent ones among them */
    long double x[OPD_MAX_OPERANDS];
    bool is_there[OPD_MAX_OPERANDS];
    long double gauge; /* |value| unless the rule says another one */
    long double stage; /* of a rule with an inner stage */
} point;

typedef long double rule(point *at);

static long double round_to(const point *at, long double value)
{
    return opd_round(at->work, value);
}

/* ---------------------------------------------------------------------------------------------------- integers */

static bool is_integer(opd_dtype dtype)
{
    return !opd_dtype_is_float(dtype) && dtype != OPD_BOOL;
}

static bool is_signed(opd_dtype dtype)
{
    return dtype == OPD_I8 || dtype == OPD_I16 || dtype == OPD_I32 || dtype == OPD_I64;
}

static uint64_t bits_of(long double value)
{
    return value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
}

/* The low bits of a word as a number of that dtype. */
static long double wrap(opd_dtype dtype, uint64_t bits)
{
    int unused = 64 - 8 * (int)opd_dtype_size(dtype);
    bits <<= unused;
    return is_signed(dtype) ? (long double)((int64_t)bits >> unused) : (long double)(bits >> unused);
}

static long double power_of_integers(opd_dtype dtype, long double base, long double exponent)
{
    if (exponent < 0) {
        bool is_odd = (bits_of(exponent) & 1) != 0;
        return base == 1    ? 1
               : base == -1 ? (is_odd ? -1 : 1)
               : base == 0  ? wrap(dtype, UINT64_MAX >> (65 - 8 * (int)opd_dtype_size(dtype)))
                            : 0;
    }
    uint64_t result = 1;
    uint64_t square = bits_of(base);
    for (uint64_t rest = bits_of(exponent); rest > 0; rest >>= 1) {
        result *= (rest & 1) != 0 ? square : 1;
        square *= square;
    }
    return wrap(dtype, result);
}

/* ------------------------------------------------------------------------------------------------------- rules */

static long double rule_abs(point *at)
{
    return is_integer(at->dtype) && at->x[0] < 0 ? wrap(at->dtype, 0 - bits_of(at->x[0])) : fabsl(at->x[0]);
}

static long double rule_neg(point *at)
{
    return is_integer(at->dtype) ? wrap(at->dtype, 0 - bits_of(at->x[0])) : -at->x[0];
}

static long double rule_add(point *at)
{
    return is_integer(at->dtype) ? wrap(at->dtype, bits_of(at->x[0]) + bits_of(at->x[1]))
                                 : round_to(at, at->x[0] + at->x[1]);
}

static long double rule_sub(point *at)
{
    return is_integer(at->dtype) ? wrap(at->dtype, bits_of(at->x[0]) - bits_of(at->x[1]))
                                 : round_to(at, at->x[0] - at->x[1]);
}

static long double rule_mul(point *at)
{
    return is_integer(at->dtype) ? wrap(at->dtype, bits_of(at->x[0]) * bits_of(at->x[1]))
                                 : round_to(at, at->x[0] * at->x[1]);
}

static long double rule_div(point *at)
{
    if (!is_integer(at->dtype)) {
        return round_to(at, at->x[0] / at->x[1]);
    }
    if (at->x[1] == 0) {
        return 0;
    }
    if (at->x[1] == -1) {
        return wrap(at->dtype, 0 - bits_of(at->x[0]));
    }
    bool is_negative = (at->x[0] < 0) != (at->x[1] < 0);
    uint64_t quotient = (uint64_t)fabsl(at->x[0]) / (uint64_t)fabsl(at->x[1]);
    return is_negative ? -(long double)quotient : (long double)quotient;
}

/* glibc's powl gives Inf for -Inf to the power -2^63; so an infinite base is done here. */
static long double power(long double base, long double exponent)
{
    if (!isinf(base) || isnan(exponent) || exponent == 0) {
        return powl(base, exponent);
    }
    bool is_odd = fmodl(fabsl(exponent), 2) == 1;
    return copysignl(exponent > 0 ? (long double)INFINITY : 0, is_odd ? base : 1);
}

/* Towards zero, saturating; NaN gives 0. */
static long double saturate(opd_dtype dtype, long double value)
{
    long double span = ldexpl(1, 8 * (int)opd_dtype_size(dtype));
    long double least = is_signed(dtype) ? -span / 2 : 0;
    return isnan(value) ? 0 : fminl(fmaxl(truncl(value), least), least + span - 1);
}

static long double rule_pow(point *at)
{
    if (!is_integer(at->dtype)) {
        return round_to(at, power(at->x[0], at->x[1]));
    }
    return is_integer(at->work->array[1].dtype) ? power_of_integers(at->dtype, at->x[0], at->x[1])
                                                : saturate(at->dtype, power(at->x[0], at->x[1]));
}

static long double rule_sqrt(point *at)
{
    return round_to(at, sqrtl(at->x[0]));
}

static long double rule_reciprocal(point *at)
{
    return round_to(at, 1 / at->x[0]);
}

static long double rule_exp(point *at)
{
    return round_to(at, expl(at->x[0]));
}

static long double rule_log(point *at)
{
    return round_to(at, logl(at->x[0]));
}

static long double rule_erf(point *at)
{
    return round_to(at, erfl(at->x[0]));
}

static long double rule_relu(point *at)
{
    return at->x[0] < 0 ? 0 : at->x[0];
}

static long double rule_leaky_relu(point *at)
{
    float alpha = (float)opd_call_real(at->work->call, "alpha", 0.01);
    return at->x[0] < 0 ? round_to(at, (long double)alpha * at->x[0]) : at->x[0];
}

/* Of the two forms the one whose exponential does not overflow. */
static long double rule_sigmoid(point *at)
{
    long double power = round_to(at, expl(-fabsl(at->x[0])));
    return round_to(at, (at->x[0] < 0 ? power : 1) / round_to(at, 1 + power));
}

static long double rule_tanh(point *at)
{
    return round_to(at, tanhl(at->x[0]));
}

/* 1 + erf(t) = erfc(-t), without the cancellation. */
static long double gelu(point *at, long double x)
{
    long double half = round_to(at, x / 2);
    if (strcmp(opd_call_text(at->work->call, "approximate", "none"), "tanh") != 0) {
        return round_to(at, half * round_to(at, erfcl(-round_to(at, x * M_SQRT1_2l))));
    }
    const long double root = M_2_SQRTPIl * M_SQRT1_2l; /* sqrt(2 / pi) */
    long double cube = round_to(at, round_to(at, x * x) * x);
    long double inner = round_to(at, x + round_to(at, 0.044715L * cube));
    long double bend = round_to(at, tanhl(round_to(at, root * inner)));
    return round_to(at, half * round_to(at, 1 + bend));
}

static long double rule_gelu(point *at)
{
    at->gauge = fabsl(at->x[0]) / 4;
    return gelu(at, at->x[0]);
}

static long double rule_gelu_add_residual(point *at)
{
    at->gauge = fabsl(at->x[0]) / 4 + fabsl(at->x[1]);
    at->stage = gelu(at, at->x[0]);
    return round_to(at, at->stage + at->x[1]);
}

/* Beyond the corners at -3 and 3 (and what rounding may take for them) there is nothing to add up: 0 and X are exact. */
static long double rule_hard_swish(point *at)
{
    long double x = at->x[0];
    long double line = round_to(at, round_to(at, x / 6) + 0.5L);
    at->gauge = x < -3.01L ? 0 : fabsl(x) * fminl(fabsl(x) / 6 + 0.5L, 1);
    return round_to(at, x * (line < 0 ? 0 : line > 1 ? 1 : line));
}

static long double rule_clip(point *at)
{
    long double value = at->x[0];
    value = at->is_there[1] && value < at->x[1] ? at->x[1] : value;
    return at->count > 2 && at->is_there[2] && at->x[2] < value ? at->x[2] : value;
}

static long double rule_min(point *at)
{
    long double least = at->x[0];
    for (int i = 1; i < at->count; i++) {
        least = at->x[i] < least || isnan(at->x[i]) ? at->x[i] : least;
    }
    return least;
}

static long double rule_max(point *at)
{
    long double most = at->x[0];
    for (int i = 1; i < at->count; i++) {
        most = at->x[i] > most || isnan(at->x[i]) ? at->x[i] : most;
    }
    return most;
}

static long double rule_where(point *at)
{
    return at->x[0] != 0 ? at->x[1] : at->x[2];
}

static long double rule_cast(point *at)
{
    if (!is_integer(at->dtype)) {
        return at->dtype == OPD_BOOL ? at->x[0] != 0 : at->x[0];
    }
    bool is_float = opd_dtype_is_float(at->work->array[0].dtype);
    return is_float ? saturate(at->dtype, at->x[0]) : wrap(at->dtype, bits_of(at->x[0]));
}

/* -------------------------------------------------------------------------------------------------------- walk */

struct walk {
    int64_t step[OPD_MAX_OPERANDS][OPD_MAX_RANK]; /* elements per step of each output dimension; 0 where broadcast */
    int64_t position[OPD_MAX_OPERANDS];
    int64_t index[OPD_MAX_RANK];
};

static void begin(struct walk *walk, const opd_array *inputs, int count, const opd_array *output)
{
    *walk = (struct walk){ 0 };
    for (int i = 0; i < count; i++) {
        int64_t step = 1;
        for (int d = inputs[i].rank - 1; d >= 0; d--) {
            int to = d + output->rank - inputs[i].rank;
            walk->step[i][to] = inputs[i].shape[d] == 1 ? 0 : step;
            step *= inputs[i].shape[d];
        }
    }
}

static void advance(struct walk *walk, int count, const opd_array *output)
{
    for (int d = output->rank - 1; d >= 0; d--) {
        walk->index[d]++;
        bool is_over = walk->index[d] == output->shape[d];
        for (int i = 0; i < count; i++) {
            walk->position[i] += is_over ? -walk->step[i][d] * (output->shape[d] - 1) : walk->step[i][d];
        }
        if (!is_over) {
            return;
        }
        walk->index[d] = 0;
    }
}

static opd_status define(opd_definition_work *work, rule *of)
{
    int inputs = work->call->operand_count - 1;
    const opd_array *output = &work->array[inputs];
    const char *stage = work->call->op->checkpoints; /* one at most */
    double *kept = NULL;
    struct walk walk;
    opd_status status = stage != NULL ? opd_stage_begin(&kept, output->count) : OPD_OK;
    if (status != OPD_OK) {
        return status;
    }
    begin(&walk, work->array, inputs, output);
    for (int64_t flat = 0; flat < output->count; flat++) {
        point at = { .work = work, .dtype = output->dtype, .count = inputs, .gauge = -1 };
        for (int i = 0; i < inputs; i++) {
            at.is_there[i] = work->array[i].value != NULL;
            at.x[i] = at.is_there[i] ? work->array[i].value[walk.position[i]] : 0;
        }
        output->value[flat] = of(&at);
        if (output->gauge != NULL) {
            output->gauge[flat] = at.gauge >= 0 ? at.gauge : fabsl(output->value[flat]);
        }
        if (kept != NULL) {
            kept[flat] = (double)at.stage;
        }
        advance(&walk, inputs, output);
    }
    opd_stage_end(stage, kept, output->rank, output->shape);
    return OPD_OK;
}

#define OPD_ELEMENTWISE(rule, domain, name, class)                      \
    opd_status opd_elementwise_define_##rule(opd_definition_work *work) \
    {                                                                   \
        return define(work, rule_##rule);                               \
    }
#include "elementwise.def"
#undef OPD_ELEMENTWISE
