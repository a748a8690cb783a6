/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that runs one oneDNN primitive of each kind and form, and prints nothing but what fails; "overrun N IC HW OC": one gradient of a convolution. Primitives
 * are made and destroyed one after another, so that handles come again.
 */
#include <string.h>

#include "dnnl_frame.h"

static const int forward_args[] = { DNNL_ARG_SRC,
                                    DNNL_ARG_SRC_1,
                                    DNNL_ARG_WEIGHTS,
                                    DNNL_ARG_BIAS,
                                    DNNL_ARG_MEAN,
                                    DNNL_ARG_VARIANCE,
                                    DNNL_ARG_SCALE,
                                    DNNL_ARG_SHIFT,
                                    DNNL_ARG_DST,
                                    DNNL_ARG_WORKSPACE,
                                    0 };
static const int scale_shift_args[] = {
    DNNL_ARG_SRC, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE, DNNL_ARG_SCALE_SHIFT, DNNL_ARG_DST, DNNL_ARG_WORKSPACE, 0
};
static const int data_args[] = { DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC, 0 };
static const int weights_args[] = { DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_BIAS, 0 };

/* ------------------------------------------------------------------------------------------------------ products */

static const dnnl_dims_t strides = { 2, 1 };
static const dnnl_dims_t dilates = { 0, 1 };
static const dnnl_dims_t pads = { 1, 2 };

static void convolution(dnnl_format_tag_t images, bool is_grouped)
{
    const dnnl_dim_t groups = is_grouped ? 2 : 1;
    const dnnl_dim_t src_dims[] = { 2, 3 * groups, 9, 8 };
    const dnnl_dim_t filter_dims[] = { groups, 5, 3, 3, 2 };
    const dnnl_dim_t bias_dims[] = { 5 * groups };
    const dnnl_dim_t dst_dims[] = { 2, 5 * groups, 5, 10 };
    dnnl_memory_desc_t src = tagged(4, src_dims, images);
    dnnl_memory_desc_t weights = tagged(is_grouped ? 5 : 4, filter_dims + (is_grouped ? 0 : 1), dnnl_format_tag_any);
    dnnl_memory_desc_t bias = plain(1, bias_dims);
    dnnl_memory_desc_t dst = tagged(4, dst_dims, images);
    dnnl_convolution_desc_t op;
    run forward;
    run backward;
    CHECK(dnnl_dilated_convolution_forward_desc_init(&op, dnnl_forward_training, dnnl_convolution_direct, &src,
                                                     &weights, &bias, &dst, strides, dilates, pads, pads));
    start(&forward, &op, NULL, NULL);
    execute(&forward, forward_args, NULL);
    CHECK(dnnl_dilated_convolution_backward_data_desc_init(&op, dnnl_convolution_direct, &src, &weights, &dst, strides,
                                                           dilates, pads, pads));
    start(&backward, &op, NULL, forward.desc);
    execute(&backward, data_args, NULL);
    end(&backward);
    CHECK(dnnl_dilated_convolution_backward_weights_desc_init(&op, dnnl_convolution_direct, &src, &weights, &bias, &dst,
                                                              strides, dilates, pads, pads));
    start(&backward, &op, NULL, forward.desc);
    execute(&backward, weights_args, NULL);
    end(&backward);
    end(&forward);
}

