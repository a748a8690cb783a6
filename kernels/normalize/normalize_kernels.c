/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of normalize/: definitions and variants. The fused operators have their chain beside them, "unfused". */
#include <opsdebug/memory.h>

#include "../kernel_lists.h"
#include "norm_variants.h"
#include "normalize_define.h"

/* Run and workspace functions of one operator on each instruction set. RUN(rows) and BYTES are calls of the drivers. */
#define RUNS(op, RUN, BYTES)                                                              \
    static size_t op##_bytes(const opd_call *call, int32_t threads)                       \
    {                                                                                     \
        return BYTES;                                                                     \
    }                                                                                     \
    static opd_status op##_avx512(const opd_call *call, const opd_workspace *workspace)   \
    {                                                                                     \
        return RUN(opd_rows_avx512);                                                      \
    }                                                                                     \
    static opd_status op##_avx2(const opd_call *call, const opd_workspace *workspace)     \
    {                                                                                     \
        return RUN(opd_rows_avx2);                                                        \
    }                                                                                     \
    static opd_status op##_portable(const opd_call *call, const opd_workspace *workspace) \
    {                                                                                     \
        return RUN(opd_rows_portable);                                                    \
    }
#define ENTRY(op, label, needs, decline, level)                                                              \
    {                                                                                                        \
        .name = #label, .isa = (needs), .declines = (decline), .workspace = op##_bytes, .run = op##_##label, \
        .widths = "lanes=16 tile=256 fold=2048", .determinism = (level)                                      \
    }
#define ENTRIES(op, decline, level)                                                                   \
    ENTRY(op, avx512, OPD_ISA_AVX512, decline, level), ENTRY(op, avx2, OPD_ISA_AVX2, decline, level), \
        ENTRY(op, portable, "", decline, level)
#define VARIANTS(op, decline, level) static const opd_variant op##_variants[] = { ENTRIES(op, decline, level) };

#define SOFTMAX(rows)     opd_softmax(call, workspace, rows, false)
#define LOG_SOFTMAX(rows) opd_softmax(call, workspace, rows, true)
#define LP(rows)          opd_lp_norm(call, workspace, rows)
#define BATCH(rows)       opd_batch_norm(call, workspace, rows)
RUNS(softmax, SOFTMAX, opd_softmax_bytes(call, threads, false))
RUNS(log_softmax, LOG_SOFTMAX, opd_softmax_bytes(call, threads, true))
RUNS(lp, LP, opd_lp_norm_bytes(call, threads))
RUNS(batch, BATCH, opd_batch_norm_bytes(call, threads))
VARIANTS(softmax, opd_rows_decline, OPD_DETERMINISM_BATCH) /* exponentials differ between instruction sets */
VARIANTS(log_softmax, opd_rows_decline, OPD_DETERMINISM_BATCH)
VARIANTS(lp, opd_rows_decline, OPD_DETERMINISM_ISA)
VARIANTS(batch, opd_rows_decline, OPD_DETERMINISM_ISA)

#define LINES_OF(kind, is_chain) opd_norm_lines_bytes(call, threads, kind, is_chain)
#define LAYER(rows)              opd_norm_lines(call, workspace, rows, OPD_NORM_LAYER, false)
#define RMS(rows)                opd_norm_lines(call, workspace, rows, OPD_NORM_RMS, false)
#define GROUP(rows)              opd_norm_lines(call, workspace, rows, OPD_NORM_GROUP, false)
#define INSTANCE(rows)           opd_norm_lines(call, workspace, rows, OPD_NORM_INSTANCE, false)
RUNS(layer, LAYER, LINES_OF(OPD_NORM_LAYER, false))
RUNS(rms, RMS, LINES_OF(OPD_NORM_RMS, false))
RUNS(group, GROUP, LINES_OF(OPD_NORM_GROUP, false))
RUNS(instance, INSTANCE, LINES_OF(OPD_NORM_INSTANCE, false))
VARIANTS(layer, opd_norm_lines_decline, OPD_DETERMINISM_ISA)
VARIANTS(rms, opd_norm_lines_decline, OPD_DETERMINISM_ISA)
VARIANTS(group, opd_rows_decline, OPD_DETERMINISM_ISA)
VARIANTS(instance, opd_rows_decline, OPD_DETERMINISM_ISA)

