/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention by online softmax: keys come in blocks, each row keeps its largest score so far, the sum of weights relative to it and the weighted
 * sum of values, and what was summed is scaled when a larger score comes. One source (attention_template.h) compiled for each
 * instruction set. Private to kernels/linear.
 * source    Milakov & Gimelshein 2018, "Online normalizer calculation for softmax"; Dao et al. 2022, "FlashAttention", algorithm 1.
 */
#ifndef OPD_KERNELS_ATTENTION_ENGINE_H
#define OPD_KERNELS_ATTENTION_ENGINE_H

#include "linear_shapes.h"

enum {
    OPD_ATTENTION_QUERIES = 64, /* rows of a part */
    OPD_ATTENTION_KEYS = 128,   /* of a block */
};

typedef struct opd_attention_job {
    opd_attention_shape shape;
    opd_dtype dtype;
    const void *q, *k, *v, *past_key, *past_value;
    const void *mask; /* NULL = none */
    opd_dtype mask_dtype;
    void *y;
    /* [batch, heads, rows, keys] accumulator numbers: of the softmax pass scaled scores, then weights; of the online one NULL, or while stages
       are traced the scores, and as many `weights`. */
    void *scores, *weights;
} opd_attention_job;

/* Scratch bytes of each thread; they grow with the width of heads alone. */
static inline size_t opd_attention_scratch(const opd_attention_shape *shape)
{
    size_t width = (size_t)(shape->width + shape->value_width);
    size_t numbers = (OPD_ATTENTION_QUERIES + OPD_ATTENTION_KEYS + 1) *
                         width /* queries and sums, a block of keys and values, a row */
                     + OPD_ATTENTION_KEYS * OPD_ATTENTION_QUERIES /* scores and bias of a panel */ +
                     4 * OPD_ATTENTION_QUERIES;
    return (numbers * sizeof(double) + 63) / 64 * 64;
}

/* workspace holds opd_attention_scratch() bytes for each thread. */
typedef void opd_attention_run(const opd_attention_job *job, const opd_workspace *workspace);
opd_attention_run opd_attention_run_avx2, opd_attention_run_avx512, opd_attention_run_portable;
/* Softcap, bias and softmax over job->scores. */
opd_attention_run opd_softmax_run_avx2, opd_softmax_run_avx512, opd_softmax_run_portable;

#endif
