/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands seen before. What is there unchanged, such as weights, is not copied again: calls refer to one copy in the keep area; and where the
 * kernel tells that nobody has written to it, it is not read again either.
 */
#ifndef OPD_KNOWN_H
#define OPD_KNOWN_H

#include "session.h"
#include "writes.h"

/* What is remembered of an operand: copied word by word, so it is a whole number of words. */
typedef struct opd_known {
    uint64_t address, form, bytes; /* what it is known by; form: of dtype, shape, strides and mask */
    opd_digest digest;
    opd_health health;
    opd_place place;   /* in the keep area; bytes 0 = not there */
    uint64_t edges;    /* digest of what a watched operand has on pages that are not its own */
    opd_watch watch;   /* range 0 = nobody tells of writes */
    uint32_t streak;   /* sightings with this content, one after another */
    uint32_t hits;     /* of the watch */
    uint32_t patience; /* sightings until it is watched */
    uint32_t probe;    /* hash of its first bytes: what differs there need not be read to know that it has changed */
} opd_known;

/* Its place in the table; version is odd while it is written. */
typedef struct opd_known_entry {
    _Atomic uint64_t version;
    _Atomic uint64_t words[sizeof(opd_known) / 8];
} opd_known_entry;

/* One look at an operand, from opd_known_take() to opd_known_note(). */
typedef struct opd_sighting {
    opd_known_entry *entry; /* NULL: too small to be worth it */
    uint64_t version;       /* of the entry when it was read */
    bool is_found;
    uint32_t probe; /* of the content there is now */
    opd_known known;
} opd_sighting;

/* The process has attached, perhaps as the child of one that had: nothing is known. */
void opd_known_reset(void);

/* The program is about to use what memory is watched by: none is from here on, in this process. Leaves errno alone. */
void opd_known_give_way(const char *why);

/*
 * An operand whose content is that of a known one: part gets digest, statistics, place and how that was found out (OPD_OPERAND_KNOWN,
 * OPD_OPERAND_TRACKED). false: it is new or has changed, and is to be copied.
 */
bool opd_known_take(opd_sighting *sighting, const opd_tensor *view, opd_operand_part *part);

/*
 * Remembers what part says of a content just copied (copy: NULL = it was not). true: it is in the keep area as well, part refers to that, and
 * the copy is not needed.
 */
bool opd_known_note(const opd_sighting *sighting, opd_operand_part *part, const void *copy);

#endif
