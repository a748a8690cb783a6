/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing of records: 0x0A, length, fixed64 sync, fixed64 check, then the rest: one of the kinds below. Reading here
 * believes nothing that the check does not cover, and finds the next good record after damage.
 */
#ifndef OPD_PROTO_FRAME_H
#define OPD_PROTO_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <opsdebug/memory.h>

/* name, field number in Record; a unit test holds this list against bundle.proto */
#define OPD_KIND_LIST(X)                \
    X(TIMELINE, 50, compressed_packets) \
    X(HEADER, 2010, header)             \
    X(ENVIRONMENT, 2011, environment)   \
    X(MODULE, 2012, module)             \
    X(THREAD, 2013, thread)             \
    X(BATCH, 2014, batch)               \
    X(TENSOR, 2015, tensor)             \
    X(TENSOR_DATA, 2016, tensor_data)   \
    X(EVENT, 2017, event)               \
    X(FAILURE, 2018, failure)           \
    X(BACKTRACE, 2019, backtrace)       \
    X(LINEAGE, 2020, lineage)           \
    X(COUNT, 2040, count)               \
    X(CRASH, 2055, crash)               \
    X(INDEX, 2030, index)               \
    X(END, 2031, end)

enum opd_kind {
#define OPD_X(name, number, field) KIND_##name = (number),
    OPD_KIND_LIST(OPD_X)
#undef OPD_X
};

#define FRAME_SYNC         0x9d3c5ab2f1e6874bULL
#define FRAME_MARK         10                 /* tag and value of sync */
#define FRAME_PREFIX       20                 /* sync and check */
#define FRAME_MIN          (2 + FRAME_PREFIX) /* of a whole record */
#define FRAME_HEAD_MAX     26                 /* 0x0A, a length of up to 5 bytes, prefix */
#define FRAME_LIMIT_TENSOR ((size_t)64 << 20)
#define FRAME_LIMIT        ((size_t)1 << 20) /* of all kinds but tensor data */

typedef struct opd_frame_view {
    uint64_t offset;     /* of 0x0A in the file */
    size_t size;         /* of the whole record */
    const uint8_t *rest; /* what the check covers, borrowed */
    size_t rest_size;
    uint32_t kind; /* field number of its first field; 0 = none */
} opd_frame_view;

typedef enum opd_frame_fault {
    FRAME_GOOD,
    FRAME_NOT_HERE, /* no record starts here */
    FRAME_TORN,     /* the file ends inside it */
    FRAME_TOO_LARGE,
    FRAME_CHECK, /* the check does not hold */
    FRAME_SPENT, /* in a walk: not checked, too much has been hashed in vain */
} opd_frame_fault;

/* The record at offset of a file of size bytes. The view is written for FRAME_GOOD only. */
opd_frame_fault frame_read(opd_frame_view *out, const uint8_t *bytes, size_t size, uint64_t offset);

/* A record's own message, and the bytes of tensor_data beside it. */
typedef struct opd_frame_parts {
    const uint8_t *message;
    size_t message_size;
    const uint8_t *data; /* NULL = none */
    size_t data_size;
} opd_frame_parts;

/*
 * Finds the parts of a verified record without unpacking; other fields (Perfetto's, unknown ones) are passed over.
 * errors: E_FORMAT malformed, or a part stands twice.
 */
opd_status frame_split(opd_frame_parts *out, const opd_frame_view *frame);

/* Callbacks of a walk over a file; a false from on_record ends it. */
typedef struct opd_frame_walk {
    bool (*on_record)(void *context, const opd_frame_view *frame);
    void (*on_damage)(void *context, uint64_t offset, uint64_t bytes, const char *text); /* may be NULL */
    void *context;
    const opd_extent *data; /* where the file is not a hole; NULL = all of it is data */
    size_t data_count;
} opd_frame_walk;
/*
 * Every candidate costs a hash of the length it claims, and candidates may overlap: a walk gives up the rest of the file, saying
 * so, rather than hash more than 4 times the data in it (plus 64 MiB, or its size when smaller) in vain. Returns bytes hashed.
 */
uint64_t frame_walk(const opd_frame_walk *walk, const uint8_t *bytes, size_t size);

uint64_t frame_check(uint64_t offset, const void *rest, size_t rest_size, const void *more, size_t more_size);
/* Writes everything up to rest; returns its length. */
size_t frame_put_head(uint8_t out[FRAME_HEAD_MAX], size_t rest_size, uint64_t check);

#endif
