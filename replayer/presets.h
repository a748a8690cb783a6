/* SPDX-License-Identifier: Apache-2.0 */
/* Other people's rules of when two tensors agree, as a table; and the rules of those who bring their own numbers. */
#ifndef OPD_REPLAYER_PRESETS_H
#define OPD_REPLAYER_PRESETS_H

#include <opsdebug/replay.h>

typedef enum opd_rule_kind {
    OPD_RULE_SUM,    /* |error| <= abs + rel |right| */
    OPD_RULE_EITHER, /* |error| <= abs, or <= rel |right| */
    OPD_RULE_BITS,   /* the same value, the sign of zero counted */
    OPD_RULE_GAUGE,  /* |error| < 16 eps gauge, whatever the naive variant does */
    OPD_RULE_CLASS,  /* relative error by operator; absolute below 1e-5 */
    OPD_RULE_THREE,  /* errors of the whole tensor in multiples of those of a same-precision benchmark */
    OPD_RULE_TWICE,  /* largest error at most twice the benchmark's, plus abs */
} opd_rule_kind;

typedef struct opd_rule {
    const char *name;
    const char *meaning;
    opd_rule_kind kind;
    double abs, rel;         /* of f32, and of types without one of their own */
    double abs_f64, rel_f64; /* likewise below; 0 = as f32 */
    double rel_f16, rel_bf16;
    double max_rel, mean_rel, rms; /* THREE: multiples */
} opd_rule;

/* NULL past the last, or when there is none of that name. */
const opd_rule *opd_rule_at(int index);
const opd_rule *opd_rule_find(const char *name);
bool opd_rule_needs_naive(const opd_rule *rule);
/* Numbers of a SUM or EITHER rule for a dtype. Integers must be equal unless the numbers are a user's own. */
void opd_rule_numbers(double *abs, double *rel, const opd_rule *rule, opd_dtype dtype);
/* Threshold of a CLASS rule for an operator by its name. */
double opd_rule_threshold(const char *op, opd_dtype dtype);

#endif
