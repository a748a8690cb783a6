/* SPDX-License-Identifier: Apache-2.0 */
/* Forged bundles. Written from docs/format.md, not from proto/. */
#include "bundle_forge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <xxhash.h>

#include <cmocka.h>

#include <opsdebug/memory.h>

void forge_init(forge *to)
{
    *to = (forge){ 0 };
}

static uint8_t *make_room(forge *to, size_t size)
{
    if (size > to->capacity - to->size) {
        to->capacity = to->size + size + (to->size < 256 ? 256 : to->size);
        assert_int_equal(opd_grow((void **)&to->bytes, to->capacity, 1), OPD_OK);
    }
    to->size += size;
    return to->bytes + to->size - size;
}

void forge_done(forge *to)
{
    opd_free(to->bytes);
    *to = (forge){ 0 };
}

void forge_raw(forge *to, const void *bytes, size_t size)
{
    if (size > 0) {
        memcpy(make_room(to, size), bytes, size);
    }
}

void forge_zeros(forge *to, size_t size)
{
    memset(make_room(to, size), 0, size);
}

void forge_varint(forge *to, uint64_t value)
{
    do {
        uint8_t byte = (uint8_t)(value & 0x7f);
        value >>= 7;
        byte = (uint8_t)(byte | (value ? 0x80 : 0));
        forge_raw(to, &byte, 1);
    } while (value);
}

void forge_number(forge *to, uint32_t field, uint64_t value)
{
    forge_varint(to, (uint64_t)field << 3);
    forge_varint(to, value);
}

void forge_fixed64(forge *to, uint32_t field, uint64_t value)
{
    forge_varint(to, (uint64_t)field << 3 | 1);
    forge_raw(to, &value, sizeof(value)); /* the tests run on little-endian machines */
}

void forge_bytes(forge *to, uint32_t field, const void *bytes, size_t size)
{
    forge_varint(to, (uint64_t)field << 3 | 2);
    forge_varint(to, size);
    forge_raw(to, bytes, size);
}

void forge_message(forge *to, uint32_t field, const forge *message)
{
    forge_bytes(to, field, message->bytes, message->size);
}

void forge_record(forge *file, const forge *rest)
{
    forge_record_at(file, rest, file->size);
}

void forge_record_at(forge *file, const forge *rest, uint64_t offset)
{
    forge_varint(file, 1 << 3 | 2);
    forge_varint(file, rest->size + 20);
    forge_fixed64(file, 2000, 0x9d3c5ab2f1e6874bu);
    forge_fixed64(file, 2001, XXH3_64bits_withSeed(rest->bytes, rest->size, offset));
    forge_raw(file, rest->bytes, rest->size);
}

void forge_header(forge *file, uint64_t version)
{
    forge rest;
    forge header;

    forge_init(&rest);
    forge_init(&header);
    forge_number(&header, 1, version);
    forge_message(&rest, 2010, &header);
    forge_record(file, &rest);
    forge_done(&header);
    forge_done(&rest);
}
