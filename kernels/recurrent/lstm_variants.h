/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM by the matrix product of kernels/linear. Private to kernels/recurrent. */
#ifndef OPD_KERNELS_LSTM_VARIANTS_H
#define OPD_KERNELS_LSTM_VARIANTS_H

#include "../linear/gemm.h"

const char *opd_lstm_declines(const opd_call *call);
size_t opd_lstm_bytes(const opd_call *call, int32_t threads);
opd_status opd_lstm_run(const opd_call *call, const opd_workspace *workspace, opd_gemm_run *gemm);

#endif
