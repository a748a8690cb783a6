/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Canary values. For floating types a quiet NaN whose payload says: ours, of which operand, content or surroundings, and random
 * bits. Arithmetic hands payloads on, so a result often still tells where the NaN came from.
 *
 *   f64  payload bits 50..31 tag, 30 content, 29..24 operand, 23..0 random
 *   f32  payload bits 21..15 tag, 14 content, 13..8 operand, 7..0 random
 * Other types: random bytes.
 */
#include <assert.h>
#include <string.h>

#include <opsdebug/contract.h>

#include "canary.h"

#define TAG_64 UINT64_C(0x5cade)
#define TAG_32 UINT32_C(0x5a)

static_assert(OPD_MAX_OPERANDS <= OPD_CANARY_WORKSPACE,
              "six bits hold the number of an operand, or that it is the workspace");

void opd_canary_fill(uint8_t *from, const uint8_t *to, uintptr_t phase, opd_dtype dtype, int operand, bool is_content)
{
    opd_dtype part = opd_dtype_real(dtype);
    size_t size = part == OPD_F64 ? 8 : part == OPD_F32 ? 4 : 1;
    uint64_t state = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(operand + 1);
    /* Words are in step with the elements; ragged ends get plain bytes. */
    size_t skip = (size_t)(phase - (uintptr_t)from) % size;
    while (from < to && (skip > 0 || (size_t)(to - from) < size)) {
        *from++ = 0xa5;
        skip -= skip > 0;
    }
    for (; (size_t)(to - from) >= size; from += size) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        if (size == 8) {
            uint64_t word = UINT64_C(0x7ff8) << 48 | TAG_64 << 31 | (uint64_t)is_content << 30 |
                            (uint64_t)(operand & 63) << 24 | state >> 40;
            memcpy(from, &word, 8);
        } else if (size == 4) {
            uint32_t word = UINT32_C(0x7fc00000) | TAG_32 << 15 | (uint32_t)is_content << 14 |
                            (uint32_t)(operand & 63) << 8 | (uint32_t)(state >> 56);
            memcpy(from, &word, 4);
        } else {
            *from = (uint8_t)(state >> 56);
        }
    }
    while (from < to) {
        *from++ = 0xa5;
    }
}

opd_canary opd_canary_read(opd_dtype part, const void *element)
{
    opd_canary canary = { .operand = -1 };
    uint64_t wide;
    uint32_t narrow;
    if (part == OPD_F64) {
        memcpy(&wide, element, 8);
        canary.is_canary = (wide >> 31 & 0xfffff) == TAG_64 && (wide >> 51 & 0xfff) == 0xfff;
        canary.is_content = (wide >> 30 & 1) != 0;
        canary.operand = (int)(wide >> 24 & 63);
    } else if (part == OPD_F32) {
        memcpy(&narrow, element, 4);
        canary.is_canary = (narrow >> 15 & 0x7f) == TAG_32 && (narrow >> 22 & 0x1ff) == 0x1ff;
        canary.is_content = (narrow >> 14 & 1) != 0;
        canary.operand = (int)(narrow >> 8 & 63);
    }
    return canary;
}
