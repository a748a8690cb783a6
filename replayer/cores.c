/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which OpenBLAS core needs which CPU flags. OpenBLAS does not check: a forced core whose instructions the CPU lacks
 * dies of SIGILL, and a name it does not know silently selects another core, so both are refused here.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <opsdebug/replay.h>

#include "isa.h"

/* Flags as Linux names them. Names from OpenBLAS's driver/others/dynamic.c; flags from the compiler options and assembly of each kernel
 * set, on the strict side for the old AMD ones. */
static const struct {
    const char *core;
    const char *flags;
} cores[] = {
    { "Katmai", "sse" },
    { "Coppermine", "sse" },
    { "Northwood", "sse2" },
    { "Banias", "sse2" },
    { "Prescott", "pni" },
    { "Athlon", "3dnow 3dnowext" },
    { "Opteron", "3dnow 3dnowext sse2" },
    { "Opteron_SSE3", "3dnow 3dnowext pni" },
    { "Barcelona", "3dnow 3dnowext pni sse4a" },
    { "Nano", "ssse3" },
    { "Atom", "ssse3" },
    { "Core2", "ssse3" },
    { "Penryn", "ssse3 sse4_1" },
    { "Dunnington", "ssse3 sse4_1" },
    { "Nehalem", "ssse3 sse4_1 sse4_2" },
    { "Bobcat", "ssse3 sse4a" },
    { "Sandybridge", "sse4_2 avx" },
    { "Bulldozer", "sse4_2 avx fma4" },
    { "Piledriver", "sse4_2 avx fma fma4" },
    { "Steamroller", "sse4_2 avx fma fma4" },
    { "Excavator", "avx2 fma fma4" },
    { "Haswell", "avx2 fma" },
    { "Zen", "avx2 fma" },
    { "SkylakeX", "avx2 fma avx512f avx512cd avx512bw avx512dq avx512vl" },
    { "Cooperlake", "avx2 fma avx512f avx512cd avx512bw avx512dq avx512vl avx512_bf16" },
    { "SapphireRapids", "avx2 fma avx512f avx512cd avx512bw avx512dq avx512vl avx512_bf16" },
};

static const char *missing_flag(const char *flags, const char *isa, char *flag, size_t size)
{
    while (*flags != '\0') {
        size_t length = strcspn(flags, " ");
        if (length < size) {
            memcpy(flag, flags, length);
            flag[length] = '\0';
            if (!opd_isa_has(isa, flag)) {
                return flag;
            }
        }
        flags += length;
        flags += strspn(flags, " ");
    }
    return NULL;
}

bool opd_core_is_known(const char *core)
{
    for (size_t i = 0; i < OPD_COUNT(cores); i++) {
        if (strcasecmp(core, cores[i].core) == 0) {
            return true;
        }
    }
    return false;
}

/* The developer guide of oneDNN 2, "CPU Dispatcher Control": others it passes over in silence. */
bool opd_dnnl_isa_is_known(const char *isa)
{
    static const char *const names[] = { "ALL",
                                         "DEFAULT",
                                         "SSE41",
                                         "AVX",
                                         "AVX2",
                                         "AVX2_VNNI",
                                         "AVX512_MIC",
                                         "AVX512_MIC_4OPS",
                                         "AVX512_CORE",
                                         "AVX512_CORE_VNNI",
                                         "AVX512_CORE_BF16",
                                         "AVX512_CORE_FP16",
                                         "AVX512_CORE_AMX" };
    for (size_t i = 0; i < OPD_COUNT(names); i++) {
        if (strcasecmp(isa, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

const char *opd_core_missing(const char *core)
{
    static _Thread_local char reason[160];
    char isa[1024];
    char flag[32];
    opd_isa_read(isa, sizeof isa);
    for (size_t i = 0; i < OPD_COUNT(cores); i++) {
        if (strcasecmp(core, cores[i].core) != 0) {
            continue;
        }
        if (missing_flag(cores[i].flags, isa, flag, sizeof flag) == NULL) {
            return NULL;
        }
        snprintf(reason, sizeof reason, "the core %s needs %s, which this CPU lacks", cores[i].core, flag);
        return reason;
    }
    snprintf(reason, sizeof reason, "OpenBLAS knows no core \"%.40s\" (it would silently take another)", core);
    return reason;
}

int opd_core_list(const char **names, int capacity)
{
    char isa[1024];
    char flag[32];
    int count = 0;
    opd_isa_read(isa, sizeof isa);
    for (size_t i = 0; i < OPD_COUNT(cores) && count < capacity; i++) {
        if (missing_flag(cores[i].flags, isa, flag, sizeof flag) == NULL) {
            names[count++] = cores[i].core;
        }
    }
    return count;
}
