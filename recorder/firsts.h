/* SPDX-License-Identifier: Apache-2.0 */
/* The first few calls of each kind: operator, dtypes, shapes, attributes. */
#ifndef OPD_FIRSTS_H
#define OPD_FIRSTS_H

#include <opsdebug/op.h>

/* Is the call one of the first `limit` of its kind in this process? Threads count together, without waiting. */
bool opd_firsts_wants(const opd_call *call, uint32_t limit);

/* What makes the kind of a call, in this process. */
uint64_t opd_firsts_kind(const opd_call *call);
/* And what its operator has in common. */
uint64_t opd_firsts_operator(const opd_call *call);

/* The process has attached: all kinds are new. */
void opd_firsts_reset(void);

#endif
