/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judgement of outputs inside the worker: born NaN and Inf, the gauge rule against the reference, and the comparison with
 * recorded content. The reference is computed once, from the restored inputs.
 */
#ifndef OPD_REPLAYER_JUDGE_H
#define OPD_REPLAYER_JUDGE_H

#include "arena.h"

typedef struct opd_judge_output {
    long double *value, *gauge, *naive; /* as opd_reference_run gives them; NULL = not run */
    double *doubt;                      /* how far off value may be, by a run with more bits; NULL = not run */
} opd_judge_output;

typedef struct opd_judge {
    const opd_job *job;
    const opd_call *call;
    opd_judge_output outputs[OPD_MAX_OPERANDS];
    bool has_reference, is_declined, has_naive;
    bool is_naive_wanted; /* the last judgement lies between the bands: run opd_judge_naive and judge again */
    bool is_right;        /* the last judgement */
    bool is_exact;        /* whole numbers whose sums are exact: every bit counts */
    opd_opinion opinion;  /* of the last judgement */
    opd_opinion peers[OPD_MAX_PEERS];
    double growth; /* of the variant: the bound widens by it; 0 = 1 */
    double terms;  /* n of a sum; -1 = not known */
    double cap;    /* n/2 + 16 */
    double naive_ratio;
    bool is_nan_read, is_inf_read; /* on entry, in what the routine must read */
} opd_judge;

/* Looks at the inputs, before the call. */
void opd_judge_begin(opd_judge *judge, const opd_job *job, const opd_call *call);
/* Computes the references from the operands as they are now: call it after opd_arena_restore. E_DECLINED is not an error: has_reference stays false. */
opd_status opd_judge_reference(opd_judge *judge);
/*
 * NaN or Inf born: fills outcome, operand, index, count, reason; leaves the outcome OK otherwise. now: the outputs' digests, as for
 * opd_judge_recorded.
 */
void opd_judge_born(opd_failure *failure, const opd_judge *judge, const opd_operand *now, const int *numbers,
                    int count);
/* The serial sums in the same precision, likewise from restored operands. */
opd_status opd_judge_naive(opd_judge *judge);
/* How far off the reference may be, likewise from restored operands; nothing where no run with more bits can be had. */
opd_status opd_judge_doubt(opd_judge *judge);
/* Are the right values whole numbers that the accumulator holds exactly, on the way too? Sets is_exact. Needs both references. */
void opd_judge_find_exact(opd_judge *judge);
/* Outputs in place against the reference, for people: metrics, mistrust and sureness of result. outputs: their operand numbers. */
opd_status opd_judge_figures(opd_replay_result *result, const opd_judge *judge, const int *numbers, int count);
/* Outputs in place against the reference: numbers, and on a mismatch the failure (unless it says something already). */
void opd_judge_numbers(opd_numbers *numbers, opd_failure *failure, opd_judge *judge);
/*
 * Outputs in place against recorded ones, by digest, else by content when it was kept, else by statistics: fills same, recorded_ratio and
 * recorded_ulp of a result whose numbers are there. outputs[i] holds digest and health of operand numbers[i] now. UNKNOWN: nothing recorded, or not
 * the same bits and no bound to judge with.
 */
void opd_judge_recorded(opd_replay_result *result, const opd_judge *judge, const opd_operand *outputs,
                        const int *numbers, int count);
/*
 * How many elements of an output hold, in packed (what the call left), the same bytes as in operand's memory (what was there before); 0 when the one
 * at index does not.
 */
uint64_t opd_judge_untouched(const opd_operand *operand, const void *packed, const int64_t *index);
void opd_judge_done(opd_judge *judge);

#endif
