/* SPDX-License-Identifier: Apache-2.0 */
/* Which instruction sets this CPU has, by the words that variants use. */
#include <string.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#if defined(__x86_64__)
#include <cpuid.h>

#define X86_WORDS(X) X(avx) X(avx2) X(fma) X(avx512f) X(avx512bw) X(avx512dq) X(avx512vl)
#define X(word)                                    \
    static bool has_##word(void)                   \
    {                                              \
        return __builtin_cpu_supports(#word) != 0; \
    }
X86_WORDS(X)
#undef X

/* The builtin of clang 14 does not know the word. Its registers are those of AVX, so the system saves them when it does that. */
static bool has_f16c(void)
{
    unsigned a;
    unsigned b;
    unsigned c;
    unsigned d;
    return has_avx() && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

static const struct isa_word {
    const char *name;
    bool (*is_here)(void);
} words[] = {
#if defined(__x86_64__)
#define X(word) { #word, has_##word },
    X86_WORDS(X)
#undef X
        { "f16c", has_f16c },
#endif
    { "", NULL },
};

const char *opd_isa_missing(const char *isa)
{
    const char *at = isa;
    while (at != NULL && *at != '\0') {
        size_t size = strcspn(at, " ");
        bool is_here = false;
        for (size_t i = 0; i < OPD_COUNT(words); i++) {
            if (strlen(words[i].name) == size && memcmp(words[i].name, at, size) == 0) {
                is_here = words[i].is_here != NULL && words[i].is_here();
            }
        }
        if (!is_here) {
            return at;
        }
        at += size;
        at += strspn(at, " ");
    }
    return NULL;
}
