/* SPDX-License-Identifier: Apache-2.0 */
/* Our own serial variant of a BLAS routine. */
#ifndef OPD_REPLAYER_SERIAL_H
#define OPD_REPLAYER_SERIAL_H

#include <opsdebug/op.h>

/* Computes the outputs (operands by position) of a call in place. errors: as opd_naive_run. */
opd_status opd_serial_run(const opd_call *call, const int *outputs, int count);

#endif
