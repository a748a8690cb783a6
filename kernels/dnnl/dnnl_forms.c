/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forms of products, normalizations, poolings, and of what works by elements or moves them; dnnl_forms_other.c has the others. Adding a primitive is adding a
 * row here (and its definition, if it has a reference).
 * source    oneDNN 2.6, dnnl_types.h and the primitives' pages of its developer guide: arguments, dimensions, flags.
 */
#include "dnnl_form_words.h"

#define CONVOLUTION_FIELDS                                                       \
    .size = sizeof(dnnl_convolution_desc_t),                                     \
    .fields = { PROP(convolution),                                               \
                ALG(convolution),                                                \
                { "strides", OPD_DNNL_SPATIAL, AT(convolution, strides) },       \
                { "dilates", OPD_DNNL_SPATIAL, AT(convolution, dilates) },       \
                { "pads_begin", OPD_DNNL_SPATIAL, AT(convolution, padding[0]) }, \
                { "pads_end", OPD_DNNL_SPATIAL, AT(convolution, padding[1]) },   \
                { "accumulator", OPD_DNNL_DTYPE, AT(convolution, accum_data_type) } }

/* src, weights, bias and dst of a window: O where src is the larger side, U where dst is. */
#define WINDOW_FORWARD(image, result)                                                                   \
    .rows = { { "src", IN, DNNL_ARG_SRC, AT(convolution, src_desc), "mb g*ic " image, false },          \
              { "weights", IN, DNNL_ARG_WEIGHTS, AT(convolution, weights_desc), "[g] oc ic K", false }, \
              { "bias", IN, DNNL_ARG_BIAS, AT(convolution, bias_desc), "g*oc", false },                 \
              { "dst", OUT, DNNL_ARG_DST, AT(convolution, dst_desc), "mb g*oc " result, false } }
#define WINDOW_DATA(image, result)                                                                             \
    .rows = { { "weights", IN, DNNL_ARG_WEIGHTS, AT(convolution, weights_desc), "[g] oc ic K", false },        \
              { "diff_dst", IN, DNNL_ARG_DIFF_DST, AT(convolution, diff_dst_desc), "mb g*oc " result, false }, \
              { "diff_src", OUT, DNNL_ARG_DIFF_SRC, AT(convolution, diff_src_desc), "mb g*ic " image, false } }
#define WINDOW_WEIGHTS(image, result)                                                                          \
    .rows = { { "src", IN, DNNL_ARG_SRC, AT(convolution, src_desc), "mb g*ic " image, false },                 \
              { "diff_dst", IN, DNNL_ARG_DIFF_DST, AT(convolution, diff_dst_desc), "mb g*oc " result, false }, \
              { "diff_weights", OUT, DNNL_ARG_DIFF_WEIGHTS, AT(convolution, diff_weights_desc), "[g] oc ic K", \
                false },                                                                                       \
              { "diff_bias", OUT, DNNL_ARG_DIFF_BIAS, AT(convolution, diff_bias_desc), "g*oc", false } }

#define INNER_FIELDS                           \
    .size = sizeof(dnnl_inner_product_desc_t), \
    .fields = { PROP(inner_product), { "accumulator", OPD_DNNL_DTYPE, AT(inner_product, accum_data_type) } }

#define POOLING_FIELDS                                                               \
    PROP(pooling), ALG(pooling), { "kernel", OPD_DNNL_KERNEL, AT(pooling, kernel) }, \
        { "strides", OPD_DNNL_SPATIAL, AT(pooling, strides) },                       \
        { "pads_begin", OPD_DNNL_SPATIAL, AT(pooling, padding[0]) },                 \
        { "pads_end", OPD_DNNL_SPATIAL, AT(pooling, padding[1]) },                   \
    {                                                                                \
        "accumulator", OPD_DNNL_DTYPE, AT(pooling, accum_data_type)                  \
    }
#define POOLING_FORWARD                                                             \
    .rows = { { "src", IN, DNNL_ARG_SRC, AT(pooling, src_desc), "mb c I", false },  \
              { "dst", OUT, DNNL_ARG_DST, AT(pooling, dst_desc), "mb c O", false }, \
              { "workspace", OUT, DNNL_ARG_WORKSPACE, NONE, "mb c O", false } }
