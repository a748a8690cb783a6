/* SPDX-License-Identifier: Apache-2.0 */
/* The elementwise operators with their variants: the same three sets of loops for all of them. */
#include <opsdebug/memory.h>

#include "elementwise.h"
#include "kernel_lists.h"

#define VARIANT_OF(set)                                                               \
    static const char *declines_##set(const opd_call *call)                           \
    {                                                                                 \
        return opd_elementwise_declines(&opd_strips_##set, call);                     \
    }                                                                                 \
    static opd_status run_##set(const opd_call *call, const opd_workspace *workspace) \
    {                                                                                 \
        return opd_elementwise_run(&opd_strips_##set, call, workspace->threads);      \
    }

VARIANT_OF(portable)
#if defined(__x86_64__)
VARIANT_OF(avx2)
VARIANT_OF(avx512)
#endif

#define VARIANT(set, words, width, level)                                                         \
    {                                                                                             \
        .name = #set, .isa = (words), .declines = declines_##set, .run = run_##set,               \
        .determinism = OPD_DETERMINISM_##level, .widths = "tile=1024 block=65536 vector=" #width, \
    }

#if defined(__x86_64__)
#define VARIANTS(level)                                                             \
    VARIANT(avx512, "avx2 fma f16c avx512f avx512bw avx512dq avx512vl", 16, level), \
        VARIANT(avx2, "avx2 fma f16c", 8, level), VARIANT(portable, "", 4, level)
#else
#define VARIANTS(level) VARIANT(portable, "", 4, level)
#endif

/* Of exact operators every variant rounds alike. */
static const opd_variant exact_variants[] = { VARIANTS(ISA) };
static const opd_variant close_variants[] = { VARIANTS(BATCH) };

const opd_kernel opd_kernels_elementwise[] = {
#define OPD_ELEMENTWISE(rule, domain, name, class) \
    { (domain), (name), opd_elementwise_define_##rule, class##_variants, (int)OPD_COUNT(class##_variants) },
#include "elementwise.def"
#undef OPD_ELEMENTWISE
};
const int opd_kernels_elementwise_count = (int)OPD_COUNT(opd_kernels_elementwise);
