/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules by name. Numbers are those of torch.testing, ONNX's node tests, Polygraphy, CANN's precision standard for operators, oneDNN's
 * benchdnn, the netlib test programs and flash-attention's tests.
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "presets.h"

static const opd_rule rules[] = {
    { .name = "torch",
      .meaning = "torch.testing.assert_close",
      .kind = OPD_RULE_SUM,
      .abs = 1e-5,
      .rel = 1.3e-6,
      .abs_f64 = 1e-7,
      .rel_f64 = 1e-7,
      .rel_f16 = 1e-3,
      .rel_bf16 = 1.6e-2 },
    { .name = "onnx", .meaning = "ONNX's node tests", .kind = OPD_RULE_SUM, .abs = 1e-7, .rel = 1e-3 },
    { .name = "polygraphy", .meaning = "Polygraphy's defaults", .kind = OPD_RULE_EITHER, .abs = 1e-5, .rel = 1e-5 },
    { .name = "netlib", .meaning = "the BLAS test programs", .kind = OPD_RULE_GAUGE },
    { .name = "benchdnn", .meaning = "oneDNN's benchdnn, by operator", .kind = OPD_RULE_CLASS },
    { .name = "cann-L0",
      .meaning = "CANN, ordinary operators",
      .kind = OPD_RULE_THREE,
      .max_rel = 10,
      .mean_rel = 2,
      .rms = 2 },
    { .name = "cann-L1",
      .meaning = "CANN, important operators",
      .kind = OPD_RULE_THREE,
      .max_rel = 5,
      .mean_rel = 1.5,
      .rms = 1.5 },
    { .name = "cann-L2",
      .meaning = "CANN, key operators",
      .kind = OPD_RULE_THREE,
      .max_rel = 2,
      .mean_rel = 1.2,
      .rms = 1.2 },
    { .name = "flash-attn", .meaning = "flash-attention's tests", .kind = OPD_RULE_TWICE, .abs = 1e-5 },
    /* Modes: the user's own numbers. */
    { .name = "absolute", .kind = OPD_RULE_SUM },
    { .name = "relative", .kind = OPD_RULE_SUM },
    { .name = "mixed", .kind = OPD_RULE_SUM },
    { .name = "exact", .kind = OPD_RULE_BITS },
};

const opd_rule *opd_rule_at(int index)
{
    return index >= 0 && index < (int)OPD_COUNT(rules) ? &rules[index] : NULL;
}

const opd_rule *opd_rule_find(const char *name)
{
    for (size_t i = 0; i < OPD_COUNT(rules); i++) {
        if (strcmp(rules[i].name, name) == 0) {
            return &rules[i];
        }
    }
    return NULL;
}

const char *opd_preset_at(int index, const char **meaning)
{
    const opd_rule *rule = opd_rule_at(index);
    if (rule == NULL || rule->meaning == NULL) {
        return NULL;
    }
    *meaning = rule->meaning;
    return rule->name;
}

bool opd_rule_needs_naive(const opd_rule *rule)
{
    return rule->kind == OPD_RULE_THREE || rule->kind == OPD_RULE_TWICE;
}

static double own_or(double own, double otherwise)
{
    return own > 0 ? own : otherwise;
}

void opd_rule_numbers(double *abs, double *rel, const opd_rule *rule, opd_dtype dtype)
{
    opd_dtype part = opd_dtype_real(dtype);
    *abs = part == OPD_F64 ? own_or(rule->abs_f64, rule->abs) : rule->abs;
    *rel = part == OPD_F64    ? own_or(rule->rel_f64, rule->rel)
           : part == OPD_F16  ? own_or(rule->rel_f16, rule->rel)
           : part == OPD_BF16 ? own_or(rule->rel_bf16, rule->rel)
                              : rule->rel;
    if (!opd_dtype_is_float(dtype)) {
        *abs = 0;
        *rel = 0;
    }
}

double opd_rule_threshold(const char *op, opd_dtype dtype)
{
    /* f32: a number; others: multiples of eps of the type. */
    static const struct {
        const char *op;
        double f32, others;
    } classes[] = {
        { "Softmax", 1.2e-6, 10 },
        { "LogSoftmax", 6e-6, 50 },
        { "LayerNormalization", 5e-7, 4.2 },
        { "GroupNormalization", 6e-7, 5 },
        { "BatchNormalization", 6e-7, 5 },
        { "InstanceNormalization", 6e-7, 5 },
        { "RMSNormalization", 5e-7, 4.2 },
        { "AveragePool", 1.2e-6, 10 },
        { "GlobalAveragePool", 1.2e-6, 10 },
        { "MaxPool", 0, 0 },
        { "ReduceL2", 6e-7, 5 },
        { "Tanh", 4e-5, 1 },
        { "Gelu", 4e-5, 1 },
        { "HardSwish", 4e-5, 1 },
        { "Log", 4e-5, 1 },
        { "Exp", 4e-6, 1 },
        { "Erf", 4e-6, 1 },
        { "Sigmoid", 4e-6, 1 },
        { "Sqrt", 4e-6, 1 },
        { "Pow", 4e-6, 1 },
    };
    double eps = opd_dtype_epsilon(opd_dtype_real(dtype));
    for (size_t i = 0; i < OPD_COUNT(classes); i++) {
        if (strcmp(classes[i].op, op) == 0) {
            return dtype == OPD_F32 ? classes[i].f32 : classes[i].others * eps;
        }
    }
    return eps;
}
