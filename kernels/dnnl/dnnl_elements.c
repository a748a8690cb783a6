/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of what works element by element, and of what moves elements.
 * source    oneDNN developer guide 2.6, "Eltwise", "Binary", "Sum", "Concat", "Reorder": the formulas. The gauge of a function adds |x f'(x)|, by which
 *           an error of its argument shows, where the function is computed by approximation.
 */
#include <math.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "dnnl_reference.h"

#define SQRT_2_OVER_PI 0.797884560802865355879892119868763737L
#define GELU_CUBE      0.044715L

static long double logistic(long double x)
{
    return 1 / (1 + expl(-x));
}

static long double soft_plus(long double x)
{
    return x > 0 ? x + log1pl(expl(-x)) : log1pl(expl(x));
}

typedef struct argument {
    long double x, alpha, beta;
} argument;

/* A function and its derivative by x. */
typedef struct function {
    const char *name;
    long double (*value)(argument a);
    long double (*derivative)(argument a);
} function;

#define FUNCTION(name, value, derivative)            \
    static long double name##_value(argument a)      \
    {                                                \
        (void)a;                                     \
        return value;                                \
    }                                                \
    static long double name##_derivative(argument a) \
    {                                                \
        (void)a;                                     \
        return derivative;                           \
    }

FUNCTION(relu, a.x > 0 ? a.x : a.alpha * a.x, a.x > 0 ? 1 : a.alpha)
FUNCTION(tanh, tanhl(a.x), 1 - tanhl(a.x) * tanhl(a.x))
FUNCTION(elu, a.x > 0 ? a.x : a.alpha * expm1l(a.x), a.x > 0 ? 1 : a.alpha * expl(a.x))
FUNCTION(square, a.x *a.x, 2 * a.x)
FUNCTION(abs, fabsl(a.x), a.x > 0 ? 1 : a.x < 0 ? -1 : 0)
FUNCTION(sqrt, sqrtl(a.x), 1 / (2 * sqrtl(a.x)))
FUNCTION(linear, a.alpha *a.x + a.beta, a.alpha)
FUNCTION(bounded_relu, a.x > a.alpha ? a.alpha : a.x > 0 ? a.x : 0, a.x > 0 && a.x <= a.alpha ? 1 : 0)
FUNCTION(soft_relu, soft_plus(a.x), logistic(a.x))
FUNCTION(logistic, logistic(a.x), logistic(a.x) * (1 - logistic(a.x)))
FUNCTION(exp, expl(a.x), expl(a.x))
FUNCTION(gelu_tanh, 0.5L * a.x * (1 + tanhl(SQRT_2_OVER_PI * a.x * (1 + GELU_CUBE * a.x * a.x))),
         0.5L * (1 + tanhl(SQRT_2_OVER_PI * a.x * (1 + GELU_CUBE * a.x * a.x))) *
             (1 + a.x * (1 - tanhl(SQRT_2_OVER_PI * a.x * (1 + GELU_CUBE * a.x * a.x))) * SQRT_2_OVER_PI *
                      (1 + 3 * GELU_CUBE * a.x * a.x)))
FUNCTION(swish, a.x *logistic(a.alpha *a.x),
         logistic(a.alpha *a.x) * (1 + a.alpha * a.x * (1 - logistic(a.alpha * a.x))))
FUNCTION(log, logl(a.x), 1 / a.x)
FUNCTION(clip, a.x > a.beta ? a.beta : a.x > a.alpha ? a.x : a.alpha, a.x > a.alpha && a.x <= a.beta ? 1 : 0)
FUNCTION(clip_v2, a.x > a.beta ? a.beta : a.x > a.alpha ? a.x : a.alpha, a.x > a.alpha && a.x < a.beta ? 1 : 0)
FUNCTION(pow, a.alpha *powl(a.x, a.beta), a.beta == 0 ? 0 : a.alpha * a.beta * powl(a.x, a.beta - 1))
FUNCTION(gelu_erf, 0.5L * a.x * (1 + erfl(a.x / sqrtl(2))),
         0.5L * (1 + erfl(a.x / sqrtl(2))) + a.x * expl(-a.x * a.x / 2) / sqrtl(2 * acosl(-1)))
FUNCTION(round, rintl(a.x), 0)
FUNCTION(logsigmoid, -soft_plus(-a.x), logistic(-a.x))
FUNCTION(mish, a.x *tanhl(soft_plus(a.x)),
         tanhl(soft_plus(a.x)) + a.x * logistic(a.x) * (1 - tanhl(soft_plus(a.x)) * tanhl(soft_plus(a.x))))
FUNCTION(hardswish, a.x *fminl(6, fmaxl(0, a.x + 3)) / 6, a.x<-3 ? 0 : a.x> 3 ? 1 : (2 * a.x + 3) / 6)

#define ROW(name)                              \
    {                                          \
#name, name##_value, name##_derivative \
    }
static const function functions[] = {
    ROW(relu),   ROW(tanh),         ROW(elu),       ROW(square),    ROW(abs), ROW(sqrt),
    ROW(linear), ROW(bounded_relu), ROW(soft_relu), ROW(logistic),  ROW(exp), ROW(gelu_tanh),
    ROW(swish),  ROW(log),          ROW(clip),      ROW(clip_v2),   ROW(pow), ROW(gelu_erf),
    ROW(round),  ROW(logsigmoid),   ROW(mish),      ROW(hardswish),
};