/* Fused: the sum with what dst holds, then a ReLU. */
static void fused_convolution(void)
{
    const dnnl_dim_t src_dims[] = { 1, 4, 6, 6 };
    const dnnl_dim_t filter_dims[] = { 8, 4, 1, 1 };
    const dnnl_dim_t dst_dims[] = { 1, 8, 6, 6 };
    const dnnl_dims_t one = { 1, 1 };
    const dnnl_dims_t none = { 0, 0 };
    dnnl_memory_desc_t src = tagged(4, src_dims, dnnl_nhwc);
    dnnl_memory_desc_t weights = tagged(4, filter_dims, dnnl_format_tag_any);
    dnnl_memory_desc_t dst = tagged(4, dst_dims, dnnl_nhwc);
    dnnl_convolution_desc_t op;
    dnnl_primitive_attr_t attr;
    dnnl_post_ops_t post_ops;
    run r;
    CHECK(dnnl_primitive_attr_create(&attr));
    CHECK(dnnl_post_ops_create(&post_ops));
    CHECK(dnnl_post_ops_append_sum(post_ops, 1));
    CHECK(dnnl_post_ops_append_eltwise(post_ops, 1, dnnl_eltwise_relu, 0.25F, 0));
    CHECK(dnnl_primitive_attr_set_post_ops(attr, post_ops));
    CHECK(dnnl_convolution_forward_desc_init(&op, dnnl_forward_inference, dnnl_convolution_direct, &src, &weights, NULL,
                                             &dst, one, none, none));
    start(&r, &op, attr, NULL);
    execute(&r, forward_args, NULL);
    end(&r);
    dnnl_post_ops_destroy(post_ops);
    dnnl_primitive_attr_destroy(attr);
}

/* Scaled, then a product with one number for each column. */
static void fused_matmul(void)
{
    const dnnl_dim_t src_dims[] = { 4, 6 };
    const dnnl_dim_t weights_dims[] = { 6, 5 };
    const dnnl_dim_t dst_dims[] = { 4, 5 };
    const dnnl_dim_t factor_dims[] = { 1, 5 };
    const float scale = 0.5F;
    dnnl_memory_desc_t src = plain(2, src_dims);
    dnnl_memory_desc_t weights = plain(2, weights_dims);
    dnnl_memory_desc_t dst = plain(2, dst_dims);
    dnnl_memory_desc_t factors = plain(2, factor_dims);
    dnnl_matmul_desc_t op;
    dnnl_primitive_attr_t attr;
    dnnl_post_ops_t post_ops;
    run r;
    CHECK(dnnl_primitive_attr_create(&attr));
    CHECK(dnnl_post_ops_create(&post_ops));
    CHECK(dnnl_post_ops_append_binary(post_ops, dnnl_binary_mul, &factors));
    CHECK(dnnl_primitive_attr_set_post_ops(attr, post_ops));
    CHECK(dnnl_primitive_attr_set_output_scales(attr, 1, 0, &scale));
    CHECK(dnnl_matmul_desc_init(&op, &src, &weights, NULL, &dst));
    start(&r, &op, attr, NULL);
    add_memory(&r, DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, &factors);
    execute(&r, forward_args, NULL);
    end(&r);
    dnnl_post_ops_destroy(post_ops);
    dnnl_primitive_attr_destroy(attr);
}

static void deconvolution(void)
{
    const dnnl_dim_t src_dims[] = { 2, 5, 5, 4 };
    const dnnl_dim_t filter_dims[] = { 3, 5, 3, 2 };
    const dnnl_dim_t bias_dims[] = { 3 };
    const dnnl_dim_t dst_dims[] = { 2, 3, 9, 3 };
    const dnnl_dims_t pad = { 1, 1 };
    dnnl_memory_desc_t src = tagged(4, src_dims, dnnl_format_tag_any);
    dnnl_memory_desc_t weights = tagged(4, filter_dims, dnnl_format_tag_any);
    dnnl_memory_desc_t bias = plain(1, bias_dims);
    dnnl_memory_desc_t dst = tagged(4, dst_dims, dnnl_format_tag_any);
    dnnl_deconvolution_desc_t op;
    run forward;
    run backward;
    CHECK(dnnl_deconvolution_forward_desc_init(&op, dnnl_forward_training, dnnl_deconvolution_direct, &src, &weights,
                                               &bias, &dst, strides, pad, pad));
    start(&forward, &op, NULL, NULL);
    execute(&forward, forward_args, NULL);
    CHECK(dnnl_deconvolution_backward_data_desc_init(&op, dnnl_deconvolution_direct, &src, &weights, &dst, strides, pad,
                                                     pad));
    start(&backward, &op, NULL, forward.desc);
    execute(&backward, data_args, NULL);
    end(&backward);
    CHECK(dnnl_deconvolution_backward_weights_desc_init(&op, dnnl_deconvolution_direct, &src, &weights, &bias, &dst,
                                                        strides, pad, pad));
    start(&backward, &op, NULL, forward.desc);
    execute(&backward, weights_args, NULL);
    end(&backward);
    end(&forward);
}

