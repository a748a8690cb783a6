/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes of an LSTM call, and what its contract cannot say by dimensions: hidden_size, the lengths of sequences. */
#include <math.h>
#include <string.h>

#include <opsdebug/memory.h>
#include <opsdebug/random.h>

#include "lstm.h"

void opd_lstm_of_call(opd_lstm *out, const opd_call *call)
{
    const opd_tensor *x = &call->operands[OPD_LSTM_X].view;
    const opd_tensor *r = &call->operands[OPD_LSTM_R].view;
    const char *direction = opd_call_text(call, "direction", "forward");
    bool is_batch_first = opd_call_int(call, "layout", 0) != 0;
    *out = (opd_lstm){
        .steps = x->shape[is_batch_first ? 1 : 0],
        .batch = x->shape[is_batch_first ? 0 : 1],
        .inputs = x->shape[2],
        .hidden = r->shape[2],
        .directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1,
        .is_batch_first = is_batch_first,
        .is_reverse = strcmp(direction, "reverse") == 0,
        .couples = opd_call_int(call, "input_forget", 0) != 0,
        .clip = opd_call_real(call, "clip", (double)INFINITY),
    };
}

static bool is_there(const opd_call *call, int operand)
{
    return (call->operands[operand].flags & OPD_OPERAND_ABSENT) == 0;
}

static const uint8_t *element(const opd_tensor *view, int64_t i)
{
    return (const uint8_t *)view->data + i * view->stride[0] * (int64_t)opd_dtype_size(view->dtype);
}

opd_status opd_lstm_shape(opd_call *call)
{
    opd_lstm lstm;
    const opd_tensor *lengths = &call->operands[OPD_LSTM_LENGTHS].view;
    opd_lstm_of_call(&lstm, call);
    int64_t hidden = opd_call_int(call, "hidden_size", lstm.hidden);
    if (hidden != lstm.hidden) {
        return opd_fail(OPD_E_INVALID, "LSTM: hidden_size is %lld, R has %lld", (long long)hidden,
                        (long long)lstm.hidden);
    }
    for (int64_t n = 0; is_there(call, OPD_LSTM_LENGTHS) && lengths->data != NULL && n < lstm.batch; n++) {
        int64_t length = (int64_t)opd_element_load_wide(lengths->dtype, element(lengths, n));
        if (length < 0 || length > lstm.steps) {
            return opd_fail(OPD_E_INVALID, "LSTM: sequence_lens has %lld at %lld, X %lld steps", (long long)length,
                            (long long)n, (long long)lstm.steps);
        }
    }
    return OPD_OK;
}

/* Lengths from 0 to all steps. */
bool opd_lstm_generate(const opd_call *call, int index, uint64_t seed)
{
    opd_lstm lstm;
    const opd_tensor *view = &call->operands[index].view;
    if (index != OPD_LSTM_LENGTHS) {
        return false;
    }
    opd_lstm_of_call(&lstm, call);
    for (int64_t n = 0; n < lstm.batch; n++) {
        uint64_t drawn = opd_random_u64(seed, (uint64_t)index, (uint64_t)n) % ((uint64_t)lstm.steps + 1);
        opd_element_store_wide(view->dtype,
                               (uint8_t *)view->data + n * view->stride[0] * (int64_t)opd_dtype_size(view->dtype),
                               (long double)drawn);
    }
    return true;
}
