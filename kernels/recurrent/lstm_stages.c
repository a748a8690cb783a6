/* SPDX-License-Identifier: Apache-2.0 */
/* The inner stages of an LSTM, which the definition and the variants report alike: whole, when all steps are done. */
#include "lstm.h"

#include <opsdebug/memory.h>

static const char *const names[OPD_LSTM_STAGES] = { "gates", "cell", "hidden" };

opd_status opd_lstm_stages_begin(opd_lstm_stages *out, const opd_lstm *lstm)
{
    opd_status status = OPD_OK;
    for (int i = 0; i < OPD_LSTM_STAGES; i++) {
        out->value[i] = NULL;
    }
    for (int i = 0; i < OPD_LSTM_STAGES && status == OPD_OK; i++) {
        status = opd_stage_begin(&out->value[i], opd_lstm_stage_at(lstm, i, lstm->steps, 0, 0));
    }
    for (int i = 0; i < OPD_LSTM_STAGES && status != OPD_OK; i++) {
        opd_free(out->value[i]);
        out->value[i] = NULL;
    }
    return status;
}

void opd_lstm_stages_end(opd_lstm_stages *stages, const opd_lstm *lstm)
{
    for (int i = 0; i < OPD_LSTM_STAGES; i++) {
        int64_t width = i == OPD_LSTM_GATE_STAGE ? (int64_t)OPD_LSTM_GATES * lstm->hidden : lstm->hidden;
        const int64_t shape[4] = { lstm->steps, lstm->directions, lstm->batch, width };
        opd_stage_end(names[i], stages->value[i], 4, shape);
        stages->value[i] = NULL;
    }
}
