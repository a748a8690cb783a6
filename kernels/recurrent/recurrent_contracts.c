/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contract of LSTM, ONNX names and semantics, with the default activations (Sigmoid, Tanh, Tanh). Where ONNX leaves a choice: steps beyond a
 * sequence's length leave the state as it is and give 0 in Y; reverse begins at the last step of each sequence; input_forget makes the forget gate 1
 * minus the input gate; clip bounds what goes into every activation, also the cell on its way into the output, but not the cell that is kept.
 */
#include <opsdebug/memory.h>

#include "lstm.h"
#include "registry.h"

#define DIRECTIONS "(direction == 'bidirectional' ? 2 : 1)"

const opd_op opd_contracts_recurrent[] = {
    { .domain = "ai.onnx",
      .name = "LSTM",
      .since_version = 14,
      .types = "f32 f64 f16",
      .signature =
          "X:T[layout ? b : s, layout ? s : b, i], W:T[" DIRECTIONS ", 4 * h, i] fill(uniform:-0.25:0.25), "
          "R:T[" DIRECTIONS ", 4 * h, h] fill(uniform:-0.25:0.25), B?:T[" DIRECTIONS ", 8 * h] fill(uniform:-0.5:0.5), "
          "sequence_lens?:i32[b], initial_h?:T[layout ? b : " DIRECTIONS ", layout ? " DIRECTIONS " : b, h] "
          "fill(uniform), initial_c?:T[layout ? b : " DIRECTIONS ", layout ? " DIRECTIONS " : b, h], "
          "P?:T[" DIRECTIONS ", 3 * h] fill(uniform:-0.5:0.5) -> "
          "Y?:T[layout ? b : s, layout ? s : " DIRECTIONS ", layout ? " DIRECTIONS " : b, h], "
          "Y_h?:T[layout ? b : " DIRECTIONS ", layout ? " DIRECTIONS " : b, h], "
          "Y_c?:T[layout ? b : " DIRECTIONS ", layout ? " DIRECTIONS " : b, h]",
      .attributes =
          "direction:s=" OPD_LSTM_DIRECTIONS " hidden_size:i?[0:] layout:i=0[0|1] input_forget:i=0[0|1] clip:f?[0:]",
      .defaults = "s=7 b=5 i=24 h=20 B Y Y_h Y_c",
      .shape = opd_lstm_shape,
      .generate = opd_lstm_generate,
      .flops = "8 * s * b * h * (i + h) * " DIRECTIONS,
      .reduction = "i + h",
      .bound = { .kind = OPD_BOUND_GAUGE },
      .determinism = OPD_DETERMINISM_BATCH,
      .checkpoints = "gates cell hidden",
      .steps = "s",
      .summary =
          "long short-term memory over a batch of sequences; gauge: first-order error of all sums, carried from step to step" },
};
const int opd_contracts_recurrent_count = (int)OPD_COUNT(opd_contracts_recurrent);
