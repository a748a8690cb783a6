/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Record framing. A record verifies only where it was written: the check is seeded with the file offset, so a bundle
 * stored inside a tensor, or a piece of another bundle pasted in, is never taken for a record of this one.
 */
#include "frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY /* XXH3_state_t on the stack */
#include <xxhash.h>

#include "wire.h"

static const uint8_t sync_tag[2] = { 0x81, 0x7d };  /* field 2000, fixed64 */
static const uint8_t check_tag[2] = { 0x89, 0x7d }; /* field 2001, fixed64 */

uint64_t frame_check(uint64_t offset, const void *rest, size_t rest_size, const void *more, size_t more_size)
{
    if (more_size == 0) {
        return XXH3_64bits_withSeed(rest, rest_size, offset);
    }
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_64bits_reset_withSeed(&state, offset);
    XXH3_64bits_update(&state, rest, rest_size);
    XXH3_64bits_update(&state, more, more_size);
    return XXH3_64bits_digest(&state);
}

static void put_mark(uint8_t mark[FRAME_MARK])
{
    memcpy(mark, sync_tag, sizeof(sync_tag));
    wire_put_u64(mark + 2, FRAME_SYNC);
}

size_t frame_put_head(uint8_t out[FRAME_HEAD_MAX], size_t rest_size, uint64_t check)
{
    size_t used = wire_put_length(out, 1, rest_size + FRAME_PREFIX);

    put_mark(out + used);
    memcpy(out + used + FRAME_MARK, check_tag, sizeof(check_tag));
    wire_put_u64(out + used + FRAME_MARK + 2, check);
    return used + FRAME_PREFIX;
}

opd_frame_fault frame_read(opd_frame_view *out, const uint8_t *bytes, size_t size, uint64_t offset)
{
    uint8_t mark[FRAME_MARK];
    uint8_t minimal[WIRE_VARINT_MAX];
    uint64_t length = 0;
    uint64_t tag = 0;
    size_t at = (size_t)offset;
    size_t rest_at = 0;

    if (offset >= size || bytes[at++] != 0x0a) {
        return FRAME_NOT_HERE;
    }
    size_t length_at = at;
    if (!wire_get_varint(&length, bytes, size, &at)) {
        return size - at < WIRE_VARINT_MAX ? FRAME_TORN : FRAME_NOT_HERE;
    }
    if (wire_put_varint(minimal, length) != at - length_at || length < FRAME_PREFIX) {
        return FRAME_NOT_HERE;
    }
    if (length > FRAME_LIMIT_TENSOR) {
        return FRAME_TOO_LARGE;
    }
    if (length > size - at) {
        return FRAME_TORN;
    }
    const uint8_t *body = bytes + at;
    put_mark(mark);
    if (memcmp(body, mark, sizeof(mark)) != 0 || memcmp(body + FRAME_MARK, check_tag, sizeof(check_tag)) != 0) {
        return FRAME_NOT_HERE;
    }
    size_t rest_size = (size_t)length - FRAME_PREFIX;
    uint32_t kind = 0;
    if (wire_get_varint(&tag, body + FRAME_PREFIX, rest_size, &rest_at) && tag >> 3 <= UINT32_MAX) {
        kind = (uint32_t)(tag >> 3);
    }
    if (kind != KIND_TENSOR && length > FRAME_LIMIT) {
        return FRAME_TOO_LARGE;
    }
    if (frame_check(offset, body + FRAME_PREFIX, rest_size, NULL, 0) != wire_get_u64(body + FRAME_MARK + 2)) {
        return FRAME_CHECK;
    }
    *out = (opd_frame_view){ .offset = offset,
                             .size = at + (size_t)length - (size_t)offset,
                             .rest = body + FRAME_PREFIX,
                             .rest_size = rest_size,
                             .kind = kind };
    return FRAME_GOOD;
}

