/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that runs oneDNN's recurrent cells, forwards and backwards, and its primitives of local responses, shuffles, resamplings, reductions and PReLU; prints
 * nothing but what fails.
 */
#include <string.h>

#include "dnnl_frame.h"

#define STEPS 3
#define BATCH 2

/* ------------------------------------------------------------------------------------------------------ recurrent */

/* Sizes of a network of cells; hidden, and projected where it is another. */
typedef struct network {
    dnnl_rnn_direction_t direction;
    dnnl_dim_t layers, inputs, hidden, projected, gates, bias_gates;
    bool has_peephole;
} network;

/* Descriptors, in the order of dnnl_lstm_forward_desc_init_v3's; those that are not there are zero. */
typedef struct parts {
    dnnl_memory_desc_t src_layer, src_iter, src_iter_c, weights_layer, weights_iter, peephole, projection, bias;
    dnnl_memory_desc_t dst_layer, dst_iter, dst_iter_c;
} parts;

/* What both passes take; the backward one reads the forward one's results. */
#define FORWARD_ARGS                                                                                                  \
    DNNL_ARG_SRC_LAYER, DNNL_ARG_SRC_ITER, DNNL_ARG_SRC_ITER_C, DNNL_ARG_WEIGHTS_LAYER, DNNL_ARG_WEIGHTS_ITER,        \
        DNNL_ARG_WEIGHTS_PEEPHOLE, DNNL_ARG_WEIGHTS_PROJECTION, DNNL_ARG_BIAS, DNNL_ARG_DST_LAYER, DNNL_ARG_DST_ITER, \
        DNNL_ARG_DST_ITER_C, DNNL_ARG_WORKSPACE
static const int forward_args[] = { FORWARD_ARGS, 0 };
static const int backward_args[] = { FORWARD_ARGS,
                                     DNNL_ARG_DIFF_SRC_LAYER,
                                     DNNL_ARG_DIFF_SRC_ITER,
                                     DNNL_ARG_DIFF_SRC_ITER_C,
                                     DNNL_ARG_DIFF_WEIGHTS_LAYER,
                                     DNNL_ARG_DIFF_WEIGHTS_ITER,
                                     DNNL_ARG_DIFF_WEIGHTS_PEEPHOLE,
                                     DNNL_ARG_DIFF_WEIGHTS_PROJECTION,
                                     DNNL_ARG_DIFF_BIAS,
                                     DNNL_ARG_DIFF_DST_LAYER,
                                     DNNL_ARG_DIFF_DST_ITER,
                                     DNNL_ARG_DIFF_DST_ITER_C,
                                     0 };

static parts parts_of(const network *of, dnnl_format_tag_t weights)
{
    bool is_both = of->direction == dnnl_bidirectional_concat || of->direction == dnnl_bidirectional_sum;
    dnnl_dim_t ways = is_both ? 2 : 1;
    dnnl_dim_t out = of->projected > 0 ? of->projected : of->hidden;
    dnnl_dim_t wide = of->direction == dnnl_bidirectional_concat ? 2 * out : out;
    dnnl_dim_t layer[] = { STEPS, BATCH, of->inputs };
    dnnl_dim_t result[] = { STEPS, BATCH, wide };
    dnnl_dim_t state[] = { of->layers, ways, BATCH, out };
    dnnl_dim_t cell[] = { of->layers, ways, BATCH, of->hidden };
    dnnl_dim_t from_layer[] = { of->layers, ways, of->inputs, of->gates, of->hidden };
    dnnl_dim_t from_state[] = { of->layers, ways, out, of->gates, of->hidden };
    dnnl_dim_t peephole[] = { of->layers, ways, 3, of->hidden };
    dnnl_dim_t projection[] = { of->layers, ways, of->hidden, of->projected };
    dnnl_dim_t bias[] = { of->layers, ways, of->bias_gates, of->hidden };
    parts made;
    memset(&made, 0, sizeof made);
    made.src_layer = plain(3, layer);
    made.src_iter = plain(4, state);
    made.src_iter_c = plain(4, cell);
    made.weights_layer = tagged(5, from_layer, weights);
    made.weights_iter = tagged(5, from_state, weights);
    if (of->has_peephole) {
        made.peephole = plain(4, peephole);
    }
    if (of->projected > 0) {
        made.projection = tagged(4, projection, weights == dnnl_ldgoi ? dnnl_ldoi : dnnl_ldio);
    }
    made.bias = plain(4, bias);
    made.dst_layer = plain(3, result);
    made.dst_iter = plain(4, state);
    made.dst_iter_c = plain(4, cell);
    return made;
}

