/* SPDX-License-Identifier: Apache-2.0 */
/* Capture level counts, when a thread makes calls of more kinds than are told apart. */
#include "counts.h"

#include "firsts.h"

opd_counted *opd_counts_rest(opd_slot *slot, uint64_t operator_key, const opd_call *call)
{
    uint64_t key = (call != NULL ? opd_firsts_operator(call) : operator_key) | 1;
    for (uint64_t i = 0; i < OPD_COUNT_OPERATORS; i++) {
        uint64_t at = ((key >> 40) + i) & (OPD_COUNT_OPERATORS - 1);
        opd_counted *place = &slot->counts[OPD_COUNT_KINDS + at];
        uint64_t found = atomic_load_explicit(&place->key, memory_order_relaxed);
        if (found == 0) {
            atomic_store_explicit(&place->key, key, memory_order_relaxed);
        }
        if (found == 0 || found == key) {
            return place;
        }
    }
    return NULL;
}
