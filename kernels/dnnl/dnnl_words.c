/* SPDX-License-Identifier: Apache-2.0 */
/* Words of oneDNN's enumerations, by which calls carry them. source: oneDNN 2.6, dnnl_types.h. */
#include <string.h>

#include <opsdebug/memory.h>

#include "dnnl_form.h"

typedef struct named {
    int value;
    const char *text;
} named;

static const named props[] = {
    { dnnl_forward_training, "forward_training" },
    { dnnl_forward_inference, "forward_inference" },
    { dnnl_backward, "backward" },
    { dnnl_backward_data, "backward_data" },
    { dnnl_backward_weights, "backward_weights" },
    { dnnl_backward_bias, "backward_bias" },
};

static const named algs[] = {
    { dnnl_convolution_direct, "convolution_direct" },
    { dnnl_convolution_winograd, "convolution_winograd" },
    { dnnl_convolution_auto, "convolution_auto" },
    { dnnl_deconvolution_direct, "deconvolution_direct" },
    { dnnl_deconvolution_winograd, "deconvolution_winograd" },
    { dnnl_eltwise_relu, "relu" },
    { dnnl_eltwise_tanh, "tanh" },
    { dnnl_eltwise_elu, "elu" },
    { dnnl_eltwise_square, "square" },
    { dnnl_eltwise_abs, "abs" },
    { dnnl_eltwise_sqrt, "sqrt" },
    { dnnl_eltwise_linear, "linear" },
    { dnnl_eltwise_bounded_relu, "bounded_relu" },
    { dnnl_eltwise_soft_relu, "soft_relu" },
    { dnnl_eltwise_logistic, "logistic" },
    { dnnl_eltwise_exp, "exp" },
    { dnnl_eltwise_gelu_tanh, "gelu_tanh" },
    { dnnl_eltwise_swish, "swish" },
    { dnnl_eltwise_log, "log" },
    { dnnl_eltwise_clip, "clip" },
    { dnnl_eltwise_clip_v2, "clip_v2" },
    { dnnl_eltwise_pow, "pow" },
    { dnnl_eltwise_gelu_erf, "gelu_erf" },
    { dnnl_eltwise_round, "round" },
    { dnnl_eltwise_logsigmoid, "logsigmoid" },
    { dnnl_eltwise_mish, "mish" },
    { dnnl_eltwise_hardswish, "hardswish" },
    { dnnl_eltwise_relu_use_dst_for_bwd, "relu_use_dst_for_bwd" },
    { dnnl_eltwise_tanh_use_dst_for_bwd, "tanh_use_dst_for_bwd" },
    { dnnl_eltwise_elu_use_dst_for_bwd, "elu_use_dst_for_bwd" },
    { dnnl_eltwise_sqrt_use_dst_for_bwd, "sqrt_use_dst_for_bwd" },
    { dnnl_eltwise_logistic_use_dst_for_bwd, "logistic_use_dst_for_bwd" },
    { dnnl_eltwise_exp_use_dst_for_bwd, "exp_use_dst_for_bwd" },
    { dnnl_eltwise_clip_v2_use_dst_for_bwd, "clip_v2_use_dst_for_bwd" },
    { dnnl_pooling_max, "pooling_max" },
    { dnnl_pooling_avg_include_padding, "pooling_avg_include_padding" },
    { dnnl_pooling_avg_exclude_padding, "pooling_avg_exclude_padding" },
    { dnnl_binary_add, "add" },
    { dnnl_binary_mul, "mul" },
    { dnnl_binary_max, "max" },
    { dnnl_binary_min, "min" },
    { dnnl_binary_div, "div" },
    { dnnl_binary_sub, "sub" },
    { dnnl_binary_ge, "ge" },
    { dnnl_binary_gt, "gt" },
    { dnnl_binary_le, "le" },
    { dnnl_binary_lt, "lt" },
    { dnnl_binary_eq, "eq" },
    { dnnl_binary_ne, "ne" },
    { dnnl_softmax_accurate, "softmax_accurate" },
    { dnnl_softmax_log, "softmax_log" },
    { dnnl_lrn_across_channels, "lrn_across_channels" },
    { dnnl_lrn_within_channel, "lrn_within_channel" },
    { dnnl_vanilla_rnn, "vanilla_rnn" },
    { dnnl_vanilla_lstm, "vanilla_lstm" },
    { dnnl_vanilla_gru, "vanilla_gru" },
    { dnnl_lbr_gru, "lbr_gru" },
    { dnnl_resampling_nearest, "resampling_nearest" },
    { dnnl_resampling_linear, "resampling_linear" },
    { dnnl_reduction_max, "reduction_max" },
    { dnnl_reduction_min, "reduction_min" },
    { dnnl_reduction_sum, "reduction_sum" },
    { dnnl_reduction_mul, "reduction_mul" },
    { dnnl_reduction_mean, "reduction_mean" },
    { dnnl_reduction_norm_lp_max, "reduction_norm_lp_max" },
    { dnnl_reduction_norm_lp_sum, "reduction_norm_lp_sum" },
    { dnnl_reduction_norm_lp_power_p_max, "reduction_norm_lp_power_p_max" },
    { dnnl_reduction_norm_lp_power_p_sum, "reduction_norm_lp_power_p_sum" },
};

