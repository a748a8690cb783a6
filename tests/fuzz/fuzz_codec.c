/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a tensor record whose codec, sizes and data are the fuzzer's, its check right. Nothing past the destination may be
 * written, and as the digest is made up, nothing may be accepted.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include <opsdebug/bundle.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX 60000

static size_t put_varint(uint8_t *to, uint64_t value)
{
    size_t used = 0;

    while (value >= 0x80) {
        to[used++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    to[used++] = (uint8_t)value;
    return used;
}

/* A bundle of one tensor record at bytes; returns its size. */
static size_t forge(uint8_t *bytes, const opd_digest *digest, const uint8_t *data, size_t size, uint64_t wanted)
{
    static const uint8_t sync[] = { 0x81, 0x7d, 0x4b, 0x87, 0xe6, 0xf1, 0xb2, 0x5a, 0x3c, 0x9d, 0x89, 0x7d };
    static uint8_t rest[INPUT_MAX + 200];
    uint8_t message[64] = { 1 << 3 | 2, 16 };
    size_t used = 18;
    size_t at = 0;

    memcpy(message + 2, digest->bytes, 16);
    message[used++] = 3 << 3;
    used += put_varint(message + used, wanted);
    message[used++] = 4 << 3;
    message[used++] = data[0] & 7; /* codec */
    message[used++] = 5 << 3;
    message[used++] = data[1] & 31; /* width */
    at += put_varint(rest, 2015 << 3 | 2);
    at += put_varint(rest + at, used);
    memcpy(rest + at, message, used);
    at += used;
    at += put_varint(rest + at, 2016 << 3 | 2);
    at += put_varint(rest + at, size - 4);
    memcpy(rest + at, data + 4, size - 4);
    at += size - 4;
    uint64_t check = XXH3_64bits_withSeed(rest, at, 0);
    bytes[0] = 0x0a;
    size_t out = 1 + put_varint(bytes + 1, at + 20);
    memcpy(bytes + out, sync, sizeof(sync));
    memcpy(bytes + out + 12, &check, sizeof(check));
    memcpy(bytes + out + 20, rest, at);
    return out + 20 + at;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[INPUT_MAX + 300];
    opd_digest digest = { { 1 } };
    opd_bundle *bundle = NULL;
    opd_tensor view;
    uint8_t *back = NULL;

    if (size < 4 || size > INPUT_MAX) {
        return 0;
    }
    int64_t wanted = (int64_t)data[2] << 8 | data[3];
    size_t file_size = forge(file, &digest, data, size, (uint64_t)wanted);
    if (opd_bundle_open_memory(&bundle, file, file_size) != OPD_OK) {
        abort(); /* the record is right */
    }
    if (opd_tensor_contiguous(&view, OPD_U8, 1, &wanted, NULL) == OPD_OK &&
        opd_alloc((void **)&back, (size_t)wanted) == OPD_OK) {
        /* The digest is made up: whatever is decoded is refused in the end, after the decoder has run. */
        if (opd_bundle_tensor(back, (size_t)wanted, bundle, &digest, &view) == OPD_OK) {
            abort();
        }
    }
    opd_free(back);
    opd_bundle_close(bundle);
    return 0;
}
