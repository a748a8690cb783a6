/* SPDX-License-Identifier: Apache-2.0 */
/* What stands in for a library's routine: our own serial variant, or outputs that were made elsewhere. */
#ifndef OPD_REPLAYER_SERIAL_H
#define OPD_REPLAYER_SERIAL_H

#include "job.h"

/* Computes the outputs (operands by position) of a call in place. errors: as opd_naive_run. */
opd_status opd_serial_run(const opd_call *call, const int *outputs, int count);

/* Copies the outputs that the job was given into place. */
void opd_given_put(const opd_call *call, opd_job *job, const int *outputs, int count);

#endif
