/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of kinds of calls, by a hash of what makes a kind: 48 bits of it, and in the low 16 how often it was seen, up to the limit. Kinds that
 * find no place in a full table count as seen often enough: data are lost rather than time.
 */
#include "firsts.h"

#include <stdatomic.h>
#include <string.h>

#include "here.h"

#define KINDS      16384u
#define PROBES     32u
#define COUNT_MASK UINT64_C(0xffff)

static _Atomic uint64_t kinds[KINDS];
static uint64_t attachment; /* of the process, part of the hash: a child starts anew */

void opd_firsts_reset(void)
{
    attachment++;
}

static uint64_t mix_text(uint64_t hash, const char *text, size_t size)
{
    for (size_t i = 0; i < size && text[i] != '\0'; i++) {
        hash = opd_mix(hash, (uint8_t)text[i]);
    }
    return hash;
}

static uint64_t mix_value(uint64_t hash, const opd_value *value)
{
    uint64_t bits;
    hash = opd_mix(opd_mix(hash, (uint64_t)value->kind), (uint64_t)value->i);
    memcpy(&bits, &value->re, sizeof(bits));
    hash = opd_mix(hash, bits);
    memcpy(&bits, &value->im, sizeof(bits));
    hash = opd_mix(hash, bits);
    if (value->kind == OPD_VALUE_INTS) {
        for (int i = 0; i < OPD_MAX_INTS; i++) {
            hash = opd_mix(hash, i < value->i ? (uint64_t)value->ints[i] : 0);
        }
        return hash;
    }
    return mix_text(hash, value->text, sizeof(value->text));
}

uint64_t opd_firsts_operator(const opd_call *call)
{
    return mix_text(mix_text(opd_mix(attachment, (uint64_t)call->dtype), call->domain, sizeof(call->domain)),
                    call->name, sizeof(call->name));
}

uint64_t opd_firsts_kind(const opd_call *call)
{
    uint64_t hash = opd_firsts_operator(call);
    hash = opd_mix(hash, call->flags & OPD_CALL_IDENTITY);
    for (int i = 0; i < call->symbol_count; i++) {
        hash = mix_value(hash, &call->symbols[i]);
    }
    for (int i = 0; i < call->attr_count; i++) {
        hash = mix_value(hash, &call->attrs[i]);
    }
    for (int i = 0; i < call->operand_count; i++) {
        const opd_tensor *view = &call->operands[i].view;
        hash = opd_mix(hash, (uint64_t)view->dtype << 32 | (uint32_t)view->rank);
        for (int k = 0; k < view->rank && k < OPD_MAX_RANK; k++) {
            hash = opd_mix(opd_mix(hash, (uint64_t)view->shape[k]), (uint64_t)view->stride[k]);
        }
    }
    return hash;
}

bool opd_firsts_wants(const opd_call *call, uint32_t limit)
{
    uint64_t key = opd_firsts_kind(call) & ~COUNT_MASK;
    uint64_t most = limit < COUNT_MASK ? limit : COUNT_MASK;
    key = key != 0 ? key : COUNT_MASK + 1;
    for (uint32_t i = 0; i < PROBES; i++) {
        _Atomic uint64_t *place = &kinds[((key >> 16) + i) % KINDS];
        uint64_t found = atomic_load_explicit(place, memory_order_relaxed);
        if (found == 0 && atomic_compare_exchange_strong(place, &found, key | 1)) {
            return most > 0;
        }
        while ((found & ~COUNT_MASK) == key) {
            if ((found & COUNT_MASK) >= most) {
                return false;
            }
            if (atomic_compare_exchange_weak(place, &found, found + 1)) {
                return true;
            }
        }
    }
    return false;
}
