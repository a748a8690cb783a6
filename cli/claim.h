/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A claim on an output path: while it is held, no other ops-debug writes that result or the files beside it. The lock
 * goes with the process, so a killed search leaves nothing that stops the next one.
 */
#ifndef OPD_CLI_CLAIM_H
#define OPD_CLI_CLAIM_H

#include <opsdebug/status.h>

typedef struct opd_claim {
    char path[4096]; /* of the lock file, OUT.lock; "" = not held */
    int fd;
} opd_claim;

/* errors: E_IO out cannot be written, or another process holds it; the text names out. */
opd_status opd_claim_take(opd_claim *claim, const char *out);
void opd_claim_release(opd_claim *claim);

#endif
