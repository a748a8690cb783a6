/* SPDX-License-Identifier: Apache-2.0 */
/* The elementwise operators with their variants: the same three sets of loops for all of them. */
#include <string.h>

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

#define ISA_AVX512 "avx2 fma f16c avx512f avx512bw avx512dq avx512vl"
#define ISA_AVX2   "avx2 fma f16c"
#if defined(__x86_64__)
#define VARIANTS(level) \
    VARIANT(avx512, ISA_AVX512, 16, level), VARIANT(avx2, ISA_AVX2, 8, level), VARIANT(portable, "", 4, level)
#else
#define VARIANTS(level) VARIANT(portable, "", 4, level)
#endif

/* Of exact operators every variant rounds alike. */
static const opd_variant exact_variants[] = { VARIANTS(ISA) };
static const opd_variant close_variants[] = { VARIANTS(BATCH) };

/* --------------------------------------------------------------------------------------------- Gelu, then Add */

/* The fastest set that can do the call. */
static opd_status run_best(const opd_call *call, int32_t threads)
{
#if defined(__x86_64__)
    if (opd_isa_missing(ISA_AVX512) == NULL && declines_avx512(call) == NULL) {
        return opd_elementwise_run(&opd_strips_avx512, call, threads);
    }
    if (opd_isa_missing(ISA_AVX2) == NULL && declines_avx2(call) == NULL) {
        return opd_elementwise_run(&opd_strips_avx2, call, threads);
    }
#endif
    return opd_elementwise_run(&opd_strips_portable, call, threads);
}

static const char *declines_chain(const opd_call *call)
{
    bool is_narrow = call != NULL && (call->dtype == OPD_F16 || call->dtype == OPD_BF16);
    return is_narrow ? "f16 and bf16 would be rounded between the operators" : declines_portable(call);
}

/* Y = Gelu(X), then Y = Y + R. */
static opd_status run_chain(const opd_call *call, const opd_workspace *workspace)
{
    opd_call part = *call;
    memcpy(part.name, "Gelu", sizeof "Gelu");
    part.operands[1] = call->operands[2];
    part.operand_count = 2;
    opd_status status = run_best(&part, workspace->threads);
    if (status == OPD_OK) {
        opd_tracepoint("gelu", &call->operands[2].view);
        memcpy(part.name, "Add", sizeof "Add");
        part.attr_count = 0;
        part.operands[0] = call->operands[2];
        part.operands[1] = call->operands[1];
        part.operands[2] = call->operands[2];
        part.operand_count = 3;
        status = run_best(&part, workspace->threads);
    }
    return status;
}

static const opd_variant chain_variants[] = {
    VARIANTS(BATCH),
    { .name = "unfused",
      .isa = "",
      .declines = declines_chain,
      .run = run_chain,
      .determinism = OPD_DETERMINISM_BATCH },
};

const opd_kernel opd_kernels_elementwise[] = {
#define OPD_ELEMENTWISE(rule, domain, name, class) \
    { (domain), (name), opd_elementwise_define_##rule, class##_variants, (int)OPD_COUNT(class##_variants) },
#include "elementwise.def"
#undef OPD_ELEMENTWISE
};
const int opd_kernels_elementwise_count = (int)OPD_COUNT(opd_kernels_elementwise);
