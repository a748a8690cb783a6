/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that are run again on the reference, beside the program. Both sides know which they are: the program keeps their operands whatever the
 * level, the collector takes them out of the arena and hands them to a worker thread of its own, one at a time.
 */
#ifndef OPD_VERIFY_H
#define OPD_VERIFY_H

#include "session.h"

/* Chosen by a hash: whatever rhythm the program's calls have, each kind has its turn. */
static inline bool opd_verify_wants(const opd_control *control, uint32_t tid, uint64_t number)
{
    uint64_t hash = (number ^ (uint64_t)tid << 40) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ hash >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return control->verify != 0 && (hash >> 32) % control->verify == 0;
}

#endif