/* The chain runs on the best instruction set there is. */
static opd_rows_finder *best_rows(void)
{
    return opd_isa_missing(OPD_ISA_AVX512) == NULL ? opd_rows_avx512
           : opd_isa_missing(OPD_ISA_AVX2) == NULL ? opd_rows_avx2
                                                   : opd_rows_portable;
}
#define CHAIN(op, RUN, BYTES)                                                          \
    static size_t op##_chain_bytes(const opd_call *call, int32_t threads)              \
    {                                                                                  \
        return BYTES;                                                                  \
    }                                                                                  \
    static opd_status op##_chain(const opd_call *call, const opd_workspace *workspace) \
    {                                                                                  \
        return RUN;                                                                    \
    }                                                                                  \
    static const opd_variant op##_variants[] = {                                       \
        ENTRIES(op, opd_rows_decline, OPD_DETERMINISM_ISA),                            \
        { .name = "unfused",                                                           \
          .isa = "",                                                                   \
          .declines = opd_rows_decline,                                                \
          .workspace = op##_chain_bytes,                                               \
          .run = op##_chain,                                                           \
          .determinism = OPD_DETERMINISM_ISA },                                        \
    };

#define BIAS(rows)   opd_norm_lines(call, workspace, rows, OPD_NORM_BIAS, false)
#define ADD(rows)    opd_norm_lines(call, workspace, rows, OPD_NORM_ADD, false)
#define WINDOW(rows) opd_window_l2(call, workspace, rows, false)
RUNS(bias, BIAS, LINES_OF(OPD_NORM_BIAS, false))
RUNS(add, ADD, LINES_OF(OPD_NORM_ADD, false))
RUNS(window, WINDOW, opd_window_l2_bytes(call, threads, false))
CHAIN(bias, opd_norm_lines(call, workspace, best_rows(), OPD_NORM_BIAS, true), LINES_OF(OPD_NORM_BIAS, true))
CHAIN(add, opd_norm_lines(call, workspace, best_rows(), OPD_NORM_ADD, true), LINES_OF(OPD_NORM_ADD, true))
CHAIN(window, opd_window_l2(call, workspace, best_rows(), true), opd_window_l2_bytes(call, threads, true))

#define KERNEL(domain, name, definition, op)                                   \
    {                                                                          \
        domain, name, definition, op##_variants, (int)OPD_COUNT(op##_variants) \
    }

const opd_kernel opd_kernels_normalize[] = {
    KERNEL("ai.onnx", "Softmax", opd_define_softmax, softmax),
    KERNEL("ai.onnx", "LogSoftmax", opd_define_log_softmax, log_softmax),
    KERNEL("ai.onnx", "LpNormalization", opd_define_lp_normalization, lp),
    KERNEL("ai.onnx", "LayerNormalization", opd_define_layer_normalization, layer),
    KERNEL("ai.onnx", "RMSNormalization", opd_define_rms_normalization, rms),
    KERNEL("ai.onnx", "GroupNormalization", opd_define_group_normalization, group),
    KERNEL("ai.onnx", "InstanceNormalization", opd_define_instance_normalization, instance),
    KERNEL("ai.onnx", "BatchNormalization", opd_define_batch_normalization, batch),
    KERNEL("opsdebug", "LayerNormBias", opd_define_layer_norm_bias, bias),
    KERNEL("opsdebug", "AddLayerNorm", opd_define_add_layer_norm, add),
    KERNEL("opsdebug", "WindowL2Normalization", opd_define_window_l2, window),
};
const int opd_kernels_normalize_count = (int)OPD_COUNT(opd_kernels_normalize);
