/* SPDX-License-Identifier: Apache-2.0 */
/* From a call to its job: which loop, which conversions, over which merged dimensions. */
#include <string.h>

#include <opsdebug/memory.h>

#include "elementwise_job.h"

/* Outputs from this size on are written past the cache: half of what a core may find in a last-level cache. */
enum { STREAM_BYTES = 8 << 20 };

/* What an absent bound of Clip stands for, of any dtype once converted: -Inf and Inf saturate. */
static double unbounded[2] = { -__builtin_inf(), __builtin_inf() };

static bool is_narrow(opd_dtype dtype)
{
    return dtype == OPD_F16 || dtype == OPD_BF16;
}

static bool is_short_float(opd_dtype dtype)
{
    return is_narrow(dtype) || dtype == OPD_F32;
}

/* The dtype in which the row computes T; NONE when it has no loop for it. */
static opd_dtype loop_dtype(const opd_strip_row *row, opd_dtype dtype)
{
    if (row->by_dtype[dtype] != NULL) {
        return dtype;
    }
    return is_narrow(dtype) && row->by_dtype[OPD_F32] != NULL ? OPD_F32 : OPD_DTYPE_NONE;
}

/* Can every value of an operand be told to the loop? */
static bool can_take_second(const opd_strip_row *row, opd_dtype dtype)
{
    bool is_float = opd_dtype_is_float(dtype);
    switch (row->second) {
    case OPD_F64:
        return dtype != OPD_I64 && dtype != OPD_U64;
    case OPD_I64:
        return !is_float && dtype != OPD_U64;
    default:
        return true;
    }
}

static const opd_strip_row *find_row(const opd_strip_set *set, const opd_call *call)
{
    const char *form = opd_call_text(call, "approximate", "none");
    for (int i = 0; i < set->row_count; i++) {
        const opd_strip_row *row = &set->rows[i];
        bool is_it = strcmp(row->name, call->name) == 0 && (row->form == NULL || strcmp(row->form, form) == 0);
        bool can = row->second == OPD_DTYPE_NONE || can_take_second(row, call->operands[1].view.dtype);
        if (is_it && can && loop_dtype(row, call->dtype) != OPD_DTYPE_NONE) {
            return row;
        }
    }
    return NULL;
}

/* At most two steps, the value rounded once in all. false: there is no way. */
static bool find_conversion(opd_convert_function *steps[2], const opd_conversions *all, opd_dtype from, opd_dtype to)
{
    steps[0] = NULL;
    steps[1] = NULL;
    if (from == to) {
        return true;
    }
    opd_convert_function *const *load = all->load_i64;
    opd_convert_function *const *store = all->store_i64;
    opd_dtype middle = OPD_I64;
    if (is_short_float(from) && is_short_float(to)) {
        load = all->load_f32;
        store = all->store_f32;
        middle = OPD_F32;
    } else if (opd_dtype_is_float(from) || opd_dtype_is_float(to)) {
        load = is_short_float(to) && all->sticky[from] != NULL ? all->sticky : all->load_f64;
        store = all->store_f64;
        middle = OPD_F64;
    } else if (from == OPD_U64 || to == OPD_U64) { /* the bits of an i64 */
        from = from == OPD_U64 ? OPD_I64 : from;
        to = to == OPD_U64 ? OPD_I64 : to;
    }
    int count = 0;
    if (from != middle) {
        steps[count++] = load[from];
    }
    if (to != middle) {
        steps[count++] = store[to];
    }
    return count == 0 || (steps[0] != NULL && (count == 1 || steps[1] != NULL));
}

/* ------------------------------------------------------------------------------------------------- dimensions */

/* Strides in bytes of the view over the output's dimensions, size-1 dimensions of the output left out. */
static void spread(opd_elementwise_operand *operand, const opd_tensor *view, const opd_tensor *output)
{
    int kept = 0;
    for (int d = 0; d < output->rank; d++) {
        int own = d - (output->rank - view->rank);
        if (output->shape[d] != 1) {
            operand->stride[kept++] =
                own < 0 || view->shape[own] == 1 ? 0 : view->stride[own] * (int64_t)opd_dtype_size(view->dtype);
        }
    }
}

static bool can_merge(const opd_elementwise_job *job, int outer)
{
    int64_t inner = job->shape[outer + 1];
    bool can = job->output.stride[outer] == job->output.stride[outer + 1] * inner;
    for (int i = 0; i < job->input_count; i++) {
        can = can && job->input[i].stride[outer] == job->input[i].stride[outer + 1] * inner;
    }
    return can;
}

