/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The generator: Philox 4x32-10. A block gives 128 bits; element i of (seed, stream) owns block i.
 */
#include <opsdebug/random.h>

#define ROUNDS       10
#define MULTIPLIER_0 UINT64_C(0xD2511F53)
#define MULTIPLIER_1 UINT64_C(0xCD9E8D57)
#define WEYL_0       UINT32_C(0x9E3779B9) /* golden ratio */
#define WEYL_1       UINT32_C(0xBB67AE85) /* sqrt 3 - 1 */

void opd_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
    uint32_t x0 = counter[0];
    uint32_t x1 = counter[1];
    uint32_t x2 = counter[2];
    uint32_t x3 = counter[3];
    uint32_t k0 = key[0];
    uint32_t k1 = key[1];
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t p0 = MULTIPLIER_0 * x0;
        uint64_t p1 = MULTIPLIER_1 * x2;
        x0 = (uint32_t)(p1 >> 32) ^ x1 ^ k0;
        x1 = (uint32_t)p1;
        x2 = (uint32_t)(p0 >> 32) ^ x3 ^ k1;
        x3 = (uint32_t)p0;
        k0 += WEYL_0;
        k1 += WEYL_1;
    }
    out[0] = x0;
    out[1] = x1;
    out[2] = x2;
    out[3] = x3;
}

void opd_random_pair(uint64_t out[2], uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t counter[4] = { (uint32_t)index, (uint32_t)(index >> 32), (uint32_t)stream, (uint32_t)(stream >> 32) };
    uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint32_t block[4];
    opd_philox(block, counter, key);
    out[0] = block[0] | (uint64_t)block[1] << 32;
    out[1] = block[2] | (uint64_t)block[3] << 32;
}

uint64_t opd_random_u64(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint64_t pair[2];
    opd_random_pair(pair, seed, stream, index);
    return pair[0];
}