opd_status frame_split(opd_frame_parts *out, const opd_frame_view *frame)
{
    opd_frame_parts parts = { 0 };
    wire_field field;
    size_t at = 0;

    while (wire_next(&field, frame->rest, frame->rest_size, &at)) {
        bool is_message = field.number == frame->kind;
        bool is_data = field.number == KIND_TENSOR_DATA && !is_message;
        if (!is_message && !is_data) {
            continue;
        }
        if (field.type != WIRE_BYTES || (is_message && parts.message) || (is_data && parts.data)) {
            return opd_fail(OPD_E_FORMAT, "record at offset %" PRIu64 ": field %u is not what it should be",
                            frame->offset, field.number);
        }
        if (is_message) {
            parts.message = field.bytes;
            parts.message_size = field.size;
        } else {
            parts.data = field.bytes;
            parts.data_size = field.size;
        }
    }
    if (at != frame->rest_size || !parts.message) {
        return opd_fail(OPD_E_FORMAT, "record at offset %" PRIu64 ": malformed after %zu bytes", frame->offset, at);
    }
    *out = parts;
    return OPD_OK;
}

/* A record whose sync tag is at position mark: its length may take 1 to 5 bytes. */
static bool read_around(opd_frame_view *out, const uint8_t *bytes, size_t size, size_t mark, uint64_t *work)
{
    for (size_t length_bytes = 1; length_bytes <= 5 && length_bytes + 1 <= mark; length_bytes++) {
        size_t start = mark - 1 - length_bytes;
        size_t at = start + 1;
        uint64_t length = 0;
        if (bytes[start] != 0x0a || !wire_get_varint(&length, bytes, size, &at) || at != mark) {
            continue;
        }
        if (frame_read(out, bytes, size, start) == FRAME_GOOD) {
            return true;
        }
        *work += length <= size - mark ? length : 0;
    }
    return false;
}

/*
 * The first good record that starts at or after from. Every candidate costs a hash of the length it claims, so a file made of
 * nothing but candidates would take quadratic time: work in vain is bounded.
 */
static bool find_next(opd_frame_view *out, const uint8_t *bytes, size_t size, size_t from, uint64_t *work)
{
    uint64_t work_limit = ((uint64_t)256 << 20) + 8 * (uint64_t)size;
    uint8_t mark[FRAME_MARK];

    put_mark(mark);
    while (from < size && *work < work_limit) {
        const uint8_t *hit = memmem(bytes + from, size - from, mark, sizeof(mark));
        if (!hit) {
            return false;
        }
        size_t position = (size_t)(hit - bytes);
        if (read_around(out, bytes, size, position, work)) {
            return true;
        }
        from = position + 1;
    }
    return false;
}

static void describe_fault(char *text, size_t text_size, opd_frame_fault fault, uint64_t offset, uint64_t bytes)
{
    static const char *const what[] = {
        [FRAME_GOOD] = "",
        [FRAME_NOT_HERE] = "no record starts here",
        [FRAME_TORN] = "torn",
        [FRAME_TOO_LARGE] = "its length is over the limit",
        [FRAME_CHECK] = "check fails",
    };

    snprintf(text, text_size, "record at offset %" PRIu64 ": %s (%" PRIu64 " bytes lost)", offset, what[fault], bytes);
}

void frame_walk(const opd_frame_walk *walk, const uint8_t *bytes, size_t size)
{
    uint64_t work = 0;
    size_t at = 0;

    while (at < size) {
        opd_frame_view frame;
        opd_frame_fault fault = frame_read(&frame, bytes, size, at);
        if (fault != FRAME_GOOD) {
            char text[128];
            bool is_found = find_next(&frame, bytes, size, at + 1, &work);
            size_t end = is_found ? (size_t)frame.offset : size;
            describe_fault(text, sizeof(text), fault, at, end - at);
            if (walk->on_damage) {
                walk->on_damage(walk->context, at, end - at, text);
            }
            if (!is_found) {
                return;
            }
        }
        if (!walk->on_record(walk->context, &frame)) {
            return;
        }
        at = (size_t)frame.offset + frame.size;
    }
}
