/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the shapes and attributes of products, windows and attention mean, computed once for contracts, definitions and variants. Private
 * to kernels/linear. Strides are in elements of contiguous operands.
 */
#ifndef OPD_KERNELS_LINEAR_SHAPES_H
#define OPD_KERNELS_LINEAR_SHAPES_H

#include <math.h>

#include <opsdebug/kernel.h>

/* batch products of [m, k] by [k, n]; a broadcast batch dimension has stride 0. */
typedef struct opd_product_shape {
    int64_t m, n, k, batch;
    int32_t batch_rank;
    int64_t batch_dim[OPD_MAX_RANK], a_stride[OPD_MAX_RANK], b_stride[OPD_MAX_RANK];
} opd_product_shape;

/* Shape of MatMul, whose operands may be vectors. */
opd_product_shape opd_matmul_shape(int32_t a_rank, const int64_t *a, int32_t b_rank, const int64_t *b);
/* First elements of the factors of one product of the batch. */
void opd_product_offsets(int64_t *a, int64_t *b, const opd_product_shape *shape, int64_t batch);

/* Element (i, j) of a bias is at i * row + j * column: strides of a bias of that shape broadcast to [m, n] from the right. */
void opd_bias_strides(int64_t *row, int64_t *column, int32_t rank, const int64_t *shape);

/* Attention's qk_matmul_output_mode: the scores after which step. */
enum {
    OPD_ATTENTION_KEEPS_PRODUCT,
    OPD_ATTENTION_KEEPS_CAPPED,
    OPD_ATTENTION_KEEPS_BIASED,
    OPD_ATTENTION_KEEPS_WEIGHTS
};

enum { OPD_WINDOW_RANK = OPD_MAX_RANK - 2 };

/* A window that slides over the spatial dimensions of [N, C, ...]. */
typedef struct opd_window {
    int32_t rank; /* spatial dimensions */
    int64_t input[OPD_WINDOW_RANK], output[OPD_WINDOW_RANK], kernel[OPD_WINDOW_RANK], stride[OPD_WINDOW_RANK],
        dilation[OPD_WINDOW_RANK], pad[OPD_WINDOW_RANK]; /* pad: before the first element */
    int64_t pad_end[OPD_WINDOW_RANK];
    int64_t input_count, output_count, kernel_count; /* products over the dimensions */
} opd_window;

/*
 * Of a call of Conv, AveragePool or MaxPool: X is operand 0, of Conv W is operand 1.
 * errors    E_INVALID names the attribute that does not fit.
 */
opd_status opd_window_of(opd_window *out, const opd_call *call);
/* Input coordinate under kernel position `at` for output coordinate `to`, of one dimension. It may lie in the padding. */
static inline int64_t opd_window_input(const opd_window *window, int dimension, int64_t to, int64_t at)
{
    return to * window->stride[dimension] - window->pad[dimension] + at * window->dilation[dimension];
}

/* Heads and sizes of Attention and FusedAttention; element (batch, head, position, i) of Q is at the dot product with q[], ... */
typedef struct opd_attention_shape {
    int64_t batch, heads, kv_heads, rows, past, keys; /* keys: past ones and those of K */
    int64_t width, value_width;                       /* of a head of Q and K; of V */
    int64_t q[3], k[3], v[3], y[3];                   /* strides of batch, head, position */
    int64_t mask[4];                                  /* strides of batch, head, row, key; 0 where broadcast */
    int64_t mask_keys;                                /* keys the mask covers; those beyond are excluded */
    double scale, softcap;                            /* scale is NaN when it was not given */
    bool is_causal;
} opd_attention_shape;

/*
 * Operands are found by position: Q K V mask, then past_key and past_value.
 * errors    E_INVALID says which operand or attribute does not fit.
 */
opd_status opd_attention_shape_of(opd_attention_shape *out, const opd_call *call);

static inline double opd_attention_scale(const opd_attention_shape *shape)
{
    bool is_default = isnan(shape->scale) && shape->width > 0;
    return is_default ? 1 / sqrt((double)shape->width) : shape->scale;
}

/* An operand that was given, by position; NULL else. */
const opd_tensor *opd_given(const opd_call *call, int index);

opd_shape_function opd_shape_gemm, opd_shape_conv, opd_shape_pool, opd_shape_global_pool, opd_shape_attention;

#endif
