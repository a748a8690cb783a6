/* SPDX-License-Identifier: Apache-2.0 */
/* A fuzzer's input as the bytes of a bundle. */
#include "fuzz_mend.h"

#include <string.h>
#include <xxhash.h>

/* Length of the varint at bytes, and its value; 0 = none. */
static size_t read_varint(uint64_t *value, const uint8_t *bytes, size_t size)
{
    *value = 0;
    for (size_t i = 0; i < size && i < 5; i++) {
        *value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (bytes[i] < 0x80) {
            return i + 1;
        }
    }
    return 0;
}

/* Makes sync and check right for each record that starts with 0x0A and a length, one after another. */
static void mend_checks(uint8_t *bytes, size_t size)
{
    static const uint8_t head[] = { 0x81, 0x7d, 0x4b, 0x87, 0xe6, 0xf1, 0xb2, 0x5a, 0x3c, 0x9d, 0x89, 0x7d };
    size_t at = 0;

    while (at + 22 <= size && bytes[at] == 0x0a) {
        uint64_t length = 0;
        size_t used = read_varint(&length, bytes + at + 1, size - at - 1);
        size_t body = at + 1 + used;
        if (used == 0 || length < 20 || length > size - body) {
            return;
        }
        uint64_t check = XXH3_64bits_withSeed(bytes + body + 20, (size_t)length - 20, at);
        memcpy(bytes + body, head, sizeof(head));
        memcpy(bytes + body + sizeof(head), &check, sizeof(check));
        at = body + (size_t)length;
    }
}

void fuzz_bundle_bytes(uint8_t *bytes, const uint8_t *data, size_t size)
{
    memcpy(bytes, data + 1, size - 1);
    if (data[0] & 1) {
        mend_checks(bytes, size - 1);
    }
}