/* Derivatives by what the function gave: x stands for dst. */
static bool derivative_of_result(long double *out, const char *alg, argument a)
{
    static const char *const names[] = { "relu", "tanh", "elu", "sqrt", "logistic", "exp", "clip_v2" };
    const long double values[] = {
        a.x > 0 ? 1 : a.alpha, 1 - a.x * a.x, a.x > 0 ? 1 : a.x + a.alpha,   1 / (2 * a.x),
        a.x * (1 - a.x),       a.x,           a.x > a.alpha && a.x < a.beta,
    };
    for (size_t i = 0; i < OPD_COUNT(names); i++) {
        size_t size = strlen(names[i]);
        if (strncmp(alg, names[i], size) == 0 && strcmp(alg + size, "_use_dst_for_bwd") == 0) {
            *out = values[i];
            return true;
        }
    }
    return false;
}

bool opd_dnnl_function(opd_dnnl_sum *out, const char *alg, long double x, long double alpha, long double beta,
                       bool is_derivative)
{
    const argument a = { x, alpha, beta };
    const char *suffix = strstr(alg, "_use_dst_for_bwd");
    if (suffix != NULL && is_derivative) {
        out->gauge = 1 + fabsl(x) + x * x;
        return derivative_of_result(&out->value, alg, a);
    }
    size_t size = suffix != NULL ? (size_t)(suffix - alg) : strlen(alg);
    for (size_t i = 0; i < OPD_COUNT(functions); i++) {
        const function *f = &functions[i];
        if (strncmp(alg, f->name, size) != 0 || f->name[size] != '\0') {
            continue;
        }
        out->value = is_derivative ? f->derivative(a) : f->value(a);
        out->gauge = fabsl(out->value) + fabsl(x) + (is_derivative ? 1 + x * x : fabsl(x * f->derivative(a)));
        return true;
    }
    return false;
}

bool opd_dnnl_binary_value(opd_dnnl_sum *out, const char *alg, long double a, long double b)
{
    static const char *const names[] = { "add", "mul", "max", "min", "div", "sub", "ge", "gt", "le", "lt", "eq", "ne" };
    const long double values[] = {
        a + b, a * b, a > b ? a : b, a < b ? a : b, a / b, a - b, a >= b, a > b, a <= b, a < b, a == b, a != b,
    };
    for (size_t i = 0; i < OPD_COUNT(names); i++) {
        if (strcmp(alg, names[i]) == 0) {
            out->value = values[i];
            out->gauge = i == 1 || i == 4 ? fabsl(values[i]) : fabsl(a) + fabsl(b);
            return true;
        }
    }
    return false;
}

bool opd_dnnl_eltwise_element(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at)
{
    const char *alg = opd_call_text(of->call, "alg", "");
    long double alpha = (long double)opd_call_real(of->call, "alpha", 0);
    long double beta = (long double)opd_call_real(of->call, "beta", 0);
    bool is_forward = strcmp(of->wanted, "dst") == 0;
    const opd_dnnl_source *x = !is_forward && of->src.data == NULL ? &of->dst : &of->src;
    if (x->data == NULL || !opd_dnnl_function(out, alg, opd_dnnl_read(x, at), alpha, beta, !is_forward)) {
        return false;
    }
    if (!is_forward) {
        long double gradient = opd_dnnl_read(&of->diff_dst, at);
        out->value = opd_dnnl_round(of, out->value * gradient);
        out->gauge *= fabsl(gradient);
    }
    out->value = opd_dnnl_round(of, out->value);
    return true;
}

bool opd_dnnl_binary_element(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at)
{
    bool is_known = of->src.data != NULL && of->src1.data != NULL &&
                    opd_dnnl_binary_value(out, opd_call_text(of->call, "alg", ""), opd_dnnl_read(&of->src, at),
                                          opd_dnnl_read(&of->src1, at));
    out->value = opd_dnnl_round(of, out->value);
    return is_known;
}

bool opd_dnnl_reorder_element(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at)
{
    if (of->src.data == NULL) {
        return false;
    }
    opd_dtype from = of->src.dtype;
    for (int i = 0; i < of->call->operand_count; i++) { /* to integers it rounds to nearest even, ours would cut off */
        const opd_operand *operand = &of->call->operands[i];
        bool is_cut =
            strcmp(operand->name, "dst") == 0 && !opd_dtype_is_float(operand->view.dtype) && opd_dtype_is_float(from);
        if (is_cut) {
            return false;
        }
    }
    out->value = opd_dnnl_read(&of->src, at);
    out->gauge = fabsl(out->value);
    return true;
}

/* The n-th source of several. */
static bool source_at(opd_dnnl_source *out, const opd_dnnl_definition *of, int number)
{
    char name[OPD_NAME] = "src";
    name[3] = (char)('0' + number % 10);
    name[4] = '\0';
    return number < 10 && opd_dnnl_source_of(out, of->call, name);
}

bool opd_dnnl_sum_element(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at)
{
    opd_dnnl_source source;
    char name[OPD_NAME] = "scale0";
    int number = 0;
    for (; source_at(&source, of, number); number++) {
        name[5] = (char)('0' + number);
        opd_dnnl_add(out, of, opd_dnnl_read(&source, at), (long double)opd_call_real(of->call, name, 1));
    }
    return number > 0;
}

bool opd_dnnl_concat_element(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at)
{
    opd_dnnl_source source;
    int64_t index[DNNL_MAX_NDIMS];
    int axis = (int)opd_call_int(of->call, "axis", 0);
    memcpy(index, at, (size_t)of->wanted_rank * sizeof index[0]);
    for (int number = 0; axis >= 0 && axis < of->wanted_rank && source_at(&source, of, number); number++) {
        if (index[axis] < source.dims[axis]) {
            out->value = opd_dnnl_read(&source, index);
            out->gauge = fabsl(out->value);
            return true;
        }
        index[axis] -= source.dims[axis];
    }
    return false;
}