static void inner_product(void)
{
    const dnnl_dim_t src_dims[] = { 3, 4, 2, 5 };
    const dnnl_dim_t filter_dims[] = { 7, 4, 2, 5 };
    const dnnl_dim_t bias_dims[] = { 7 };
    const dnnl_dim_t dst_dims[] = { 3, 7 };
    dnnl_memory_desc_t src = plain(4, src_dims);
    dnnl_memory_desc_t weights = tagged(4, filter_dims, dnnl_format_tag_any);
    dnnl_memory_desc_t bias = plain(1, bias_dims);
    dnnl_memory_desc_t dst = plain(2, dst_dims);
    dnnl_inner_product_desc_t op;
    run forward;
    run backward;
    CHECK(dnnl_inner_product_forward_desc_init(&op, dnnl_forward_training, &src, &weights, &bias, &dst));
    start(&forward, &op, NULL, NULL);
    execute(&forward, forward_args, NULL);
    CHECK(dnnl_inner_product_backward_data_desc_init(&op, &src, &weights, &dst));
    start(&backward, &op, NULL, forward.desc);
    execute(&backward, data_args, NULL);
    end(&backward);
    CHECK(dnnl_inner_product_backward_weights_desc_init(&op, &src, &weights, &bias, &dst));
    start(&backward, &op, NULL, forward.desc);
    execute(&backward, weights_args, NULL);
    end(&backward);
    end(&forward);
}

/* is_late: dimensions that are known when it is executed only. */
static void matmul(bool is_late)
{
    const dnnl_dim_t src_dims[] = { 2, 1, 4, 6 };
    const dnnl_dim_t weights_dims[] = { 2, 3, 6, 5 };
    const dnnl_dim_t bias_dims[] = { 1, 1, 1, 5 };
    const dnnl_dim_t dst_dims[] = { 2, 3, 4, 5 };
    dnnl_memory_desc_t mds[] = { plain(4, src_dims), plain(4, weights_dims), plain(4, bias_dims), plain(4, dst_dims) };
    static const int args[] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST };
    dnnl_memory_desc_t late[4];
    dnnl_matmul_desc_t op;
    run r;
    memcpy(late, mds, sizeof late);
    if (is_late) {
        late[0].dims[2] = late[0].padded_dims[2] = DNNL_RUNTIME_DIM_VAL;
        late[0].format_desc.blocking.strides[0] = late[0].format_desc.blocking.strides[1] = DNNL_RUNTIME_DIM_VAL;
        late[3].dims[2] = late[3].padded_dims[2] = DNNL_RUNTIME_DIM_VAL;
        late[3].format_desc.blocking.strides[0] = late[3].format_desc.blocking.strides[1] = DNNL_RUNTIME_DIM_VAL;
    }
    CHECK(dnnl_matmul_desc_init(&op, &late[0], &late[1], &late[2], &late[3]));
    start(&r, &op, NULL, NULL);
    CHECK(dnnl_primitive_create(&r.primitive, r.desc));
    for (int i = 0; i < 4; i++) {
        add_memory(&r, args[i], &mds[i]);
    }
    CHECK(dnnl_primitive_execute(r.primitive, stream, r.count, r.args));
    CHECK(dnnl_stream_wait(stream));
    end(&r);
}

/* ------------------------------------------------------------------------------------------- many sources, moves */

static void several(bool is_sum)
{
    const dnnl_dim_t src_dims[2][4] = { { 2, 3, 4, 5 }, { 2, is_sum ? 3 : 6, 4, 5 } };
    const float scales[] = { 0.5F, -2 };
    const dnnl_memory_desc_t src[2] = { tagged(4, src_dims[0], dnnl_nchw), tagged(4, src_dims[1], dnnl_nhwc) };
    run r;
    memset(&r, 0, sizeof r);
    if (is_sum) {
        CHECK(dnnl_sum_primitive_desc_create(&r.desc, NULL, 2, scales, src, NULL, engine));
    } else {
        CHECK(dnnl_concat_primitive_desc_create(&r.desc, NULL, 2, 1, src, NULL, engine));
    }
    add_memory(&r, DNNL_ARG_MULTIPLE_SRC, &src[0]);
    add_memory(&r, DNNL_ARG_MULTIPLE_SRC + 1, &src[1]);
    execute(&r, (const int[]){ DNNL_ARG_DST, 0 }, NULL);
    end(&r);
}