static void drop_dimension(opd_elementwise_operand *operand, int dimension, int rank)
{
    for (int d = dimension; d + 1 < rank; d++) {
        operand->stride[d] = operand->stride[d + 1];
    }
    operand->stride[rank - 1] = 0;
}

static void merge(opd_elementwise_job *job)
{
    for (int d = job->rank - 2; d >= 0; d--) {
        if (!can_merge(job, d)) {
            continue;
        }
        job->shape[d + 1] *= job->shape[d];
        for (int i = 0; i < job->input_count; i++) {
            drop_dimension(&job->input[i], d, job->rank);
        }
        drop_dimension(&job->output, d, job->rank);
        for (int e = d; e + 1 < job->rank; e++) {
            job->shape[e] = job->shape[e + 1];
        }
        job->rank--;
    }
}

static void classify(opd_elementwise_operand *operand, const opd_elementwise_job *job)
{
    operand->is_flat = job->rank == 1 && operand->stride[0] == operand->size;
    operand->is_constant = true;
    for (int d = 0; d < job->rank; d++) {
        operand->is_constant = operand->is_constant && operand->stride[d] == 0;
    }
}

/* ---------------------------------------------------------------------------------------------------- operands */

static const char *plan_inputs(opd_elementwise_job *job, const opd_strip_set *set, const opd_strip_row *row,
                               const opd_call *call)
{
    const opd_tensor *output = &call->operands[job->input_count].view;
    opd_dtype wanted = row != NULL ? loop_dtype(row, call->dtype) : output->dtype;
    for (int i = 0; i < job->input_count; i++) {
        const opd_operand *given = &call->operands[i];
        opd_elementwise_operand *operand = &job->input[i];
        bool is_absent = (given->flags & OPD_OPERAND_ABSENT) != 0;
        opd_dtype from = is_absent ? OPD_F64 : given->view.dtype;
        opd_dtype to = row != NULL && i == 1 && row->second != OPD_DTYPE_NONE ? row->second : wanted;
        to = row != NULL && from == OPD_BOOL ? from : to; /* a condition stays one */
        operand->data = is_absent ? (uint8_t *)&unbounded[i - 1] : given->view.data;
        operand->size = (int64_t)opd_dtype_size(from);
        if (!is_absent && given->view.mask.kind != OPD_MASK_NONE) {
            return "an input has a mask";
        }
        if (!find_conversion(operand->convert, set->conversions, from, to)) {
            return "an input's dtype";
        }
        if (!is_absent) {
            spread(operand, &given->view, output);
        }
    }
    return NULL;
}

static const char *plan_output(opd_elementwise_job *job, const opd_strip_set *set, const opd_strip_row *row,
                               const opd_call *call)
{
    const opd_tensor *output = &call->operands[job->input_count].view;
    opd_dtype wanted = row != NULL ? loop_dtype(row, call->dtype) : output->dtype;
    if (output->mask.kind != OPD_MASK_NONE) {
        return "the output has a mask";
    }
    if (!find_conversion(job->output.convert, set->conversions, wanted, output->dtype)) {
        return "the output's dtype";
    }
    job->output.data = output->data;
    job->output.size = (int64_t)opd_dtype_size(output->dtype);
    spread(&job->output, output, output);
    for (int d = 0; d < output->rank; d++) {
        if (output->shape[d] != 1) {
            job->shape[job->rank++] = output->shape[d];
        }
    }
    if (job->rank == 0) {
        job->shape[job->rank++] = 1;
        job->output.stride[0] = job->output.size;
    }
    return NULL;
}

const char *opd_elementwise_plan(opd_elementwise_job *job, const opd_strip_set *set, const opd_call *call)
{
    bool is_cast = strcmp(call->name, "Cast") == 0;
    const opd_strip_row *row = is_cast ? NULL : find_row(set, call);
    if (row == NULL && !is_cast) {
        return "it has no loop for these dtypes";
    }
    *job = (opd_elementwise_job){ .input_count = call->operand_count - 1 };
    job->loop = row != NULL ? row->by_dtype[loop_dtype(row, call->dtype)] : NULL;
    job->is_fold = row != NULL && row->inputs == 0;
    job->alpha = (float)opd_call_real(call, "alpha", 0.01);
    job->total = opd_tensor_count(&call->operands[job->input_count].view);
    const char *reason = plan_inputs(job, set, row, call);
    reason = reason != NULL ? reason : plan_output(job, set, row, call);
    if (reason != NULL) {
        return reason;
    }
    merge(job);
    for (int i = 0; i < job->input_count; i++) {
        classify(&job->input[i], job);
    }
    classify(&job->output, job);
    job->is_streamed = job->output.is_flat && job->total * job->output.size >= STREAM_BYTES;
    return NULL;
}
