/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protobuf wire format, read by hand: what is needed to frame records, to find our own sub-message in a record
 * and the payload beside it without unpacking (and without believing) the rest.
 */
#ifndef OPD_PROTO_WIRE_H
#define OPD_PROTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

#define WIRE_VARINT_MAX 10 /* bytes of the longest varint */

typedef struct wire_field {
    uint32_t number;
    uint32_t type;
    uint64_t value;       /* VARINT, FIXED64, FIXED32 */
    const uint8_t *bytes; /* BYTES, borrowed */
    size_t size;
} wire_field;

/* Reads a varint at bytes[*position]; false (position unchanged) when it is cut off, too long or over 64 bits. */
bool wire_get_varint(uint64_t *value, const uint8_t *bytes, size_t size, size_t *position);
/* Reads the next field; false at the end or at malformed input (then *position < size). Groups are malformed. */
bool wire_next(wire_field *field, const uint8_t *bytes, size_t size, size_t *position);
/* Writes value at out; returns the bytes used, at most WIRE_VARINT_MAX. */
size_t wire_put_varint(uint8_t *out, uint64_t value);
/* Tag, and tag with length, at out; bytes used. */
size_t wire_put_tag(uint8_t *out, uint32_t field, uint32_t type);
size_t wire_put_length(uint8_t *out, uint32_t field, uint64_t size);

void wire_put_u64(uint8_t out[8], uint64_t value); /* little-endian */
uint64_t wire_get_u64(const uint8_t bytes[8]);

#endif
