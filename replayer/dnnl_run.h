/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A oneDNN primitive in the worker: made again from its call, with scratch memory of ours so that guards see it, and executed.
 *
 * order of use: opd_dnnl_run_open -> for each pass opd_dnnl_run_place -> opd_dnnl_run_execute* .
 */
#ifndef OPD_REPLAYER_DNNL_RUN_H
#define OPD_REPLAYER_DNNL_RUN_H

#include "job.h"

typedef struct opd_dnnl_run opd_dnnl_run; /* one per process */

/*
 * Makes the primitive of job->call with the library's functions (handle). With job->isa the library chooses layouts of its own, and operands are reordered
 * into them and back. Says in job->note when the library has another implementation.
 * errors    E_UNSUPPORTED the library makes no such primitive, or one of other layouts; E_NOTFOUND it lacks a function.
 */
opd_status opd_dnnl_run_open(opd_dnnl_run **out, void *handle, opd_job *job);
size_t opd_dnnl_run_scratch(const opd_dnnl_run *run);
/* Binds operands (their view.data) and scratch memory. */
opd_status opd_dnnl_run_place(opd_dnnl_run *run, const opd_call *call, void *scratch);
/* errors: E_CHILD the library returned an error. */
opd_status opd_dnnl_run_execute(opd_dnnl_run *run);

#endif
