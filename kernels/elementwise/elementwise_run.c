/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs an elementwise call strip by strip: the output's dimensions are merged as far as all operands allow, its elements are cut into
 * parts for threads and those into strips; each input is brought to a dense strip in the dtype that the loop wants (in place where it is one
 * already), and the result goes to the output the same way back. Allocates nothing; the buffers lie on the stack.
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "elementwise.h"
#include "elementwise_job.h"

enum { PART = 65536, BUFFER_BYTES = OPD_STRIP * 8 };

typedef struct buffer {
    _Alignas(64) uint8_t bytes[BUFFER_BYTES];
} buffer;

/* What one thread works with. */
struct desk {
    buffer input[OPD_STRIP_INPUTS], result, gathered, middle;
    bool is_filled[OPD_STRIP_INPUTS]; /* input buffers of constants hold a whole strip of them */
};

/* A constant, or what is no longer a dense strip, is copied together. */
static const void *gather(const opd_elementwise_job *job, const opd_elementwise_operand *operand, int64_t first,
                          int64_t count, void *to)
{
    int last = job->rank - 1;
    int64_t index[OPD_MAX_RANK];
    const uint8_t *from = operand->data + opd_elementwise_locate(job, operand, first, index);
    if (operand->stride[last] == operand->size && index[last] + count <= job->shape[last]) {
        return from;
    }
    uint8_t *at = to;
    while (count > 0) {
        int64_t row = job->shape[last] - index[last] < count ? job->shape[last] - index[last] : count;
        opd_elementwise_copy(at, operand->size, from, operand->stride[last], row, operand->size);
        at += row * operand->size;
        count -= row;
        index[last] += row - 1;
        from += (row - 1) * operand->stride[last];
        from += opd_elementwise_advance(job, operand, index);
    }
    return to;
}

static void scatter(const opd_elementwise_job *job, int64_t first, int64_t count, const uint8_t *from)
{
    const opd_elementwise_operand *operand = &job->output;
    int last = job->rank - 1;
    int64_t index[OPD_MAX_RANK];
    uint8_t *at = operand->data + opd_elementwise_locate(job, operand, first, index);
    while (count > 0) {
        int64_t row = job->shape[last] - index[last] < count ? job->shape[last] - index[last] : count;
        opd_elementwise_copy(at, operand->stride[last], from, operand->size, row, operand->size);
        from += row * operand->size;
        count -= row;
        index[last] += row - 1;
        at += (row - 1) * operand->stride[last];
        at += opd_elementwise_advance(job, operand, index);
    }
}

static const void *convert(const opd_elementwise_operand *operand, const void *from, int64_t count, void *middle,
                           void *to)
{
    if (operand->convert[0] == NULL) {
        return from;
    }
    if (operand->convert[1] == NULL) {
        operand->convert[0](to, from, count);
        return to;
    }
    operand->convert[0](middle, from, count);
    operand->convert[1](to, middle, count);
    return to;
}

/* The elements first .. first + count of an input as a dense strip; slot: the buffer it may use. */
static const void *fetch(const opd_elementwise_job *job, int which, int slot, int64_t first, int64_t count,
                         struct desk *desk)
{
    const opd_elementwise_operand *operand = &job->input[which];
    void *own = desk->input[slot].bytes;
    bool is_kept = operand->is_constant && which == slot;
    if (is_kept && desk->is_filled[slot]) {
        return own;
    }
    if (operand->is_constant) {
        count = is_kept ? OPD_STRIP : count;
        opd_elementwise_copy(desk->gathered.bytes, operand->size, operand->data, 0, count, operand->size);
        const void *filled = convert(operand, desk->gathered.bytes, count, desk->middle.bytes, own);
        if (filled != own) {
            memcpy(own, filled, (size_t)(count * operand->size));
        }
        desk->is_filled[slot] = is_kept;
        return own;
    }
    const void *source = operand->is_flat ? operand->data + first * operand->size
                                          : gather(job, operand, first, count, desk->gathered.bytes);
    if (source == desk->gathered.bytes && operand->convert[0] == NULL) {
        memcpy(own, source, (size_t)(count * operand->size)); /* the next input gathers too */
        return own;
    }
    return convert(operand, source, count, desk->middle.bytes, own);
}

static const void *compute(const opd_elementwise_job *job, int64_t first, int64_t count, struct desk *desk, void *to)
{
    opd_strip strip = { .y = to, .count = count, .alpha = job->alpha };
    if (job->loop == NULL || job->input_count == 1) {
        strip.x[0] = fetch(job, 0, 0, first, count, desk);
        if (job->loop == NULL || job->is_fold) {
            return strip.x[0];
        }
        job->loop(&strip);
        return to;
    }
    if (!job->is_fold) {
        for (int i = 0; i < job->input_count; i++) {
            strip.x[i] = fetch(job, i, i, first, count, desk);
        }
        job->loop(&strip);
        return to;
    }
    strip.x[0] = fetch(job, 0, 0, first, count, desk);
    for (int i = 1; i < job->input_count; i++) {
        strip.x[1] = fetch(job, i, 1, first, count, desk);
        job->loop(&strip);
        strip.x[0] = to;
    }
    return to;
}

/* The result of a strip is computed in the output itself where that is dense memory of the loop's dtype and soon read again. */
static void do_strip(const opd_elementwise_job *job, int64_t first, int64_t count, struct desk *desk)
{
    const opd_elementwise_operand *output = &job->output;
    uint8_t *place = output->data + first * output->size;
    bool is_direct = output->is_flat && !job->is_streamed;
    bool is_converted = output->convert[0] != NULL;
    const void *result = compute(job, first, count, desk, is_direct && !is_converted ? place : desk->result.bytes);
    if (is_converted) {
        result = convert(output, result, count, desk->middle.bytes, is_direct ? place : desk->gathered.bytes);
    }
    if (!output->is_flat) {
        scatter(job, first, count, result);
    } else if (job->is_streamed) {
        opd_elementwise_stream(place, result, (size_t)(count * output->size));
    } else if (result != place) {
        memcpy(place, result, (size_t)(count * output->size));
    }
}

static void do_part(void *context, int64_t part)
{
    const opd_elementwise_job *job = context;
    struct desk desk;
    memset(desk.is_filled, 0, sizeof desk.is_filled);
    int64_t end = (part + 1) * PART < job->total ? (part + 1) * PART : job->total;
    for (int64_t first = part * PART; first < end; first += OPD_STRIP) {
        do_strip(job, first, end - first < OPD_STRIP ? end - first : OPD_STRIP, &desk);
    }
    if (job->is_streamed) {
        opd_elementwise_stream_end();
    }
}

const char *opd_elementwise_declines(const opd_strip_set *set, const opd_call *call)
{
    opd_elementwise_job job;
    return opd_elementwise_plan(&job, set, call);
}

opd_status opd_elementwise_run(const opd_strip_set *set, const opd_call *call, int32_t threads)
{
    opd_elementwise_job job;
    const char *reason = opd_elementwise_plan(&job, set, call);
    if (reason != NULL) {
        return opd_fail(OPD_E_DECLINED, "%s: %s", call->name, reason);
    }
    opd_parallel(threads, (job.total + PART - 1) / PART, do_part, &job);
    return OPD_OK;
}
