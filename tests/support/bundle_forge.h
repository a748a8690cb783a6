/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forged bundles: records framed as docs/format.md says, by code of its own, around whatever body a test wants.
 */
#ifndef OPD_TESTS_BUNDLE_FORGE_H
#define OPD_TESTS_BUNDLE_FORGE_H

#include <stddef.h>
#include <stdint.h>

/* Grows as needed. */
typedef struct forge {
    uint8_t *bytes;
    size_t size, capacity;
} forge;

void forge_init(forge *to);
void forge_done(forge *to);
void forge_raw(forge *to, const void *bytes, size_t size);
void forge_zeros(forge *to, size_t size);
void forge_varint(forge *to, uint64_t value);
/* Fields of a message under construction. */
void forge_number(forge *to, uint32_t field, uint64_t value);
void forge_fixed64(forge *to, uint32_t field, uint64_t value);
void forge_bytes(forge *to, uint32_t field, const void *bytes, size_t size);
void forge_message(forge *to, uint32_t field, const forge *message);
/* Appends a record with a right check whose rest is rest. */
void forge_record(forge *file, const forge *rest);
/* The same, for a place of the file that is not the end of file's bytes. */
void forge_record_at(forge *file, const forge *rest, uint64_t offset);
/* A header record of the version given. */
void forge_header(forge *file, uint64_t version);

#endif
