/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a generated wrapper of a BLAS routine needs: its site, the true routine, begin and end. The wrapper packs its
 * arguments as words (op.h), so that all else about the routine comes from its contract.
 */
#ifndef OPD_INTERPOSE_H
#define OPD_INTERPOSE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <opsdebug/record.h>

#include "audit.h"
#include "here.h"

/* Wrappers lie together, so that they are told from what else this object exports. */
#define OPD_WRAPPER __attribute__((section("opd_wrappers")))

/* Where calls from one object go. Immutable once linked in; never freed. */
typedef struct opd_target {
    const struct opd_target *next;
    uintptr_t start, size;      /* of the calling object */
    const opd_binding *binding; /* the stub that it came through; NULL = none */
    void *function;
    uint64_t modules; /* provider:16 caller:16 call flags:16, as in a record */
    bool is_watched;  /* its routine matches the filter */
} opd_target;

typedef struct opd_site {
    _Atomic(const opd_target *) targets;
    const char *symbol;
    const void *wrapper; /* the function that has this site */
    uint16_t routine;    /* id */
    uint8_t pattern;     /* index */
    uint8_t words;
    uint8_t operands;
    uint32_t kind_words; /* bits of the words that make a kind of call: sizes and choices */
    uint32_t flags;      /* OPD_CALL_CBLAS, ILP64, DIRECT */
} opd_site;

typedef struct opd_wrapped {
    void *slot; /* opd_slot; NULL = not recorded */
    const opd_site *site;
    uint32_t depth; /* index of its opd_open_call */
} opd_wrapped;

/*
 * Finds the true routine for a calling object, remembers it; given: what the stub it came through stands for. Does not return when
 * there is none: as the loader would, it says so and exits 127.
 */
const opd_target *opd_resolve(opd_site *site, const void *return_address, const opd_binding *given);

/* What the object's own scope has under a name that the search order of the program does not have; NULL = nothing. */
void *opd_find_locally(const char *symbol, const struct link_map *map);

static inline const opd_target *opd_target_of(opd_site *site, const void *return_address)
{
    const opd_binding *given = opd_thread.given;
    if (given != NULL) {
        opd_thread.given = NULL;
        given = given->wrapper == site->wrapper ? given : NULL; /* of a stub that a signal came upon */
    }
    const opd_target *target = atomic_load_explicit(&site->targets, memory_order_acquire);
    while (target != NULL) {
        if (__builtin_expect((uintptr_t)return_address - target->start < target->size && target->binding == given, 1)) {
            return target;
        }
        target = target->next;
    }
    return opd_resolve(site, return_address, given);
}

static inline bool opd_is_recorded(const opd_target *target)
{
    return __builtin_expect(opd_record_enabled && target->is_watched, 1);
}

/* Publishes the call, then reads its operands as the capture level asks. */
void opd_interpose_begin(opd_wrapped *frame, const opd_site *site, const opd_target *target, const uint64_t *words,
                         const void *return_address);
/* result: the returned value's bytes, size 0 = none. */
void opd_interpose_end(opd_wrapped *frame, const void *result, size_t size);

/* Fortran arguments arrive by address; a null one is the true routine's to trip over. */
static inline uint64_t opd_word_i32(const int32_t *value)
{
    return value == NULL ? 0 : (uint64_t)(int64_t)*value;
}

static inline uint64_t opd_word_i64(const int64_t *value)
{
    return value == NULL ? 0 : (uint64_t)*value;
}

static inline uint64_t opd_word_char(const char *value)
{
    if (value == NULL) {
        return 0;
    }
    unsigned char letter = (unsigned char)*value;
    return letter >= 'a' && letter <= 'z' ? (uint64_t)(letter - 'a' + 'A') : letter;
}

/* A CBLAS enumeration whose values from first on have these letters; any other value is kept as a number. */
static inline uint64_t opd_word_enum(int value, int first, unsigned count, const char *letters)
{
    unsigned index = (unsigned)value - (unsigned)first;
    return index < count ? (uint64_t)letters[index] : (uint64_t)(OPD_CHOICE_NUMBER + value);
}

static inline uint64_t opd_word_f64(double value)
{
    uint64_t word;
    memcpy(&word, &value, sizeof(word));
    return word;
}

static inline uint64_t opd_word_f32_at(const float *value, int part)
{
    return value == NULL ? 0 : opd_word_f64((double)value[part]);
}

static inline uint64_t opd_word_f64_at(const double *value, int part)
{
    return value == NULL ? 0 : opd_word_f64(value[part]);
}

static inline uint64_t opd_word_pointer(const void *value)
{
    return (uint64_t)(uintptr_t)value;
}

#endif
