/* SPDX-License-Identifier: Apache-2.0 */
/* The recurrent operators with their definitions and variants. */
#include <opsdebug/memory.h>

#include "kernel_lists.h"
#include "lstm.h"
#include "lstm_variants.h"

#define VARIANT(label, needs)                                                                                \
    {                                                                                                        \
        .name = #label, .isa = (needs), .declines = opd_lstm_declines, .workspace = opd_lstm_bytes,          \
        .run = run_##label, .determinism = OPD_DETERMINISM_BATCH, .widths = "rows=144 column=192 depth=256", \
    }
#define RUN(label)                                                                      \
    static opd_status run_##label(const opd_call *call, const opd_workspace *workspace) \
    {                                                                                   \
        return opd_lstm_run(call, workspace, opd_gemm_run_##label);                     \
    }
RUN(avx512)
RUN(avx2)
RUN(portable)

static const opd_variant lstm_variants[] = {
    VARIANT(avx512, "avx512f avx512bw avx512dq avx512vl fma f16c"),
    VARIANT(avx2, "avx2 fma f16c"),
    VARIANT(portable, ""),
};

const opd_kernel opd_kernels_recurrent[] = {
    { "ai.onnx", "LSTM", opd_lstm_define, lstm_variants, (int)OPD_COUNT(lstm_variants) },
};
const int opd_kernels_recurrent_count = (int)OPD_COUNT(opd_kernels_recurrent);
