/* SPDX-License-Identifier: Apache-2.0 */
/* Seeds that the program gives to the random generators of the C library: noted, passed on. Part of the preloaded object. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/record.h>

/* The C library's own function of a name; looked up once, the races of which end alike. */
#define TRUE_FUNCTION(type, name)                     \
    static union {                                    \
        void *object;                                 \
        type;                                         \
    } name##_true;                                    \
    if (name##_true.object == NULL) {                 \
        name##_true.object = dlsym(RTLD_NEXT, #name); \
    }

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's names are reserved */
OPD_PUBLIC void srand48(long seed)
{
    TRUE_FUNCTION(void (*function)(long seed), srand48)
    srand48_true.function(seed);
    opd_record_generator("srand48", (uint64_t)seed);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's names are reserved */
OPD_PUBLIC void srand(unsigned seed)
{
    TRUE_FUNCTION(void (*function)(unsigned seed), srand)
    srand_true.function(seed);
    opd_record_generator("srand", seed);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's names are reserved */
OPD_PUBLIC void srandom(unsigned seed)
{
    TRUE_FUNCTION(void (*function)(unsigned seed), srandom)
    srandom_true.function(seed);
    opd_record_generator("srandom", seed);
}

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's names are reserved */
OPD_PUBLIC unsigned short *seed48(unsigned short words[3])
{
    TRUE_FUNCTION(unsigned short *(*function)(unsigned short *words), seed48)
    uint64_t seed = (uint64_t)words[0] | (uint64_t)words[1] << 16 | (uint64_t)words[2] << 32;
    unsigned short *old = seed48_true.function(words);
    opd_record_generator("seed48", seed);
    return old;
}
