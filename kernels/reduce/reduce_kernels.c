/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of reduce/: definitions and variants. Floats in vectors where there are some, integers in plain C. */
#include <opsdebug/memory.h>

#include "../kernel_lists.h"
#include "reduce_define.h"
#include "reduce_variants.h"

/* run functions of one operator: floats on each instruction set (FLOATS with the rows), all dtypes in plain C (ALL) */
#define VARIANTS(name, FLOATS, ALL, overflows)                                              \
    static opd_status name##_avx512(const opd_call *call, const opd_workspace *workspace)   \
    {                                                                                       \
        return FLOATS(opd_rows_avx512);                                                     \
    }                                                                                       \
    static opd_status name##_avx2(const opd_call *call, const opd_workspace *workspace)     \
    {                                                                                       \
        return FLOATS(opd_rows_avx2);                                                       \
    }                                                                                       \
    static opd_status name##_portable(const opd_call *call, const opd_workspace *workspace) \
    {                                                                                       \
        return ALL;                                                                         \
    }                                                                                       \
    static const opd_variant name##_variants[] = {                                          \
        ENTRY(avx512, OPD_ISA_AVX512, opd_rows_decline_integers, name, overflows),          \
        ENTRY(avx2, OPD_ISA_AVX2, opd_rows_decline_integers, name, overflows),              \
        ENTRY(portable, "", opd_rows_decline, name, overflows),                             \
    };
#define ENTRY(label, needs, decline, op, overflows)                                                          \
    {                                                                                                        \
        .name = #label, .isa = (needs), .declines = (decline), .run = op##_##label,                          \
        .widths = "lanes=16 tile=256 fold=2048", .determinism = OPD_DETERMINISM_ISA, .overflow = (overflows) \
    }

static opd_status reduce_plain(const opd_call *call, const opd_workspace *workspace, opd_reduction kind)
{
    return opd_dtype_is_float(call->operands[0].view.dtype)
               ? opd_reduce_floats(call, workspace, kind, opd_rows_portable)
               : opd_reduce_integers(call, workspace, kind);
}

#define SUM_BY(rows)  opd_reduce_floats(call, workspace, OPD_REDUCE_SUM, (rows))
#define MEAN_BY(rows) opd_reduce_floats(call, workspace, OPD_REDUCE_MEAN, (rows))
#define MAX_BY(rows)  opd_reduce_floats(call, workspace, OPD_REDUCE_MAX, (rows))
#define MIN_BY(rows)  opd_reduce_floats(call, workspace, OPD_REDUCE_MIN, (rows))
#define L2_BY(rows)   opd_reduce_floats(call, workspace, OPD_REDUCE_L2, (rows))
VARIANTS(reduce_sum, SUM_BY, reduce_plain(call, workspace, OPD_REDUCE_SUM), OPD_OVERFLOW_WRAP)
VARIANTS(reduce_mean, MEAN_BY, reduce_plain(call, workspace, OPD_REDUCE_MEAN), OPD_OVERFLOW_WRAP)
VARIANTS(reduce_max, MAX_BY, reduce_plain(call, workspace, OPD_REDUCE_MAX), OPD_OVERFLOW_WRAP)
VARIANTS(reduce_min, MIN_BY, reduce_plain(call, workspace, OPD_REDUCE_MIN), OPD_OVERFLOW_WRAP)
VARIANTS(reduce_l2, L2_BY, reduce_plain(call, workspace, OPD_REDUCE_L2), OPD_OVERFLOW_SATURATE)

#define ARG_MAX_BY(rows) opd_arg_extreme(call, workspace, true, (rows))
#define ARG_MIN_BY(rows) opd_arg_extreme(call, workspace, false, (rows))
#define CUM_SUM_BY(rows) opd_cumulative_sum(call, workspace, (rows))
VARIANTS(arg_max, ARG_MAX_BY, ARG_MAX_BY(opd_rows_portable), OPD_OVERFLOW_WRAP)
VARIANTS(arg_min, ARG_MIN_BY, ARG_MIN_BY(opd_rows_portable), OPD_OVERFLOW_WRAP)
VARIANTS(cum_sum, CUM_SUM_BY, CUM_SUM_BY(opd_rows_portable), OPD_OVERFLOW_WRAP)

static const opd_variant top_k_variants[] = {
    {
        .name = "portable",
        .isa = "",
        .declines = opd_rows_decline,
        .workspace = opd_top_k_workspace,
        .run = opd_top_k,
        .determinism = OPD_DETERMINISM_ISA,
    },
};

const opd_kernel opd_kernels_reduce[] = {
    { "ai.onnx", "ReduceSum", opd_define_reduce_sum, reduce_sum_variants, (int)OPD_COUNT(reduce_sum_variants) },
    { "ai.onnx", "ReduceMean", opd_define_reduce_mean, reduce_mean_variants, (int)OPD_COUNT(reduce_mean_variants) },
    { "ai.onnx", "ReduceMax", opd_define_reduce_max, reduce_max_variants, (int)OPD_COUNT(reduce_max_variants) },
    { "ai.onnx", "ReduceMin", opd_define_reduce_min, reduce_min_variants, (int)OPD_COUNT(reduce_min_variants) },
    { "ai.onnx", "ReduceL2", opd_define_reduce_l2, reduce_l2_variants, (int)OPD_COUNT(reduce_l2_variants) },
    { "ai.onnx", "ArgMax", opd_define_arg_max, arg_max_variants, (int)OPD_COUNT(arg_max_variants) },
    { "ai.onnx", "ArgMin", opd_define_arg_min, arg_min_variants, (int)OPD_COUNT(arg_min_variants) },
    { "ai.onnx", "CumSum", opd_define_cumulative_sum, cum_sum_variants, (int)OPD_COUNT(cum_sum_variants) },
    { "ai.onnx", "TopK", opd_define_top_k, top_k_variants, (int)OPD_COUNT(top_k_variants) },
};
const int opd_kernels_reduce_count = (int)OPD_COUNT(opd_kernels_reduce);
