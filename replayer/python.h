/* SPDX-License-Identifier: Apache-2.0 */
/* A Python with PyTorch inside the worker, for calls of ATen operators: they run on the operands where they lie, guard pages and all. */
#ifndef OPD_REPLAYER_PYTHON_H
#define OPD_REPLAYER_PYTHON_H

#include "job.h"

/* Starts it and loads PyTorch, once. errors: as opd_python_open. */
opd_status opd_python_load(void);
/* To be called first in a forked copy of the process that loaded it. */
void opd_python_copied(void);

/*
 * Loads it where that was not done, with as many threads as the job says, and finds the operator of job->call; fills result.library, variant and threads.
 * errors    E_NOTFOUND no libpython or no PyTorch: the text says what to install; E_UNSUPPORTED no such operator, or the call's record is not whole.
 */
opd_status opd_python_open(opd_job *job);

/* errors: E_CHILD the operator refused the call: the text is its own; E_INVALID its results have other shapes than the call's outputs. */
opd_status opd_python_run(const opd_call *call);

#endif