/* To blocks that are not full, added to what is there. */
static void reorder(void)
{
    const dnnl_dim_t dims[] = { 2, 11, 3, 4 };
    dnnl_memory_desc_t src = plain(4, dims);
    dnnl_memory_desc_t dst = tagged(4, dims, dnnl_nChw8c);
    dnnl_primitive_attr_t attr;
    dnnl_post_ops_t post_ops;
    run r;
    memset(&r, 0, sizeof r);
    CHECK(dnnl_primitive_attr_create(&attr));
    CHECK(dnnl_post_ops_create(&post_ops));
    CHECK(dnnl_post_ops_append_sum(post_ops, 0.5F));
    CHECK(dnnl_primitive_attr_set_post_ops(attr, post_ops));
    CHECK(dnnl_reorder_primitive_desc_create(&r.desc, &src, engine, &dst, engine, attr));
    execute(&r, (const int[]){ DNNL_ARG_SRC, DNNL_ARG_DST, 0 }, NULL);
    end(&r);
    dnnl_post_ops_destroy(post_ops);
    dnnl_primitive_attr_destroy(attr);
}

/* ------------------------------------------------------------------------------------------------- by elements */

static void eltwise(dnnl_alg_kind_t alg, float alpha, float beta)
{
    const dnnl_dim_t dims[] = { 2, 5, 3, 3 };
    dnnl_memory_desc_t data = tagged(4, dims, dnnl_nChw8c);
    dnnl_eltwise_desc_t op;
    run forward;
    run backward;
    CHECK(dnnl_eltwise_forward_desc_init(&op, dnnl_forward_training, alg, &data, alpha, beta));
    start(&forward, &op, NULL, NULL);
    execute(&forward, (const int[]){ DNNL_ARG_SRC, DNNL_ARG_DST, 0 }, NULL);
    if (alg != dnnl_eltwise_round) {
        CHECK(dnnl_eltwise_backward_desc_init(&op, alg, &data, &data, alpha, beta));
        start(&backward, &op, NULL, forward.desc);
        execute(&backward, (const int[]){ DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC, 0 }, NULL);
        end(&backward);
    }
    end(&forward);
}

static void binary(dnnl_alg_kind_t alg)
{
    const dnnl_dim_t dims[] = { 2, 5, 3, 4 };
    const dnnl_dim_t small[] = { 1, 5, 1, 1 };
    dnnl_memory_desc_t src0 = plain(4, dims);
    dnnl_memory_desc_t src1 = plain(4, small);
    dnnl_binary_desc_t op;
    run r;
    CHECK(dnnl_binary_desc_init(&op, alg, &src0, &src1, &src0));
    start(&r, &op, NULL, NULL);
    execute(&r, forward_args, NULL);
    end(&r);
}

static void softmax(bool is_log)
{
    const dnnl_dim_t dims[] = { 3, 4, 5 };
    dnnl_memory_desc_t data = plain(3, dims);
    dnnl_softmax_desc_t op;
    run forward;
    run backward;
    CHECK(is_log ? dnnl_logsoftmax_forward_desc_init(&op, dnnl_forward_training, &data, 2)
                 : dnnl_softmax_forward_desc_init(&op, dnnl_forward_training, &data, 1));
    start(&forward, &op, NULL, NULL);
    execute(&forward, (const int[]){ DNNL_ARG_SRC, DNNL_ARG_DST, 0 }, NULL);
    CHECK(is_log ? dnnl_logsoftmax_backward_desc_init(&op, &data, &data, 2)
                 : dnnl_softmax_backward_desc_init(&op, &data, &data, 1));
    start(&backward, &op, NULL, forward.desc);
    execute(&backward, (const int[]){ DNNL_ARG_DST, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_SRC, 0 }, NULL);
    end(&backward);
    end(&forward);
}