static const named ways[] = {
    { dnnl_unidirectional_left2right, "left2right" },
    { dnnl_unidirectional_right2left, "right2left" },
    { dnnl_bidirectional_concat, "bidirectional_concat" },
    { dnnl_bidirectional_sum, "bidirectional_sum" },
};

static const named kinds[] = {
    { dnnl_reorder, "reorder" },
    { dnnl_shuffle, "shuffle" },
    { dnnl_concat, "concat" },
    { dnnl_sum, "sum" },
    { dnnl_convolution, "convolution" },
    { dnnl_deconvolution, "deconvolution" },
    { dnnl_eltwise, "eltwise" },
    { dnnl_softmax, "softmax" },
    { dnnl_pooling, "pooling" },
    { dnnl_lrn, "lrn" },
    { dnnl_batch_normalization, "batch_normalization" },
    { dnnl_layer_normalization, "layer_normalization" },
    { dnnl_inner_product, "inner_product" },
    { dnnl_rnn, "rnn" },
    { dnnl_gemm, "gemm" },
    { dnnl_binary, "binary" },
    { dnnl_logsoftmax, "logsoftmax" },
    { dnnl_matmul, "matmul" },
    { dnnl_resampling, "resampling" },
    { dnnl_pooling_v2, "pooling_v2" },
    { dnnl_reduction, "reduction" },
    { dnnl_prelu, "prelu" },
    { dnnl_softmax_v2, "softmax_v2" },
};

static const char *text_of(const named *words, size_t count, int value)
{
    for (size_t i = 0; i < count; i++) {
        if (words[i].value == value) {
            return words[i].text;
        }
    }
    return "";
}

static int value_of(const named *words, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(words[i].text, text) == 0) {
            return words[i].value;
        }
    }
    return -1;
}

const char *opd_dnnl_prop_word(int value)
{
    return text_of(props, OPD_COUNT(props), value);
}

int opd_dnnl_prop_value(const char *word)
{
    return value_of(props, OPD_COUNT(props), word);
}

const char *opd_dnnl_alg_word(int value)
{
    return text_of(algs, OPD_COUNT(algs), value);
}

int opd_dnnl_alg_value(const char *word)
{
    return value_of(algs, OPD_COUNT(algs), word);
}

const char *opd_dnnl_way_word(int value)
{
    return text_of(ways, OPD_COUNT(ways), value);
}

int opd_dnnl_way_value(const char *word)
{
    return value_of(ways, OPD_COUNT(ways), word);
}

const char *opd_dnnl_kind_name(dnnl_primitive_kind_t kind)
{
    return text_of(kinds, OPD_COUNT(kinds), (int)kind);
}

void opd_dnnl_join(char *to, size_t size, const char *a, const char *b)
{
    size_t first = strnlen(a, size - 1);
    size_t second = strnlen(b, size - 1 - first);
    memcpy(to, a, first);
    memcpy(to + first, b, second);
    to[first + second] = '\0';
}
