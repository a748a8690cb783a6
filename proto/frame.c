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

/* Everything about the record at offset but its check: bounded work. out is written for FRAME_GOOD only. */
static opd_frame_fault read_head(opd_frame_view *out, const uint8_t *bytes, size_t size, uint64_t offset)
{
    uint8_t mark[FRAME_MARK];
    uint8_t minimal[WIRE_VARINT_MAX];
    uint64_t length = 0;
    wire_field first = { 0 };
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
    bool is_whole = wire_next(&first, body + FRAME_PREFIX, rest_size, &rest_at) && first.type == WIRE_BYTES;
    if (!is_whole) {
        return FRAME_CHECK; /* no writer made it, whatever its check says */
    }
    if (first.number != KIND_TENSOR && length > FRAME_LIMIT) {
        return FRAME_TOO_LARGE;
    }
    *out = (opd_frame_view){ .offset = offset,
                             .size = at + (size_t)length - (size_t)offset,
                             .rest = body + FRAME_PREFIX,
                             .rest_size = rest_size,
                             .kind = first.number };
    return FRAME_GOOD;
}

static bool is_checked(const opd_frame_view *frame)
{
    return frame_check(frame->offset, frame->rest, frame->rest_size, NULL, 0) == wire_get_u64(frame->rest - 8);
}

opd_frame_fault frame_read(opd_frame_view *out, const uint8_t *bytes, size_t size, uint64_t offset)
{
    opd_frame_view frame;
    opd_frame_fault fault = read_head(&frame, bytes, size, offset);

    if (fault == FRAME_GOOD && !is_checked(&frame)) {
        fault = FRAME_CHECK;
    }
    if (fault == FRAME_GOOD) {
        *out = frame;
    }
    return fault;
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

/* A walk in progress. */
typedef struct search {
    const uint8_t *bytes;
    size_t size;
    const opd_extent *data;
    size_t data_count;
    size_t extent;   /* data before it lies behind the walk */
    uint64_t hashed; /* bytes, in all */
    uint64_t vain;   /* of them, of candidates that did not verify */
    uint64_t vain_limit;
} search;

/* As frame_read, within the limit of work. */
static opd_frame_fault read_within(opd_frame_view *out, search *of, uint64_t offset)
{
    opd_frame_view frame;
    opd_frame_fault fault = read_head(&frame, of->bytes, of->size, offset);

    if (fault != FRAME_GOOD) {
        return fault;
    }
    if (frame.rest_size > of->vain_limit - of->vain) {
        return FRAME_SPENT;
    }
    of->hashed += frame.rest_size;
    if (!is_checked(&frame)) {
        of->vain += frame.rest_size;
        return FRAME_CHECK;
    }
    *out = frame;
    return FRAME_GOOD;
}

/* A record whose sync tag is at position mark: its length takes 1 to 5 bytes. */
static opd_frame_fault read_around(opd_frame_view *out, search *of, size_t mark)
{
    for (size_t length_bytes = 1; length_bytes <= 5 && length_bytes + 1 <= mark; length_bytes++) {
        size_t start = mark - 1 - length_bytes;
        size_t at = start + 1;
        uint64_t length = 0;
        if (of->bytes[start] != 0x0a || !wire_get_varint(&length, of->bytes, of->size, &at) || at != mark) {
            continue;
        }
        opd_frame_fault fault = read_within(out, of, start);
        if (fault == FRAME_GOOD || fault == FRAME_SPENT) {
            return fault;
        }
    }
    return FRAME_NOT_HERE;
}

/* The next sync tag at or after from; NULL = none. It holds no zero, so none of it lies in a hole. */
static const uint8_t *find_mark(search *of, size_t from)
{
    uint8_t mark[FRAME_MARK];

    put_mark(mark);
    for (; of->extent < of->data_count; of->extent++) {
        const opd_extent *data = &of->data[of->extent];
        size_t first = data->first > from ? data->first : from;
        const uint8_t *hit =
            first < data->end ? memmem(of->bytes + first, data->end - first, mark, sizeof(mark)) : NULL;
        if (hit) {
            return hit;
        }
    }
    return NULL;
}

/* The first good record that starts at or after from: FRAME_GOOD, FRAME_SPENT, or FRAME_NOT_HERE when there is none. */
static opd_frame_fault find_next(opd_frame_view *out, search *of, size_t from)
{
    for (;;) {
        const uint8_t *hit = find_mark(of, from);
        if (!hit) {
            return FRAME_NOT_HERE;
        }
        size_t position = (size_t)(hit - of->bytes);
        opd_frame_fault fault = read_around(out, of, position);
        if (fault == FRAME_GOOD || fault == FRAME_SPENT) {
            return fault;
        }
        from = position + 1;
    }
}

static void describe_fault(char *text, size_t text_size, opd_frame_fault fault, uint64_t offset, uint64_t bytes,
                           bool is_spent)
{
    static const char *const what[] = {
        [FRAME_GOOD] = "",
        [FRAME_NOT_HERE] = "no record starts here",
        [FRAME_TORN] = "torn",
        [FRAME_TOO_LARGE] = "its length is over the limit",
        [FRAME_CHECK] = "check fails",
        [FRAME_SPENT] = "not checked",
    };

    snprintf(text, text_size, "record at offset %" PRIu64 ": %s (%" PRIu64 " bytes lost%s)", offset, what[fault], bytes,
             is_spent ? "; too many false records to search them all" : "");
}

static search search_begin(const opd_frame_walk *walk, const uint8_t *bytes, size_t size, const opd_extent *whole)
{
    search of = { .bytes = bytes, .size = size, .data = walk->data, .data_count = walk->data_count };
    uint64_t data = 0;

    if (!of.data) {
        of.data = whole;
        of.data_count = 1;
    }
    for (size_t i = 0; i < of.data_count; i++) {
        data += of.data[i].end - of.data[i].first;
    }
    of.vain_limit = 4 * data + (size < FRAME_LIMIT_TENSOR ? size : FRAME_LIMIT_TENSOR);
    return of;
}

uint64_t frame_walk(const opd_frame_walk *walk, const uint8_t *bytes, size_t size)
{
    const opd_extent whole = { .first = 0, .end = size };
    search of = search_begin(walk, bytes, size, &whole);
    size_t at = 0;

    while (at < size) {
        opd_frame_view frame;
        opd_frame_fault fault = read_within(&frame, &of, at);
        if (fault != FRAME_GOOD) {
            char text[160];
            opd_frame_fault next = fault == FRAME_SPENT ? fault : find_next(&frame, &of, at + 1);
            size_t end = next == FRAME_GOOD ? (size_t)frame.offset : size;
            describe_fault(text, sizeof(text), fault, at, end - at, next == FRAME_SPENT);
            if (walk->on_damage) {
                walk->on_damage(walk->context, at, end - at, text);
            }
            if (next != FRAME_GOOD) {
                break;
            }
        }
        if (!walk->on_record(walk->context, &frame)) {
            break;
        }
        at = (size_t)frame.offset + frame.size;
    }
    return of.hashed;
}
