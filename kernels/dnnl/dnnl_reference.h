/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of oneDNN's primitives: plain loops over logical indices, one output element at a time, each operation rounded to f32 where the narrow
 * form is asked for. Private to kernels/.
 */
#ifndef OPD_KERNELS_DNNL_REFERENCE_H
#define OPD_KERNELS_DNNL_REFERENCE_H

#include "dnnl_form.h"

/* An operand that can be read by logical index; data NULL: the call has none. */
typedef struct opd_dnnl_source {
    const uint8_t *data;
    opd_dtype dtype;
    long double zero; /* what stands for 0 */
    opd_dnnl_layout layout;
    int rank;
    int64_t dims[DNNL_MAX_NDIMS], strides[DNNL_MAX_NDIMS];
} opd_dnnl_source;

/* What an element is: its value, and the sum of the absolute values of what it is made of. */
typedef struct opd_dnnl_sum {
    long double value, gauge;
} opd_dnnl_sum;

typedef struct opd_dnnl_definition {
    const opd_call *call;
    const char *wanted; /* operand */
    bool is_narrow;
    opd_dnnl_source src, src1, weights, bias, dst, diff_dst, mean, variance, scale_shift, scale, shift, workspace;
    int64_t wanted_dims[DNNL_MAX_NDIMS];
    int wanted_rank;
    int spatial;
    int64_t groups;
    int64_t strides[3], dilates[3], pads[3], kernel[3];
    long double *statistics; /* of normalizations: mean, variance and what gradients need, per line or channel */
    opd_dnnl_sum *states;    /* of recurrent cells: the wanted operand, row-major */
} opd_dnnl_definition;

/* The element of the wanted operand at a logical index. False: there is no definition. */
typedef bool opd_dnnl_element(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at);

long double opd_dnnl_read(const opd_dnnl_source *source, const int64_t *index);
long double opd_dnnl_round(const opd_dnnl_definition *of, long double value);
/* out += a * b */
void opd_dnnl_add(opd_dnnl_sum *out, const opd_dnnl_definition *of, long double a, long double b);
bool opd_dnnl_is_wanted(const opd_dnnl_definition *of, const char *name);
/* Counts over positions, the last dimension fastest; false after the last. */
bool opd_dnnl_next(int64_t *at, const int64_t *sizes, int count);
/* Is there an input position under an output position and a kernel element? */
bool opd_dnnl_under(int64_t *image, const opd_dnnl_definition *of, const int64_t *sizes, const int64_t *result,
                    const int64_t *kernel);
/* Is there an output position whose window has the input position at a kernel element? */
bool opd_dnnl_over(int64_t *result, const opd_dnnl_definition *of, const int64_t *sizes, const int64_t *image,
                   const int64_t *kernel);
bool opd_dnnl_source_of(opd_dnnl_source *out, const opd_call *call, const char *name);
/* A function of oneDNN's element-wise algorithms, or its derivative; x is what the algorithm takes: src, or dst for "..._use_dst_for_bwd". False: unknown. */
bool opd_dnnl_function(opd_dnnl_sum *out, const char *alg, long double x, long double alpha, long double beta,
                       bool is_derivative);
bool opd_dnnl_binary_value(opd_dnnl_sum *out, const char *alg, long double a, long double b);

opd_dnnl_element opd_dnnl_convolution_element, opd_dnnl_deconvolution_element, opd_dnnl_inner_product_element,
    opd_dnnl_matmul_element, opd_dnnl_reorder_element, opd_dnnl_concat_element, opd_dnnl_sum_element,
    opd_dnnl_eltwise_element, opd_dnnl_binary_element, opd_dnnl_softmax_element, opd_dnnl_pooling_element,
    opd_dnnl_norm_element, opd_dnnl_rnn_element, opd_dnnl_gemm_element;

/* Statistics of a normalization into of->statistics (opd_free). */
opd_status opd_dnnl_norm_prepare(opd_dnnl_definition *of);
/* The wanted result of a recurrent network into of->states (opd_free). errors: E_DECLINED gradients, cells that are not known. */
opd_status opd_dnnl_rnn_prepare(opd_dnnl_definition *of);

#endif
