/* SPDX-License-Identifier: Apache-2.0 */
/* One element of an output and its error in units of the gauge rule. */
#ifndef OPD_REPLAYER_COMPONENT_H
#define OPD_REPLAYER_COMPONENT_H

#include "judge.h"

typedef struct opd_component {
    const opd_operand *operand;
    int number; /* of the operand */
    int64_t index[OPD_MAX_RANK];
    const uint8_t *element;
    double part[2];    /* re, im */
    long double exact; /* the value of a real element: every bit of an integer */
    opd_bound bound;
    double
        underflows; /* products on the way that may fall below the accumulator's least subnormal, by half of it each */
    int parts;
} opd_component;

/* How elements are held against their right values. */
opd_bound opd_component_bound(const opd_judge *judge);
/* Of a judgement: half the terms that the contract says a sum has. */
double opd_component_underflows(const opd_judge *judge);
/* The element at row-major position flat; false when it does not exist. */
bool opd_component_load(opd_component *item, const opd_judge *judge, int operand, int64_t flat);
/*
 * Error against want (as many parts) in units of what the operator's bound allows, scaled so that OPD_PASS_RATIO is the limit: eps * gauge, units in the
 * last place, or 0 for the same value; INFINITY when the classes differ.
 */
double opd_component_ratio(const opd_component *item, const long double *want, long double gauge, uint32_t mxcsr);
/* eps of the accumulator; of an element whose bound counts units in the last place, that of its own type. */
double opd_component_epsilon(const opd_component *item);
/* Units in the last place that the bound lets pass; 0 = it counts others. */
double opd_component_limit(const opd_component *item);
/* The error that the bound lets pass at want (of parts, the real one), in the output's own unit. */
double opd_component_allowed(const opd_component *item, double want, long double gauge);
/* value rounded to the type of an element's parts. */
double opd_component_narrow(opd_dtype dtype, long double value);
/* Both NaN, or the same infinity, or both finite. */
bool opd_same_class(double got, double want);

#endif
