/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call in few words: names by their length, values by their kind, views by their rank. What a recorder packs once for calls
 * that come again with other addresses, and the collector unpacks.
 *
 * call      [symbols:8 attributes:8 operands:8 dtype:8] domain name value* operand*
 * value     [kind:8 count:8 length:8 name...] then by kind: INT i; REAL re; TEXT [length:8 text...]; INTS ints[count]
 * operand   [role:8 dtype:8 rank:8 flags:8 length:8 name...] address shape[rank] stride[rank]
 * Texts fill whole words.
 */
#ifndef OPD_PACKED_H
#define OPD_PACKED_H

#include <opsdebug/op.h>

/* Number of words; 0: they do not fit capacity, or the call holds what has no packed form. address_at: where each operand's address stands. */
uint32_t opd_pack_call(uint64_t *words, uint32_t capacity, const opd_call *call, uint16_t address_at[OPD_MAX_OPERANDS]);

/* Views without data, operator by its names. False: cut short or contradictory; *out is then of no use. */
bool opd_unpack_call(opd_call *out, const uint64_t *words, uint32_t count);

#endif
