/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protobuf wire format by hand: varints, tags, lengths. Nothing here allocates or fails with a text; callers know
 * which record they are in and say so.
 */
#include "wire.h"

#include <string.h>

bool wire_get_varint(uint64_t *value, const uint8_t *bytes, size_t size, size_t *position)
{
    uint64_t result = 0;
    size_t at = *position;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        if (at >= size) {
            return false;
        }
        uint8_t byte = bytes[at++];
        if (shift == 63 && byte > 1) {
            return false;
        }
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = result;
            *position = at;
            return true;
        }
    }
    return false;
}

uint64_t wire_get_u64(const uint8_t bytes[8])
{
    uint64_t value = 0;

    for (int i = 7; i >= 0; i--) {
        value = value << 8 | bytes[i];
    }
    return value;
}

void wire_put_u64(uint8_t out[8], uint64_t value)
{
    for (int i = 0; i < 8; i++) {
        out[i] = (uint8_t)(value >> (8 * i));
    }
}

static bool read_payload(wire_field *field, const uint8_t *bytes, size_t size, size_t *at)
{
    uint64_t length = 0;

    switch (field->type) {
    case WIRE_VARINT:
        return wire_get_varint(&field->value, bytes, size, at);
    case WIRE_FIXED64:
        if (size - *at < 8) {
            return false;
        }
        field->value = wire_get_u64(bytes + *at);
        *at += 8;
        return true;
    case WIRE_FIXED32:
        if (size - *at < 4) {
            return false;
        }
        field->value = (uint64_t)bytes[*at] | (uint64_t)bytes[*at + 1] << 8 | (uint64_t)bytes[*at + 2] << 16 |
                       (uint64_t)bytes[*at + 3] << 24;
        *at += 4;
        return true;
    case WIRE_BYTES:
        if (!wire_get_varint(&length, bytes, size, at) || length > size - *at) {
            return false;
        }
        field->bytes = bytes + *at;
        field->size = (size_t)length;
        *at += (size_t)length;
        return true;
    default:
        return false;
    }
}

bool wire_next(wire_field *field, const uint8_t *bytes, size_t size, size_t *position)
{
    wire_field result = { 0 };
    size_t at = *position;
    uint64_t tag = 0;

    if (at >= size || !wire_get_varint(&tag, bytes, size, &at) || tag >> 3 == 0 || tag >> 3 > 536870911) {
        return false;
    }
    result.number = (uint32_t)(tag >> 3);
    result.type = (uint32_t)(tag & 7);
    if (!read_payload(&result, bytes, size, &at)) {
        return false;
    }
    *field = result;
    *position = at;
    return true;
}

size_t wire_put_varint(uint8_t *out, uint64_t value)
{
    size_t used = 0;

    while (value >= 0x80) {
        out[used++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    out[used++] = (uint8_t)value;
    return used;
}

size_t wire_put_tag(uint8_t *out, uint32_t field, uint32_t type)
{
    return wire_put_varint(out, (uint64_t)field << 3 | type);
}

size_t wire_put_length(uint8_t *out, uint32_t field, uint64_t size)
{
    size_t used = wire_put_tag(out, field, WIRE_BYTES);

    return used + wire_put_varint(out + used, size);
}
