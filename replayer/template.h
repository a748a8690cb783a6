/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker that has loaded PyTorch and runs nothing: copies of it run the jobs, one each. Loading takes a second, a copy a few milliseconds. One per
 * process that replays; it ends with it.
 */
#ifndef OPD_REPLAYER_TEMPLATE_H
#define OPD_REPLAYER_TEMPLATE_H

#include "job.h"

#define OPD_TEMPLATE_WORD "--template" /* the worker's argument */

/*
 * The replaying side: a process for spawn's job as its worker, with output_fd as its output, made from a template with spawn's environment. *pid is a child
 * of the caller. false: there is none to be had (another thread is at it, it cannot be started); start the worker itself.
 */
bool opd_template_copy(pid_t *pid, const opd_spawn *spawn, int output_fd, uint64_t address_limit);

/* The worker's side: serves until its peer is gone, and returns in each copy, where OPD_JOB_FD is the job. */
void opd_template_serve(void);

#endif