/* weights: their layout; any: the library's choice. */
static void lstm(const network *of, bool is_training, dnnl_format_tag_t weights)
{
    bool is_free = weights == dnnl_format_tag_any;
    parts f = parts_of(of, weights);
    parts b = parts_of(of, is_free ? dnnl_format_tag_any : dnnl_ldgoi);
    parts d = parts_of(of, dnnl_ldigo);
    dnnl_rnn_desc_t op;
    run forward;
    run backward;
    CHECK(dnnl_lstm_forward_desc_init_v3(&op, is_training ? dnnl_forward_training : dnnl_forward_inference,
                                         of->direction, &f.src_layer, &f.src_iter, &f.src_iter_c, &f.weights_layer,
                                         &f.weights_iter, &f.peephole, &f.projection, &f.bias, &f.dst_layer,
                                         &f.dst_iter, &f.dst_iter_c, 0));
    start(&forward, &op, NULL, NULL);
    execute(&forward, forward_args, NULL);
    if (is_training) {
        CHECK(dnnl_lstm_backward_desc_init_v3(
            &op, dnnl_backward, of->direction, &b.src_layer, &b.src_iter, &b.src_iter_c, &b.weights_layer,
            &b.weights_iter, &b.peephole, &b.projection, &b.bias, &b.dst_layer, &b.dst_iter, &b.dst_iter_c,
            &d.src_layer, &d.src_iter, &d.src_iter_c, &d.weights_layer, &d.weights_iter, &d.peephole, &d.projection,
            &d.bias, &d.dst_layer, &d.dst_iter, &d.dst_iter_c, 0));
        start(&backward, &op, NULL, forward.desc);
        execute(&backward, backward_args, &forward);
        end(&backward);
    }
    end(&forward);
}

static void plain_cells(bool is_training)
{
    network of = { dnnl_unidirectional_left2right, 1, 5, 6, 0, 1, 1, false };
    parts f = parts_of(&of, dnnl_ldigo);
    parts b = parts_of(&of, dnnl_ldgoi);
    dnnl_rnn_desc_t op;
    run forward;
    run backward;
    CHECK(dnnl_vanilla_rnn_forward_desc_init(
        &op, is_training ? dnnl_forward_training : dnnl_forward_inference, dnnl_eltwise_relu, of.direction,
        &f.src_layer, &f.src_iter, &f.weights_layer, &f.weights_iter, &f.bias, &f.dst_layer, &f.dst_iter, 0, 0.25F, 0));
    start(&forward, &op, NULL, NULL);
    execute(&forward, forward_args, NULL);
    if (is_training) {
        CHECK(dnnl_vanilla_rnn_backward_desc_init(&op, dnnl_backward, dnnl_eltwise_relu, of.direction, &b.src_layer,
                                                  &b.src_iter, &b.weights_layer, &b.weights_iter, &b.bias, &b.dst_layer,
                                                  &b.dst_iter, &f.src_layer, &f.src_iter, &f.weights_layer,
                                                  &f.weights_iter, &f.bias, &f.dst_layer, &f.dst_iter, 0, 0.25F, 0));
        start(&backward, &op, NULL, forward.desc);
        execute(&backward, backward_args, &forward);
        end(&backward);
    }
    end(&forward);
}

static void gru(bool is_linear_before_reset)
{
    network of = { dnnl_unidirectional_right2left, 1, 5, 6, 0, 3, is_linear_before_reset ? 4 : 3, false };
    parts f = parts_of(&of, dnnl_ldigo);
    dnnl_rnn_desc_t op;
    run r;
    CHECK((is_linear_before_reset ? dnnl_lbr_gru_forward_desc_init : dnnl_gru_forward_desc_init)(
        &op, dnnl_forward_inference, of.direction, &f.src_layer, &f.src_iter, &f.weights_layer, &f.weights_iter,
        &f.bias, &f.dst_layer, &f.dst_iter, 0));
    start(&r, &op, NULL, NULL);
    execute(&r, forward_args, NULL);
    end(&r);
}

static void recurrent(void)
{
    const network one = { dnnl_unidirectional_left2right, 1, 5, 6, 0, 4, 4, false };
    const network back = { dnnl_unidirectional_right2left, 1, 5, 6, 0, 4, 4, false };
    const network deep = { dnnl_bidirectional_sum, 2, 6, 6, 0, 4, 4, false };
    const network both = { dnnl_bidirectional_concat, 2, 6, 6, 0, 4, 4, false };
    const network wide = { dnnl_bidirectional_concat, 1, 5, 6, 0, 4, 4, false };
    const network full = { dnnl_unidirectional_left2right, 1, 5, 6, 4, 4, 4, true };
    const network seen = { dnnl_unidirectional_left2right, 1, 5, 6, 0, 4, 4, true };
    lstm(&one, false, dnnl_ldigo);
    lstm(&one, false, dnnl_format_tag_any);
    lstm(&one, true, dnnl_ldigo);
    lstm(&one, true, dnnl_format_tag_any);
    lstm(&back, true, dnnl_ldigo);
    lstm(&deep, true, dnnl_ldigo);
    lstm(&wide, true, dnnl_ldigo);
    lstm(&both, false, dnnl_ldigo);
    lstm(&full, false, dnnl_ldigo);
    lstm(&seen, true, dnnl_ldigo);
    plain_cells(false);
    plain_cells(true);
    gru(false);
    gru(true);
}