/* -------------------------------------------------------------------------------------------------------- lines */

static void pooling(dnnl_alg_kind_t alg)
{
    const dnnl_dim_t src_dims[] = { 2, 5, 7, 6 };
    const dnnl_dim_t dst_dims[] = { 2, 5, 4, 4 };
    const dnnl_dims_t kernel = { 3, 2 };
    const dnnl_dims_t steps = { 2, 2 };
    const dnnl_dims_t pad = { 1, 1 };
    dnnl_memory_desc_t src = tagged(4, src_dims, dnnl_nhwc);
    dnnl_memory_desc_t dst = tagged(4, dst_dims, dnnl_nhwc);
    dnnl_pooling_desc_t op;
    run forward;
    run backward;
    CHECK(dnnl_pooling_forward_desc_init(&op, dnnl_forward_training, alg, &src, &dst, steps, kernel, pad, pad));
    start(&forward, &op, NULL, NULL);
    execute(&forward, (const int[]){ DNNL_ARG_SRC, DNNL_ARG_DST, DNNL_ARG_WORKSPACE, 0 }, NULL);
    CHECK(dnnl_pooling_backward_desc_init(&op, alg, &src, &dst, steps, kernel, pad, pad));
    start(&backward, &op, NULL, forward.desc);
    execute(&backward, (const int[]){ DNNL_ARG_DIFF_DST, DNNL_ARG_WORKSPACE, DNNL_ARG_DIFF_SRC, 0 }, &forward);
    end(&backward);
    end(&forward);
}

static void layer_normalization(void)
{
    const dnnl_dim_t dims[] = { 3, 4, 16 };
    dnnl_memory_desc_t data = plain(3, dims);
    dnnl_layer_normalization_desc_t op;
    run forward;
    run backward;
    CHECK(dnnl_layer_normalization_forward_desc_init(&op, dnnl_forward_training, &data, NULL, 1e-5F,
                                                     dnnl_use_scaleshift));
    start(&forward, &op, NULL, NULL);
    execute(&forward, scale_shift_args, NULL);
    CHECK(dnnl_layer_normalization_backward_desc_init(&op, dnnl_backward, &data, &data, NULL, 1e-5F,
                                                      dnnl_use_scaleshift));
    start(&backward, &op, NULL, forward.desc);
    execute(&backward,
            (const int[]){ DNNL_ARG_SRC, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE, DNNL_ARG_SCALE_SHIFT, DNNL_ARG_DIFF_DST,
                           DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_SCALE_SHIFT, 0 },
            NULL);
    end(&backward);
    end(&forward);
}

static void batch_normalization(unsigned flags)
{
    const dnnl_dim_t dims[] = { 3, 5, 4, 4 };
    dnnl_memory_desc_t data = tagged(4, dims, dnnl_nhwc);
    dnnl_batch_normalization_desc_t op;
    run forward;
    run backward;
    CHECK(dnnl_batch_normalization_forward_desc_init(
        &op, (flags & dnnl_use_global_stats) != 0 ? dnnl_forward_inference : dnnl_forward_training, &data, 1e-5F,
        flags));
    start(&forward, &op, NULL, NULL);
    execute(&forward, (flags & dnnl_use_scaleshift) != 0 ? scale_shift_args : forward_args, NULL);
    if ((flags & dnnl_use_global_stats) == 0) {
        CHECK(dnnl_batch_normalization_backward_desc_init(&op, dnnl_backward, &data, &data, 1e-5F, flags));
        start(&backward, &op, NULL, forward.desc);
        execute(&backward,
                (const int[]){ DNNL_ARG_SRC, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE, DNNL_ARG_SCALE_SHIFT, DNNL_ARG_DIFF_DST,
                               DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_SCALE_SHIFT, 0 },
                NULL);
        end(&backward);
    }
    end(&forward);
}

