/* SPDX-License-Identifier: Apache-2.0 */
/* The smallest part of a call that shows its fault, cut where a judgement located it. */
#ifndef OPD_CLI_SAMPLE_H
#define OPD_CLI_SAMPLE_H

#include <opsdebug/replay.h>

/*
 * Cuts item to what location names, as far as the contract says which dimensions go together, and runs the cut; of several cuts the smallest that
 * fails as the whole did. result is that of the cut.
 * errors    E_DECLINED no cut of it fails so; the text says why.
 */
opd_status opd_sample_cut(opd_case *out, opd_replay_result *result, const opd_case *item,
                          const opd_replay_result *whole, const opd_replay_options *options);

#endif
