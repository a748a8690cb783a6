/* SPDX-License-Identifier: Apache-2.0 */
/* Verifications of variants that are meant to be right, drawn over operators, variants, probes, dtypes, fills and seeds: every finding is a false alarm. */
#ifndef OPD_CLI_HEALTHY_H
#define OPD_CLI_HEALTHY_H

#include <opsdebug/kernel.h>

#include "peers.h"

typedef struct opd_healthy {
    uint64_t seed, wanted;
    unsigned jobs;
    const opd_op *only; /* NULL = all */
    /* Told of each false alarm of ours, by one thread at a time; context is theirs. */
    void (*alarm)(void *context, const opd_op *op, const opd_variant *variant, const opd_probe *probe, uint64_t seed,
                  const opd_finding *finding);
    void *context;
} opd_healthy;

typedef struct opd_healthy_tally {
    uint64_t runs, alarms, refused; /* refused: could not run, which is trouble */
    uint64_t peer_alarms[OPD_PEER_COUNT];
    int operators, variants; /* that the runs were drawn from */
    char error[256];         /* of the first refused */
} opd_healthy_tally;

/* errors: E_NAME the operator has no variant to try. */
opd_status opd_healthy_try(opd_healthy_tally *out, const opd_healthy *healthy);

#endif