/* Gradient of a 1x1 convolution with stride 2 over channels-last images of ones; says how many of its elements are wrong. */
static void overrun(const dnnl_dim_t *sizes)
{
    const dnnl_dim_t half = (sizes[2] + 1) / 2;
    const dnnl_dim_t src_dims[] = { sizes[0], sizes[1], sizes[2], sizes[2] };
    const dnnl_dim_t filter_dims[] = { sizes[3], sizes[1], 1, 1 };
    const dnnl_dim_t dst_dims[] = { sizes[0], sizes[3], half, half };
    const dnnl_dims_t steps = { 2, 2 };
    const dnnl_dims_t none = { 0, 0 };
    dnnl_memory_desc_t src = tagged(4, src_dims, dnnl_nhwc);
    dnnl_memory_desc_t weights = tagged(4, filter_dims, dnnl_format_tag_any);
    dnnl_memory_desc_t dst = tagged(4, dst_dims, dnnl_nhwc);
    dnnl_convolution_desc_t op;
    run forward;
    run backward;
    int right = 0;
    CHECK(dnnl_convolution_forward_desc_init(&op, dnnl_forward_training, dnnl_convolution_direct, &src, &weights, NULL,
                                             &dst, steps, none, none));
    start(&forward, &op, NULL, NULL);
    CHECK(dnnl_convolution_backward_weights_desc_init(&op, dnnl_convolution_direct, &src, &weights, NULL, &dst, steps,
                                                      none, none));
    start(&backward, &op, NULL, forward.desc);
    is_all_ones = true;
    execute(&backward, weights_args, NULL);
    const dnnl_memory_desc_t *result =
        dnnl_primitive_desc_query_md(backward.desc, dnnl_query_exec_arg_md, DNNL_ARG_DIFF_WEIGHTS);
    const float *values = backward.memory[2];
    for (size_t i = 0; i < dnnl_memory_desc_get_size(result) / sizeof(float); i++) {
        right += values[i] == (float)(sizes[0] * half * half);
    }
    printf("wrong: %d\n", (int)(sizes[1] * sizes[3]) - right);
    fflush(stdout);
    end(&backward);
}

int main(int count, char **words)
{
    CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    if (count == 6 && strcmp(words[1], "overrun") == 0) {
        dnnl_dim_t sizes[4];
        for (int i = 0; i < 4; i++) {
            sizes[i] = strtol(words[2 + i], NULL, 10);
        }
        overrun(sizes);
        return 0;
    }
    convolution(dnnl_format_tag_any, false);
    convolution(dnnl_nchw, true);
    convolution(dnnl_nhwc, false);
    fused_convolution();
    deconvolution();
    inner_product();
    matmul(false);
    matmul(true);
    fused_matmul();
    several(true);
    several(false);
    reorder();
    eltwise(dnnl_eltwise_relu, 0.25F, 0);
    eltwise(dnnl_eltwise_gelu_erf, 0, 0);
    eltwise(dnnl_eltwise_gelu_tanh, 0, 0);
    eltwise(dnnl_eltwise_tanh, 0, 0);
    eltwise(dnnl_eltwise_logistic, 0, 0);
    eltwise(dnnl_eltwise_elu, 0.5F, 0);
    eltwise(dnnl_eltwise_swish, 1.5F, 0);
    eltwise(dnnl_eltwise_clip, -0.5F, 0.25F);
    eltwise(dnnl_eltwise_linear, 2, 0.125F);
    eltwise(dnnl_eltwise_exp, 0, 0);
    binary(dnnl_binary_add);
    binary(dnnl_binary_mul);
    binary(dnnl_binary_max);
    softmax(false);
    softmax(true);
    pooling(dnnl_pooling_max);
    pooling(dnnl_pooling_avg_include_padding);
    pooling(dnnl_pooling_avg_exclude_padding);
    layer_normalization();
    batch_normalization(dnnl_use_scaleshift);
    batch_normalization(0);
    batch_normalization(dnnl_use_scaleshift | dnnl_use_global_stats);
    dnnl_stream_destroy(stream);
    dnnl_engine_destroy(engine);
    return 0;
}
