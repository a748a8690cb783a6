/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rules of a diagnosis look at, and the rules over experiments and addresses, which stand in experiments.c.
 */
#ifndef OPD_REDUCER_EVIDENCE_H
#define OPD_REDUCER_EVIDENCE_H

#include <math.h>

#include <opsdebug/reduce.h>

typedef struct evidence {
    const opd_call *call;
    const opd_failure *seen;     /* what a replay observed when it failed, else the recorded failure */
    const opd_failure *observed; /* may be NULL */
    const opd_experiments *tried;
    opd_outcome outcome; /* recorded */
    bool has_health[OPD_MAX_OPERANDS];
    opd_health before[OPD_MAX_OPERANDS];
} evidence;

static inline bool opd_must_be_read(const opd_operand *operand)
{
    return (operand->role & OPD_ROLE_IN) != 0 && (operand->flags & OPD_OPERAND_MUST_NOT_READ) == 0;
}

/* Of the finite elements, by size; 0 when there is none. */
static inline double opd_largest(const opd_health *health)
{
    double size = fmax(fabs(health->min), fabs(health->max));
    return isfinite(size) ? size : 0;
}

/* Text of the condition under which the contract reads an operand, from its signature; "" when there is none. */
void opd_condition_of(char *text, size_t size, const opd_op *op, const char *operand);

/*
 * Upper estimate of what a call computes, as a power of ten against the type's range: a product of scalars and operands summed over the
 * reduction, or old content times its scalar. Old content is a factor itself where a triangle or a rotation changes it in place, or
 * scalars alone; a matrix or vector that is the only input of an update is multiplied by itself.
 */
bool opd_may_overflow(const evidence *facts, double *estimate);

/*
 * Does the routine divide by a diagonal element that is zero, or so small that quotients leave the range? How sure that is; 0 = it does not.
 * text: "A[1,1] of the diagonal is 0 and trsm divides by it"; of an operand whose data are not there, that it holds zeros.
 */
double opd_divides_too_far(char *text, size_t size, const evidence *facts);

/* Fills label, confidence and reason when it applies. */
typedef bool rule_fn(opd_failure *out, const evidence *facts);

/* Returns true. */
bool opd_decide(opd_failure *out, const char *label, double confidence, const char *format, ...) OPD_PRINTF(4, 5);

rule_fn opd_rule_division, opd_rule_alias, opd_rule_race, opd_rule_stale_scratch, opd_rule_thread_dependent,
    opd_rule_isa_dependent, opd_rule_layout, opd_rule_low_prec_accum, opd_rule_cancellation;

#endif
