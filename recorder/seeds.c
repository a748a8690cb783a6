/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seeds that the program gives to the random generators of the C library: noted, passed on. Part of the preloaded object. The state behind
 * drand48 and its like has no name of its own: it lies around what seed48 returns.
 * source    GNU C library, stdlib/seed48.c and struct drand48_data of stdlib.h
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/record.h>

#include "here.h"

typedef unsigned short *seed48_function(unsigned short *words);

static _Atomic(const void *) state48; /* struct drand48_data of the C library; NULL = not known yet */

/* The C library's own function of a name; looked up once, the races of which end alike. */
#define TRUE_FUNCTION(type, name)                     \
    static union {                                    \
        void *object;                                 \
        type;                                         \
    } name##_true;                                    \
    if (name##_true.object == NULL) {                 \
        name##_true.object = dlsym(RTLD_NEXT, #name); \
    }

/* A process that does no more than seed is not attached for it. */
static void note_seed(const char *name, uint64_t seed)
{
    if (opd_here_is_attached()) {
        opd_record_generator(name, seed);
    } else {
        opd_shown_note_early(name, NULL, 0, seed);
    }
}

/* old: what seed48 returned. */
static void note_state(const unsigned short *old)
{
#if defined(__GLIBC__)
    static const char name[] = "drand48";
    const void *none = NULL;
    const void *state = (const uint8_t *)old - offsetof(struct drand48_data, __old_x);
    if (!atomic_compare_exchange_strong(&state48, &none, state)) {
        return;
    }
    if (opd_here_is_attached()) {
        opd_record_watch(name, state, sizeof(struct drand48_data));
    } else {
        opd_shown_note_early(name, state, sizeof(struct drand48_data), 0);
    }
#else
    (void)old;
#endif
}

/* Before a function that sets all of the state: what is set here meanwhile is not seen. */
static void find_state(void)
{
    TRUE_FUNCTION(seed48_function * function, seed48)
    if (atomic_load(&state48) == NULL) {
        unsigned short words[3] = { 0, 0, 0 };
        note_state(seed48_true.function(words));
    }
}

static uint64_t seed_of(const unsigned short words[3])
{
    return (uint64_t)words[0] | (uint64_t)words[1] << 16 | (uint64_t)words[2] << 32;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's names are reserved */
OPD_PUBLIC void srand48(long seed)
{
    TRUE_FUNCTION(void (*function)(long seed), srand48)
    find_state();
    srand48_true.function(seed);
    note_seed("srand48", (uint64_t)seed);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's names are reserved */
OPD_PUBLIC void srand(unsigned seed)
{
    TRUE_FUNCTION(void (*function)(unsigned seed), srand)
    srand_true.function(seed);
    note_seed("srand", seed);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's names are reserved */
OPD_PUBLIC void srandom(unsigned seed)
{
    TRUE_FUNCTION(void (*function)(unsigned seed), srandom)
    srandom_true.function(seed);
    note_seed("srandom", seed);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's names are reserved */
OPD_PUBLIC unsigned short *seed48(unsigned short words[3])
{
    TRUE_FUNCTION(seed48_function * function, seed48)
    uint64_t seed = seed_of(words);
    unsigned short *old = seed48_true.function(words);
    note_state(old);
    note_seed("seed48", seed);
    return old;
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's names are reserved */
OPD_PUBLIC void lcong48(unsigned short words[7])
{
    TRUE_FUNCTION(void (*function)(unsigned short *words), lcong48)
    uint64_t seed = seed_of(words);
    find_state();
    lcong48_true.function(words);
    note_seed("lcong48", seed);
}
