/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two seams through which all memory and all bytes go, so that tests can fail them: allocation,
 * and files. Sizes are checked here, once: products for overflow, buffers against a maximum.
 */
#ifndef OPSDEBUG_MEMORY_H
#define OPSDEBUG_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <opsdebug/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OPD_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Allocates size bytes, zeroed; *out is written on success only. A size of 0 gives a unique pointer. */
opd_status opd_alloc(void **out, size_t size);
/* Allocates count * size bytes, zeroed, the product checked. */
opd_status opd_alloc_array(void **out, size_t count, size_t size);
/* Grows *block to count * size bytes, old bytes kept; *block is unchanged on failure. */
opd_status opd_grow(void **block, size_t count, size_t size);
void opd_free(void *block);
opd_status opd_strdup(char **out, const char *text);

/* Overflow-checked arithmetic: false when the result does not fit, *out then unchanged. */
bool opd_mul_size(size_t *out, size_t a, size_t b);
bool opd_add_size(size_t *out, size_t a, size_t b);
bool opd_mul_i64(int64_t *out, int64_t a, int64_t b);
bool opd_add_i64(int64_t *out, int64_t a, int64_t b);

/*
 * A growing byte buffer with a maximum. After the first failed append it stays failed (status), so that
 * an encoder checks once at its end.
 */
typedef struct opd_buffer {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
    size_t limit;
    opd_status status;
} opd_buffer;

void opd_buffer_init(opd_buffer *buffer, size_t limit);
void opd_buffer_done(opd_buffer *buffer);
void opd_buffer_append(opd_buffer *buffer, const void *bytes, size_t size);
void opd_buffer_print(opd_buffer *buffer, const char *format, ...) OPD_PRINTF(2, 3);
/* Room for size more bytes, counted as used; NULL when the buffer has failed. */
uint8_t *opd_buffer_reserve(opd_buffer *buffer, size_t size);

/* Output file: writes go to an opd_sink so that tests can fail the n-th one. */
typedef struct opd_sink {
    opd_status (*write)(struct opd_sink *sink, const void *bytes, size_t size);
    opd_status (*flush)(struct opd_sink *sink);             /* to stable storage */
    opd_status (*close)(struct opd_sink *sink);             /* frees the sink, always */
    void (*reserve)(struct opd_sink *sink, uint64_t bytes); /* room for more, if it is to be had; NULL = none is kept */
} opd_sink;

/* Creates (truncates) path for writing; the text of a failure names the path. */
opd_status opd_sink_open_file(opd_sink **out, const char *path);
/* The same for a file that only one process may write: it is locked until closed, or until this process closes another descriptor of it. Texts name `shown`. errors: also E_IO it is open so already, here or elsewhere. */
opd_status opd_sink_open_own(opd_sink **out, const char *path, const char *shown);

/* Bytes first to end (exclusive) of a file. */
typedef struct opd_extent {
    size_t first, end;
} opd_extent;

/* A whole file mapped read-only. Refuses directories and anything that is not a regular file. */
typedef struct opd_mapping {
    const uint8_t *bytes;
    size_t size;
    bool is_heap;     /* read into memory rather than mapped */
    opd_extent *data; /* sparse file: all that is not a hole, ascending; NULL = no holes known */
    size_t data_count;
} opd_mapping;
opd_status opd_mapping_open(opd_mapping *out, const char *path);
void opd_mapping_close(opd_mapping *mapping);

/* Writes a small file as a whole: temporary beside it, synced, renamed. */
opd_status opd_write_file(const char *path, const void *bytes, size_t size);

/*
 * A claim on an output path: while it is held, no other process claims it. The lock goes with the process, so a killed
 * one leaves nothing that stops the next.
 */
typedef struct opd_claim {
    char path[4096]; /* of the lock file, OUT.lock; "" = not held */
    int fd;
} opd_claim;

/* errors: E_IO out cannot be written, or another process holds it; the text names out. */
opd_status opd_claim_take(opd_claim *claim, const char *out);
void opd_claim_release(opd_claim *claim);

/*
 * From now on a write that would raise this signal (SIGXFSZ: the file size limit; SIGPIPE) only fails. A signal that is
 * ignored or handled already stays so, and programs started later find what this one was started with.
 */
void opd_fail_without_signal(int number);

/* Test hook: fails the n-th next allocation or sink write (0 = the next one; negative = never). */
void opd_fail_allocation_after(long count);
void opd_fail_write_after(long count);

#ifdef __cplusplus
}
#endif
#endif