#define POOLING_BACKWARD                                                                          \
    .rows = { { "diff_dst", IN, DNNL_ARG_DIFF_DST, AT(pooling, diff_dst_desc), "mb c O", false }, \
              { "workspace", IN, DNNL_ARG_WORKSPACE, NONE, "mb c O", false },                     \
              { "diff_src", OUT, DNNL_ARG_DIFF_SRC, AT(pooling, diff_src_desc), "mb c I", false } }

#define SOFTMAX_FIELDS                   \
    .size = sizeof(dnnl_softmax_desc_t), \
    .fields = { PROP(softmax), { "axis", OPD_DNNL_INT, AT(softmax, softmax_axis) } }
#define SOFTMAX_FORWARD                                                        \
    .rows = { { "src", IN, DNNL_ARG_SRC, AT(softmax, data_desc), "D", false }, \
              { "dst", OUT, DNNL_ARG_DST, NONE, "D", false } }
#define SOFTMAX_BACKWARD                                                                 \
    .rows = { { "dst", IN, DNNL_ARG_DST, AT(softmax, data_desc), "D", false },           \
              { "diff_dst", IN, DNNL_ARG_DIFF_DST, AT(softmax, diff_desc), "D", false }, \
              { "diff_src", OUT, DNNL_ARG_DIFF_SRC, NONE, "D", false } }
#define SOFTMAX_2_FIELDS                    \
    .size = sizeof(dnnl_softmax_v2_desc_t), \
    .fields = { PROP(softmax_v2), { "axis", OPD_DNNL_INT, AT(softmax_v2, softmax_axis) }, ALG(softmax_v2) }

#define NORM_FIELDS(type, epsilon)                                                                     \
    .size = sizeof(dnnl_##type##_desc_t), .fields = { PROP(type),                                      \
                                                      { "epsilon", OPD_DNNL_REAL, AT(type, epsilon) }, \
                                                      { "flags", OPD_DNNL_INT, AT(type, flags) } }
/* Statistics are outputs in training, inputs where they are given: settled when a call is made. */
#define NORM_FORWARD(type, data, statistics, channel)                                                           \
    .rows = { { "src", IN, DNNL_ARG_SRC, AT(type, data_desc), data, false },                                    \
              { "mean", IN, DNNL_ARG_MEAN, AT(type, stat_desc), statistics, false },                            \
              { "variance", IN, DNNL_ARG_VARIANCE, AT(type, stat_desc), statistics, false },                    \
              { "scale_shift", IN, DNNL_ARG_SCALE_SHIFT, AT(type, data_scaleshift_desc), "2 " channel, false }, \
              { "scale", IN, DNNL_ARG_SCALE, AT(type, data_scaleshift_desc), channel, false },                  \
              { "shift", IN, DNNL_ARG_SHIFT, AT(type, data_scaleshift_desc), channel, false },                  \
              { "dst", OUT, DNNL_ARG_DST, NONE, data, false },                                                  \
              { "workspace", OUT, DNNL_ARG_WORKSPACE, NONE, "=", false } }
#define NORM_BACKWARD(type, data, statistics, channel)                                                                 \
    .rows = { { "src", IN, DNNL_ARG_SRC, AT(type, data_desc), data, false },                                           \
              { "mean", IN, DNNL_ARG_MEAN, AT(type, stat_desc), statistics, false },                                   \
              { "variance", IN, DNNL_ARG_VARIANCE, AT(type, stat_desc), statistics, false },                           \
              { "scale_shift", IN, DNNL_ARG_SCALE_SHIFT, AT(type, data_scaleshift_desc), "2 " channel, false },        \
              { "scale", IN, DNNL_ARG_SCALE, AT(type, data_scaleshift_desc), channel, false },                         \
              { "diff_dst", IN, DNNL_ARG_DIFF_DST, AT(type, diff_data_desc), data, false },                            \
              { "workspace", IN, DNNL_ARG_WORKSPACE, NONE, "=", false },                                               \
              { "diff_src", OUT, DNNL_ARG_DIFF_SRC, NONE, data, false },                                               \
              { "diff_scale_shift", OUT, DNNL_ARG_DIFF_SCALE_SHIFT, AT(type, diff_data_scaleshift_desc), "2 " channel, \
                false },                                                                                               \
              { "diff_scale", OUT, DNNL_ARG_DIFF_SCALE, AT(type, diff_data_scaleshift_desc), channel, false },         \
              { "diff_shift", OUT, DNNL_ARG_DIFF_SHIFT, AT(type, diff_data_scaleshift_desc), channel, false } }

