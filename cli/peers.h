/* SPDX-License-Identifier: Apache-2.0 */
/* Rules that others judge results by, asked about the same runs as ours: how many faults each misses, how many right results each accuses. */
#ifndef OPD_CLI_PEERS_H
#define OPD_CLI_PEERS_H

#include "probes.h"

enum { OPD_PEER_COUNT = 3 };

/* For opd_probe_way.peers. */
extern const char *const opd_peer_presets[];
const char *opd_peer_name(int peer);    /* "torch" */
const char *opd_peer_meaning(int peer); /* "torch.testing.assert_close" */
/*
 * Would the rule have been broken? Of the first run's outputs only: nobody but us looks at memory, bits or other runs; what does not come back, crash or
 * hang, everybody sees.
 */
bool opd_peer_is_broken(const opd_finding *finding, int peer);

#endif
