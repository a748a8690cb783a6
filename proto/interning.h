/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings of one packet sequence and the numbers that stand for them. Bounded: what does not fit is written inline.
 */
#ifndef OPD_PROTO_INTERNING_H
#define OPD_PROTO_INTERNING_H

#include <stdbool.h>
#include <stdint.h>

#include <opsdebug/memory.h>

/* Each kind has numbers of its own, from 1. */
typedef enum opd_intern_kind {
    OPD_INTERN_CATEGORY,
    OPD_INTERN_EVENT,
    OPD_INTERN_NOTE,
    OPD_INTERN_TEXT,
    OPD_INTERN_KINDS,
} opd_intern_kind;

typedef struct opd_interning {
    struct opd_intern_slot *slots; /* open addressing; a power of two */
    uint32_t capacity;
    uint32_t used;
    uint32_t next[OPD_INTERN_KINDS];
    opd_buffer texts;
    uint32_t *seen; /* fingerprints of rare texts met once */
} opd_interning;

void opd_interning_init(opd_interning *interning);
void opd_interning_done(opd_interning *interning);
/* Forgets all strings, keeps the memory. */
void opd_interning_clear(opd_interning *interning);

/*
 * *id is the number of text under kind, 0 when it must be written inline: the table is full, or is_rare and this is its first use.
 * *is_new: the number was given now and must be defined. errors: E_NOMEM.
 */
opd_status opd_intern(uint32_t *id, bool *is_new, opd_interning *interning, opd_intern_kind kind, const char *text,
                      bool is_rare);

#endif
