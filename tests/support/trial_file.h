/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls with data, run by every variant that can and written to a file: per call a line of JSON (operator, attributes, dtypes and shapes), then
 * the bytes of the inputs and of each variant's outputs. trial_cases.py reads it.
 */
#ifndef OPD_TEST_TRIAL_FILE_H
#define OPD_TEST_TRIAL_FILE_H

#include <stdio.h>

#include <opsdebug/kernel.h>

typedef struct trial_file {
    FILE *file;
    void *memory[OPD_MAX_OPERANDS];
    int calls;
    int runs; /* variants run */
} trial_file;

/* Memory for the operands of one role, every other element with the dimensions in the opposite order when is_strided; outputs hold 0xa5. */
void trial_place(trial_file *trial, opd_call *call, opd_role role, bool is_strided);
/* Makes, fills and runs a call, and writes it down. False, with the error text set: it cannot be made. */
bool trial_run(trial_file *trial, const opd_op *op, const opd_call_wish *wish, uint64_t seed, bool is_strided);
/* A bound call with data and outputs in memory: runs it. */
void trial_run_variants(trial_file *trial, const opd_call *call);
void trial_release(trial_file *trial);
/* Closes and removes the file after the script of numpy_process.h has found nothing wrong in all its runs; releases the memory. */
void trial_judge(trial_file *trial, const char *path);

#endif
