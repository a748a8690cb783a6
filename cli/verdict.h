/* SPDX-License-Identifier: Apache-2.0 */
/* The reference's word on recorded outputs, for the recorder, which knows no replayer. */
#ifndef OPD_CLI_VERDICT_H
#define OPD_CLI_VERDICT_H

#include <opsdebug/record.h>

/* An opd_verify_fn; context is not used. */
opd_status opd_verdict_of_bundle(void *context, opd_failure *out, const opd_bundle *bundle);

#endif