/* ----------------------------------------------------------------------------------------------------- the others */

static const int gradient_args[] = {
    DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_WORKSPACE, DNNL_ARG_DIFF_SRC, DNNL_ARG_DIFF_WEIGHTS, 0
};
static const int result_args[] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_WORKSPACE, 0 };

static void local_response(dnnl_alg_kind_t alg, dnnl_format_tag_t tag)
{
    const dnnl_dim_t dims[] = { 2, 16, 5, 4 };
    dnnl_memory_desc_t data = tagged(4, dims, tag);
    dnnl_lrn_desc_t op;
    run forward;
    run backward;
    CHECK(dnnl_lrn_forward_desc_init(&op, dnnl_forward_training, alg, &data, 5, 1e-2F, 0.75F, 1));
    start(&forward, &op, NULL, NULL);
    execute(&forward, result_args, NULL);
    CHECK(dnnl_lrn_backward_desc_init(&op, alg, &data, &data, 5, 1e-2F, 0.75F, 1));
    start(&backward, &op, NULL, forward.desc);
    execute(&backward, gradient_args, &forward);
    end(&backward);
    end(&forward);
}

static void shuffle(void)
{
    const dnnl_dim_t dims[] = { 2, 6, 5, 4 };
    dnnl_memory_desc_t data = plain(4, dims);
    dnnl_shuffle_desc_t op;
    run forward;
    run backward;
    CHECK(dnnl_shuffle_forward_desc_init(&op, dnnl_forward_training, &data, 1, 3));
    start(&forward, &op, NULL, NULL);
    execute(&forward, result_args, NULL);
    CHECK(dnnl_shuffle_backward_desc_init(&op, &data, 1, 3));
    start(&backward, &op, NULL, forward.desc);
    execute(&backward, gradient_args, NULL);
    end(&backward);
    end(&forward);
}

static void resampling(dnnl_alg_kind_t alg, dnnl_format_tag_t tag)
{
    const dnnl_dim_t small[] = { 2, 5, 4, 3 };
    const dnnl_dim_t large[] = { 2, 5, 7, 9 };
    dnnl_memory_desc_t src = tagged(4, small, tag);
    dnnl_memory_desc_t dst = tagged(4, large, tag);
    dnnl_resampling_desc_t op;
    run forward;
    run backward;
    CHECK(dnnl_resampling_forward_desc_init(&op, dnnl_forward_training, alg, NULL, &src, &dst));
    start(&forward, &op, NULL, NULL);
    execute(&forward, result_args, NULL);
    CHECK(dnnl_resampling_backward_desc_init(&op, alg, NULL, &src, &dst));
    start(&backward, &op, NULL, forward.desc);
    execute(&backward, gradient_args, NULL);
    end(&backward);
    end(&forward);
}

static void reduction(dnnl_alg_kind_t alg, float p)
{
    const dnnl_dim_t dims[] = { 2, 5, 3, 4 };
    const dnnl_dim_t kept[] = { 2, 1, 3, 1 };
    dnnl_memory_desc_t src = plain(4, dims);
    dnnl_memory_desc_t dst = plain(4, kept);
    dnnl_reduction_desc_t op;
    run r;
    CHECK(dnnl_reduction_desc_init(&op, alg, &src, &dst, p, 1e-3F));
    start(&r, &op, NULL, NULL);
    execute(&r, result_args, NULL);
    end(&r);
}

static void prelu(void)
{
    const dnnl_dim_t dims[] = { 2, 5, 3, 4 };
    const dnnl_dim_t slopes[] = { 1, 5, 1, 1 };
    dnnl_memory_desc_t data = plain(4, dims);
    dnnl_memory_desc_t weights = plain(4, slopes);
    dnnl_prelu_desc_t op;
    run forward;
    run backward;
    CHECK(dnnl_prelu_forward_desc_init(&op, dnnl_forward_training, &data, &weights));
    start(&forward, &op, NULL, NULL);
    execute(&forward, result_args, NULL);
    CHECK(dnnl_prelu_backward_desc_init(&op, &data, &weights, &data, &weights));
    start(&backward, &op, NULL, forward.desc);
    execute(&backward, gradient_args, NULL);
    end(&backward);
    end(&forward);
}

int main(void)
{
    CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    recurrent();
    local_response(dnnl_lrn_across_channels, dnnl_nchw);
    local_response(dnnl_lrn_within_channel, dnnl_nchw);
    local_response(dnnl_lrn_across_channels, dnnl_nChw8c);
    shuffle();
    resampling(dnnl_resampling_nearest, dnnl_nchw);
    resampling(dnnl_resampling_linear, dnnl_nhwc);
    reduction(dnnl_reduction_sum, 0);
    reduction(dnnl_reduction_max, 0);
    reduction(dnnl_reduction_norm_lp_sum, 2);
    prelu();
    dnnl_stream_destroy(stream);
    dnnl_engine_destroy(engine);
    return 0;
}