const opd_dnnl_form opd_dnnl_dense_forms[] = {
    {
        DNNL("convolution forward", "dst = src convolved with weights, plus bias"),
        .kind = dnnl_convolution,
        .direction = OPD_DNNL_FORWARD,
        CONVOLUTION_FIELDS,
        WINDOW_FORWARD("I", "O"),
    },
    {
        DNNL("convolution backward_data", "gradient of a convolution by its source"),
        .kind = dnnl_convolution,
        .direction = OPD_DNNL_BACKWARD_DATA,
        CONVOLUTION_FIELDS,
        WINDOW_DATA("I", "O"),
    },
    {
        DNNL("convolution backward_weights", "gradient of a convolution by its weights and bias"),
        .kind = dnnl_convolution,
        .direction = OPD_DNNL_BACKWARD_WEIGHTS,
        CONVOLUTION_FIELDS,
        WINDOW_WEIGHTS("I", "O"),
    },
    {
        DNNL("deconvolution forward", "dst = src convolved with weights, transposed, plus bias"),
        .kind = dnnl_deconvolution,
        .direction = OPD_DNNL_FORWARD,
        CONVOLUTION_FIELDS,
        WINDOW_FORWARD("I", "U"),
    },
    {
        DNNL("deconvolution backward_data", "gradient of a transposed convolution by its source"),
        .kind = dnnl_deconvolution,
        .direction = OPD_DNNL_BACKWARD_DATA,
        CONVOLUTION_FIELDS,
        WINDOW_DATA("I", "U"),
    },
    {
        DNNL("deconvolution backward_weights", "gradient of a transposed convolution by its weights"),
        .kind = dnnl_deconvolution,
        .direction = OPD_DNNL_BACKWARD_WEIGHTS,
        CONVOLUTION_FIELDS,
        WINDOW_WEIGHTS("I", "U"),
    },
    {
        DNNL("inner_product forward", "dst = src times weights transposed, plus bias"),
        .kind = dnnl_inner_product,
        .direction = OPD_DNNL_FORWARD,
        INNER_FIELDS,
        .rows = { { "src", IN, DNNL_ARG_SRC, AT(inner_product, src_desc), "mb ic I", false },
                  { "weights", IN, DNNL_ARG_WEIGHTS, AT(inner_product, weights_desc), "oc ic I", false },
                  { "bias", IN, DNNL_ARG_BIAS, AT(inner_product, bias_desc), "oc", false },
                  { "dst", OUT, DNNL_ARG_DST, AT(inner_product, dst_desc), "mb oc", false } },
    },
    {
        DNNL("inner_product backward_data", "gradient of an inner product by its source"),
        .kind = dnnl_inner_product,
        .direction = OPD_DNNL_BACKWARD_DATA,
        INNER_FIELDS,
        .rows = { { "weights", IN, DNNL_ARG_WEIGHTS, AT(inner_product, weights_desc), "oc ic I", false },
                  { "diff_dst", IN, DNNL_ARG_DIFF_DST, AT(inner_product, diff_dst_desc), "mb oc", false },
                  { "diff_src", OUT, DNNL_ARG_DIFF_SRC, AT(inner_product, diff_src_desc), "mb ic I", false } },
    },
    {
        DNNL("inner_product backward_weights", "gradient of an inner product by its weights and bias"),
        .kind = dnnl_inner_product,
        .direction = OPD_DNNL_BACKWARD_WEIGHTS,
        INNER_FIELDS,
        .rows = { { "src", IN, DNNL_ARG_SRC, AT(inner_product, src_desc), "mb ic I", false },
                  { "diff_dst", IN, DNNL_ARG_DIFF_DST, AT(inner_product, diff_dst_desc), "mb oc", false },
                  { "diff_weights", OUT, DNNL_ARG_DIFF_WEIGHTS, AT(inner_product, diff_weights_desc), "oc ic I",
                    false },
                  { "diff_bias", OUT, DNNL_ARG_DIFF_BIAS, AT(inner_product, diff_bias_desc), "oc", false } },
    },
    {
        DNNL("matmul", "dst = src times weights, plus bias, in batches"),
        .kind = dnnl_matmul,
        .size = sizeof(dnnl_matmul_desc_t),
        .fields = { { "accumulator", OPD_DNNL_DTYPE, AT(matmul, accum_data_type) } },
        .rows = { { "src", IN, DNNL_ARG_SRC, AT(matmul, src_desc), "B m k", true },
                  { "weights", IN, DNNL_ARG_WEIGHTS, AT(matmul, weights_desc), "B k n", true },
                  { "bias", IN, DNNL_ARG_BIAS, AT(matmul, bias_desc), "B m n", true },
                  { "dst", OUT, DNNL_ARG_DST, AT(matmul, dst_desc), "B m n", false } },
    },
    {
        DNNL("reorder", "dst = src in another layout or type"),
        .kind = dnnl_reorder,
        .rows = { { "src", IN, DNNL_ARG_FROM, NONE, "D", false }, { "dst", OUT, DNNL_ARG_TO, NONE, "D", false } },
    },
    {
        DNNL("concat", "dst = the sources one after another along an axis"),
        .kind = dnnl_concat,
        .rows = { { "src", IN, DNNL_ARG_MULTIPLE_SRC, NONE, "C", false },
                  { "dst", OUT, DNNL_ARG_DST, NONE, "S", false } },
    },
    {
        DNNL("sum", "dst = sum of the scaled sources"),
        .kind = dnnl_sum,
        .rows = { { "src", IN, DNNL_ARG_MULTIPLE_SRC, NONE, "D", false },
                  { "dst", OUT, DNNL_ARG_DST, NONE, "D", false } },
    },
    {
        DNNL("eltwise forward", "dst = a function of each element of src"),
        .kind = dnnl_eltwise,
        .direction = OPD_DNNL_FORWARD,
        .size = sizeof(dnnl_eltwise_desc_t),
        .fields = { PROP(eltwise),
                    ALG(eltwise),
                    { "alpha", OPD_DNNL_REAL, AT(eltwise, alpha) },
                    { "beta", OPD_DNNL_REAL, AT(eltwise, beta) } },
        .rows = { { "src", IN, DNNL_ARG_SRC, AT(eltwise, data_desc), "D", false },
                  { "dst", OUT, DNNL_ARG_DST, NONE, "D", false } },
    },
    {
        DNNL("eltwise backward_data", "gradient of a function of each element"),
        .kind = dnnl_eltwise,
        .direction = OPD_DNNL_BACKWARD_DATA,
        .size = sizeof(dnnl_eltwise_desc_t),
        .fields = { PROP(eltwise),
                    ALG(eltwise),
                    { "alpha", OPD_DNNL_REAL, AT(eltwise, alpha) },
                    { "beta", OPD_DNNL_REAL, AT(eltwise, beta) } },
        .rows = { { "src", IN, DNNL_ARG_SRC, AT(eltwise, data_desc), "D", false },
                  { "dst", IN, DNNL_ARG_DST, AT(eltwise, data_desc), "D", false },
                  { "diff_dst", IN, DNNL_ARG_DIFF_DST, AT(eltwise, diff_data_desc), "D", false },
                  { "diff_src", OUT, DNNL_ARG_DIFF_SRC, NONE, "D", false } },
    },
    {
        DNNL("binary", "dst = src0 op src1, src1 broadcast"),
        .kind = dnnl_binary,
        .size = sizeof(dnnl_binary_desc_t),
        .fields = { ALG(binary) },
        .rows = { { "src0", IN, DNNL_ARG_SRC_0, AT(binary, src_desc[0]), "D", true },
                  { "src1", IN, DNNL_ARG_SRC_1, AT(binary, src_desc[1]), "D", true },
                  { "dst", OUT, DNNL_ARG_DST, AT(binary, dst_desc), "D", false } },
    },
    {
        DNNL("softmax forward", "dst = softmax of src along an axis"),
        .kind = dnnl_softmax,
        .direction = OPD_DNNL_FORWARD,
        SOFTMAX_FIELDS,
        SOFTMAX_FORWARD,
    },
    {
        DNNL("softmax backward_data", "gradient of softmax"),
        .kind = dnnl_softmax,
        .direction = OPD_DNNL_BACKWARD_DATA,
        SOFTMAX_FIELDS,
        SOFTMAX_BACKWARD,
    },
    {
        DNNL("logsoftmax forward", "dst = logarithm of softmax of src along an axis"),
        .kind = dnnl_logsoftmax,
        .direction = OPD_DNNL_FORWARD,
        SOFTMAX_FIELDS,
        SOFTMAX_FORWARD,
    },
    {
        DNNL("logsoftmax backward_data", "gradient of logsoftmax"),
        .kind = dnnl_logsoftmax,
        .direction = OPD_DNNL_BACKWARD_DATA,
        SOFTMAX_FIELDS,
        SOFTMAX_BACKWARD,
    },
    {
        DNNL("softmax_v2 forward", "dst = softmax of src, or its logarithm, along an axis"),
        .kind = dnnl_softmax_v2,
        .direction = OPD_DNNL_FORWARD,
        SOFTMAX_2_FIELDS,
        .rows = { { "src", IN, DNNL_ARG_SRC, AT(softmax_v2, src_desc), "D", false },
                  { "dst", OUT, DNNL_ARG_DST, AT(softmax_v2, dst_desc), "D", false } },
    },
    {
        DNNL("softmax_v2 backward_data", "gradient of softmax or its logarithm"),
        .kind = dnnl_softmax_v2,
        .direction = OPD_DNNL_BACKWARD_DATA,
        SOFTMAX_2_FIELDS,
        .rows = { { "dst", IN, DNNL_ARG_DST, AT(softmax_v2, dst_desc), "D", false },
                  { "diff_dst", IN, DNNL_ARG_DIFF_DST, AT(softmax_v2, diff_dst_desc), "D", false },
                  { "diff_src", OUT, DNNL_ARG_DIFF_SRC, AT(softmax_v2, diff_src_desc), "D", false } },
    },
    {
        DNNL("layer_normalization forward", "dst = src normalized over the last dimension, scaled and shifted"),
        .kind = dnnl_layer_normalization,
        .direction = OPD_DNNL_FORWARD,
        NORM_FIELDS(layer_normalization, layer_norm_epsilon),
        NORM_FORWARD(layer_normalization, "L c", "L", "c"),
    },
    {
        DNNL("layer_normalization backward", "gradient of layer normalization"),
        .kind = dnnl_layer_normalization,
        .direction = OPD_DNNL_BACKWARD,
        NORM_FIELDS(layer_normalization, layer_norm_epsilon),
        NORM_BACKWARD(layer_normalization, "L c", "L", "c"),
    },
    {
        DNNL("batch_normalization forward", "dst = src normalized for each channel, scaled and shifted"),
        .kind = dnnl_batch_normalization,
        .direction = OPD_DNNL_FORWARD,
        NORM_FIELDS(batch_normalization, batch_norm_epsilon),
        NORM_FORWARD(batch_normalization, "mb c I", "c", "c"),
    },
    {
        DNNL("batch_normalization backward", "gradient of batch normalization"),
        .kind = dnnl_batch_normalization,
        .direction = OPD_DNNL_BACKWARD,
        NORM_FIELDS(batch_normalization, batch_norm_epsilon),
        NORM_BACKWARD(batch_normalization, "mb c I", "c", "c"),
    },
    {
        DNNL("pooling forward", "dst = largest or mean element of the window around each position"),
        .kind = dnnl_pooling,
        .direction = OPD_DNNL_FORWARD,
        .size = sizeof(dnnl_pooling_desc_t),
        .fields = { POOLING_FIELDS },
        POOLING_FORWARD,
    },
    {
        DNNL("pooling backward_data", "gradient of pooling"),
        .kind = dnnl_pooling,
        .direction = OPD_DNNL_BACKWARD_DATA,
        .size = sizeof(dnnl_pooling_desc_t),
        .fields = { POOLING_FIELDS },
        POOLING_BACKWARD,
    },
    {
        DNNL("pooling_v2 forward", "dst = largest or mean element of the window around each position, dilated"),
        .kind = dnnl_pooling_v2,
        .direction = OPD_DNNL_FORWARD,
        .size = sizeof(dnnl_pooling_v2_desc_t),
        .fields = { POOLING_FIELDS, { "dilates", OPD_DNNL_SPATIAL, AT(pooling_v2, dilation) } },
        POOLING_FORWARD,
    },
    {
        DNNL("pooling_v2 backward_data", "gradient of dilated pooling"),
        .kind = dnnl_pooling_v2,
        .direction = OPD_DNNL_BACKWARD_DATA,
        .size = sizeof(dnnl_pooling_v2_desc_t),
        .fields = { POOLING_FIELDS, { "dilates", OPD_DNNL_SPATIAL, AT(pooling_v2, dilation) } },
        POOLING_BACKWARD,
    },
};

const int opd_dnnl_dense_form_count = OPD_COUNT(opd_dnnl_dense_forms);
