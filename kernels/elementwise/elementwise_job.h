/* SPDX-License-Identifier: Apache-2.0 */
/* An elementwise call as its run needs it. Plain values; nothing is owned. */
#ifndef OPD_KERNELS_ELEMENTWISE_JOB_H
#define OPD_KERNELS_ELEMENTWISE_JOB_H

#include "elementwise.h"

typedef struct opd_elementwise_operand {
    uint8_t *data;
    int64_t size;                 /* bytes of an element as stored */
    int64_t stride[OPD_MAX_RANK]; /* bytes, of the job's dimensions; 0 where broadcast */
    bool is_constant;             /* one element for all */
    bool is_flat;                 /* dense in the job's order */
    opd_convert_function
        *convert[2]; /* from the stored dtype to the loop's (output: back), over a middle one; NULL: none */
} opd_elementwise_operand;

typedef struct opd_elementwise_job {
    opd_strip_function *loop; /* NULL: conversion is all */
    bool is_fold;             /* inputs are folded pair by pair */
    bool is_streamed;         /* the output is too large to stay in the cache */
    float alpha;
    int32_t rank; /* >= 1 */
    int64_t shape[OPD_MAX_RANK];
    int64_t total;
    int32_t input_count;
    opd_elementwise_operand input[OPD_MAX_OPERANDS];
    opd_elementwise_operand output;
} opd_elementwise_job;

/* NULL, or why the set cannot do the call (job then is not filled). */
const char *opd_elementwise_plan(opd_elementwise_job *job, const opd_strip_set *set, const opd_call *call);

/* Byte offset of the element at flat in row-major order of the job's shape, and its index. */
int64_t opd_elementwise_locate(const opd_elementwise_job *job, const opd_elementwise_operand *operand, int64_t flat,
                               int64_t index[OPD_MAX_RANK]);
/* Steps index to the next element; the bytes to it. */
int64_t opd_elementwise_advance(const opd_elementwise_job *job, const opd_elementwise_operand *operand,
                                int64_t index[OPD_MAX_RANK]);
/* count elements of size bytes, steps in bytes. */
void opd_elementwise_copy(uint8_t *to, int64_t to_step, const uint8_t *from, int64_t from_step, int64_t count,
                          int64_t size);
/* Copies past the cache, and waits until what was so written can be seen by others. */
void opd_elementwise_stream(uint8_t *to, const uint8_t *from, size_t bytes);
void opd_elementwise_stream_end(void);

#endif
