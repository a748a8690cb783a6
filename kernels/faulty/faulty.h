/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deliberately wrong variants, by which the tool tests itself: each is a plain kernel with one fault that real kernels had. f32 only. Private to
 * kernels/faulty/.
 */
#ifndef OPD_KERNELS_FAULTY_H
#define OPD_KERNELS_FAULTY_H

#include <opsdebug/kernel.h>

typedef opd_status opd_faulty_run(const opd_call *call, const opd_workspace *workspace);

#define X(name) opd_faulty_run opd_faulty_##name;
#include "faulty.def"
#undef X

size_t opd_faulty_lstm_bytes(const opd_call *call, int32_t threads);

/* Data of an operand by position; NULL when it is absent. */
static inline float *opd_faulty_data(const opd_call *call, int operand)
{
    return operand < call->operand_count ? (float *)call->operands[operand].view.data : NULL;
}

static inline int64_t opd_faulty_count(const opd_call *call, int operand)
{
    return opd_tensor_count(&call->operands[operand].view);
}

/* The last dimension of an operand, 1 for a scalar; and how many rows of that size it has. */
static inline int64_t opd_faulty_row(const opd_call *call, int operand)
{
    const opd_tensor *view = &call->operands[operand].view;
    return view->rank > 0 ? view->shape[view->rank - 1] : 1;
}

static inline int64_t opd_faulty_rows(const opd_call *call, int operand)
{
    int64_t row = opd_faulty_row(call, operand);
    return row > 0 ? opd_faulty_count(call, operand) / row : 0;
}

/* The element of an operand that takes part in element flat of the output, with its strides and broadcasting as they should be. */
const float *opd_faulty_at(const opd_call *call, int operand, int output, int64_t flat);

/* Reports numbers of an inner stage, when stages are traced. */
static inline void opd_faulty_stage(const char *stage, const double *values, int64_t count)
{
    opd_tensor view;
    union {
        const double *given;
        void *address;
    } data = { values };
    if (opd_trace_enabled && opd_tensor_contiguous(&view, OPD_F64, 1, &count, data.address) == OPD_OK) {
        opd_tracepoint(stage, &view);
    }
}

#endif
