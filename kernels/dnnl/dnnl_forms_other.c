/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The forms of recurrent networks, local response normalization, shuffle, resampling, reduction and PReLU.
 * source    oneDNN 2.6, dnnl_types.h and the primitives' pages of its developer guide. Gradients of a recurrent network's weights are added to what is there
 *           (developer guide, "RNN"), and the library overwrites its workspace on the way back (seen).
 */
#include "dnnl_form_words.h"

#define RNN_FIELDS                                                                                         \
    .size = sizeof(dnnl_rnn_desc_t), .fields = { PROP(rnn),                                                \
                                                 { "alg", OPD_DNNL_ALG, AT(rnn, cell_kind) },              \
                                                 { "direction", OPD_DNNL_WAY, AT(rnn, direction) },        \
                                                 { "flags", OPD_DNNL_INT, AT(rnn, flags) },                \
                                                 { "activation", OPD_DNNL_ALG, AT(rnn, activation_kind) }, \
                                                 { "alpha", OPD_DNNL_REAL, AT(rnn, alpha) },               \
                                                 { "beta", OPD_DNNL_REAL, AT(rnn, beta) } }
/* prefix: "" or "diff_". */
#define RNN_SOURCES(prefix, role, ARG, member)                                                                         \
    { prefix "src_layer", role, DNNL_ARG_##ARG##SRC_LAYER, AT(rnn, member##src_layer_desc), "t mb slc", false },       \
        { prefix "src_iter", role, DNNL_ARG_##ARG##SRC_ITER, AT(rnn, member##src_iter_desc), "l dir mb H", false },    \
    {                                                                                                                  \
        prefix "src_iter_c", role, DNNL_ARG_##ARG##SRC_ITER_C, AT(rnn, member##src_iter_c_desc), "l dir mb dhc", false \
    }
#define RNN_WEIGHTS(prefix, role, ARG, member)                                                           \
    { prefix "weights_layer", role, DNNL_ARG_##ARG##WEIGHTS_LAYER, AT(rnn, member##weights_layer_desc),  \
      "l dir slc G dhc",      false },                                                                   \
        { prefix "weights_iter", role, DNNL_ARG_##ARG##WEIGHTS_ITER, AT(rnn, member##weights_iter_desc), \
          "l dir H G dhc",       false },                                                                \
        { prefix "weights_peephole",                                                                     \
          role,                                                                                          \
          DNNL_ARG_##ARG##WEIGHTS_PEEPHOLE,                                                              \
          AT(rnn, member##weights_peephole_desc),                                                        \
          "l dir 3 dhc",                                                                                 \
          false },                                                                                       \
        { prefix "weights_projection",                                                                   \
          role,                                                                                          \
          DNNL_ARG_##ARG##WEIGHTS_PROJECTION,                                                            \
          AT(rnn, member##weights_projection_desc),                                                      \
          "l dir dhc dic",                                                                               \
          false },                                                                                       \
    {                                                                                                    \
        prefix "bias", role, DNNL_ARG_##ARG##BIAS, AT(rnn, member##bias_desc), "l dir Q dhc", false      \
    }
#define RNN_RESULTS(prefix, role, ARG, member)                                                                         \
    { prefix "dst_layer", role, DNNL_ARG_##ARG##DST_LAYER, AT(rnn, member##dst_layer_desc), "t mb R", false },         \
        { prefix "dst_iter", role, DNNL_ARG_##ARG##DST_ITER, AT(rnn, member##dst_iter_desc), "l dir mb H", false },    \
    {                                                                                                                  \
        prefix "dst_iter_c", role, DNNL_ARG_##ARG##DST_ITER_C, AT(rnn, member##dst_iter_c_desc), "l dir mb dhc", false \
    }

#define LRN_FIELDS                                                                                    \
    .size = sizeof(dnnl_lrn_desc_t), .fields = { PROP(lrn),                                           \
                                                 ALG(lrn),                                            \
                                                 { "local_size", OPD_DNNL_DIM, AT(lrn, local_size) }, \
                                                 { "alpha", OPD_DNNL_REAL, AT(lrn, lrn_alpha) },      \
                                                 { "beta", OPD_DNNL_REAL, AT(lrn, lrn_beta) },        \
                                                 { "k", OPD_DNNL_REAL, AT(lrn, lrn_k) } }

#define SHUFFLE_FIELDS                                                                            \
    .size = sizeof(dnnl_shuffle_desc_t), .fields = { PROP(shuffle),                               \
                                                     { "axis", OPD_DNNL_INT, AT(shuffle, axis) }, \
                                                     { "group_size", OPD_DNNL_DIM, AT(shuffle, group_size) } }

#define RESAMPLING_FIELDS                                                                                         \
    .size = sizeof(dnnl_resampling_desc_t), .fields = { PROP(resampling),                                         \
                                                        ALG(resampling),                                          \
                                                        { "factor0", OPD_DNNL_REAL, AT(resampling, factors[0]) }, \
                                                        { "factor1", OPD_DNNL_REAL, AT(resampling, factors[1]) }, \
                                                        { "factor2", OPD_DNNL_REAL, AT(resampling, factors[2]) } }

#define PRELU_FIELDS .size = sizeof(dnnl_prelu_desc_t), .fields = { PROP(prelu) }

#define PRODUCT_AT(member)      (uint16_t) offsetof(opd_dnnl_product, member)
#define PRODUCT(routine, about) DNNL(routine, about), .kind = dnnl_gemm, .size = sizeof(opd_dnnl_product)
#define PRODUCT_FIELDS                                                                                    \
    { "transa", OPD_DNNL_LETTER, PRODUCT_AT(transa) }, { "transb", OPD_DNNL_LETTER, PRODUCT_AT(transb) }, \
        { "alpha", OPD_DNNL_REAL, PRODUCT_AT(alpha) },                                                    \
    {                                                                                                     \
        "beta", OPD_DNNL_REAL, PRODUCT_AT(beta)                                                           \
    }
#define OFFSET_FIELDS                                                                            \
    { "offsetc", OPD_DNNL_LETTER, PRODUCT_AT(offsetc) }, { "ao", OPD_DNNL_INT, PRODUCT_AT(ao) }, \
    {                                                                                            \
        "bo", OPD_DNNL_INT, PRODUCT_AT(bo)                                                       \
    }
/* The result is read where beta is not 0: settled when a call is made. */
#define PRODUCT_ROWS                                                                                          \
    { "a", IN, OPD_DNNL_PRODUCT_A, NONE, "m k", false }, { "b", IN, OPD_DNNL_PRODUCT_B, NONE, "k n", false }, \
    {                                                                                                         \
        "c", INOUT, OPD_DNNL_PRODUCT_C, NONE, "m n", false                                                    \
    }

const opd_dnnl_form opd_dnnl_other_forms[] = {
    {
        PRODUCT("dnnl_sgemm", "c = alpha a b + beta c, row-major"),
        .fields = { PRODUCT_FIELDS },
        .rows = { PRODUCT_ROWS },
    },
    {
        PRODUCT("dnnl_gemm_u8s8s32", "c = alpha (a - ao) (b - bo) + beta c + co, row-major"),
        .fields = { PRODUCT_FIELDS, OFFSET_FIELDS },
        .rows = { PRODUCT_ROWS, { "co", IN, OPD_DNNL_PRODUCT_CO, NONE, "E", false } },
    },
    {
        PRODUCT("dnnl_gemm_s8s8s32", "c = alpha (a - ao) (b - bo) + beta c + co, row-major"),
        .fields = { PRODUCT_FIELDS, OFFSET_FIELDS },
        .rows = { PRODUCT_ROWS, { "co", IN, OPD_DNNL_PRODUCT_CO, NONE, "E", false } },
    },
    {
        DNNL("rnn forward", "layers of recurrent cells over the steps of a sequence"),
        .kind = dnnl_rnn,
        .direction = OPD_DNNL_FORWARD,
        RNN_FIELDS,
        .rows = { RNN_SOURCES("", IN, , ),
                  RNN_WEIGHTS("", IN, , ),
                  RNN_RESULTS("", OUT, , ),
                  { "workspace", OUT, DNNL_ARG_WORKSPACE, NONE, "=", false } },
    },
    {
        DNNL("rnn backward", "gradients of layers of recurrent cells"),
        .kind = dnnl_rnn,
        .direction = OPD_DNNL_BACKWARD,
        RNN_FIELDS,
        .rows = { RNN_SOURCES("", IN, , ),
                  RNN_WEIGHTS("", IN, , ),
                  RNN_RESULTS("", IN, , ),
                  { "workspace", INOUT, DNNL_ARG_WORKSPACE, NONE, "=", false },
                  RNN_RESULTS("diff_", IN, DIFF_, diff_),
                  RNN_SOURCES("diff_", OUT, DIFF_, diff_),
                  RNN_WEIGHTS("diff_", INOUT, DIFF_, diff_) },
    },
    {
        DNNL("lrn forward", "dst = src normalized over neighbouring channels or positions"),
        .kind = dnnl_lrn,
        .direction = OPD_DNNL_FORWARD,
        LRN_FIELDS,
        .rows = { { "src", IN, DNNL_ARG_SRC, AT(lrn, data_desc), "D", false },
                  { "dst", OUT, DNNL_ARG_DST, NONE, "D", false },
                  { "workspace", OUT, DNNL_ARG_WORKSPACE, NONE, "=", false } },
    },
    {
        DNNL("lrn backward_data", "gradient of local response normalization"),
        .kind = dnnl_lrn,
        .direction = OPD_DNNL_BACKWARD_DATA,
        LRN_FIELDS,
        .rows = { { "src", IN, DNNL_ARG_SRC, AT(lrn, data_desc), "D", false },
                  { "diff_dst", IN, DNNL_ARG_DIFF_DST, AT(lrn, diff_data_desc), "D", false },
                  { "workspace", IN, DNNL_ARG_WORKSPACE, NONE, "=", false },
                  { "diff_src", OUT, DNNL_ARG_DIFF_SRC, NONE, "D", false } },
    },
    {
        DNNL("shuffle forward", "dst = src with the groups of an axis transposed"),
        .kind = dnnl_shuffle,
        .direction = OPD_DNNL_FORWARD,
        SHUFFLE_FIELDS,
        .rows = { { "src", IN, DNNL_ARG_SRC, AT(shuffle, data_desc), "D", false },
                  { "dst", OUT, DNNL_ARG_DST, NONE, "D", false } },
    },
    {
        DNNL("shuffle backward_data", "gradient of shuffle"),
        .kind = dnnl_shuffle,
        .direction = OPD_DNNL_BACKWARD_DATA,
        SHUFFLE_FIELDS,
        .rows = { { "diff_dst", IN, DNNL_ARG_DIFF_DST, AT(shuffle, data_desc), "D", false },
                  { "diff_src", OUT, DNNL_ARG_DIFF_SRC, NONE, "D", false } },
    },
    {
        DNNL("resampling forward", "dst = src at another size, nearest or linear between"),
        .kind = dnnl_resampling,
        .direction = OPD_DNNL_FORWARD,
        RESAMPLING_FIELDS,
        .rows = { { "src", IN, DNNL_ARG_SRC, AT(resampling, src_desc), "mb c I", false },
                  { "dst", OUT, DNNL_ARG_DST, AT(resampling, dst_desc), "mb c P", false } },
    },
    {
        DNNL("resampling backward_data", "gradient of resampling"),
        .kind = dnnl_resampling,
        .direction = OPD_DNNL_BACKWARD_DATA,
        RESAMPLING_FIELDS,
        .rows = { { "diff_dst", IN, DNNL_ARG_DIFF_DST, AT(resampling, diff_dst_desc), "mb c P", false },
                  { "diff_src", OUT, DNNL_ARG_DIFF_SRC, AT(resampling, diff_src_desc), "mb c I", false } },
    },
    {
        DNNL("reduction", "dst = src reduced over the dimensions where dst has 1"),
        .kind = dnnl_reduction,
        .size = sizeof(dnnl_reduction_desc_t),
        .fields = { ALG(reduction),
                    { "p", OPD_DNNL_REAL, AT(reduction, p) },
                    { "epsilon", OPD_DNNL_REAL, AT(reduction, eps) } },
        .rows = { { "src", IN, DNNL_ARG_SRC, AT(reduction, src_desc), "D", false },
                  { "dst", OUT, DNNL_ARG_DST, AT(reduction, dst_desc), "D", true } },
    },
    {
        DNNL("prelu forward", "dst = src, negative elements times weights"),
        .kind = dnnl_prelu,
        .direction = OPD_DNNL_FORWARD,
        PRELU_FIELDS,
        .rows = { { "src", IN, DNNL_ARG_SRC, AT(prelu, data_desc), "D", false },
                  { "weights", IN, DNNL_ARG_WEIGHTS, AT(prelu, weights_desc), "D", true },
                  { "dst", OUT, DNNL_ARG_DST, NONE, "D", false } },
    },
    {
        DNNL("prelu backward", "gradients of PReLU by its source and weights"),
        .kind = dnnl_prelu,
        .direction = OPD_DNNL_BACKWARD,
        PRELU_FIELDS,
        .rows = { { "src", IN, DNNL_ARG_SRC, AT(prelu, data_desc), "D", false },
                  { "weights", IN, DNNL_ARG_WEIGHTS, AT(prelu, weights_desc), "D", true },
                  { "diff_dst", IN, DNNL_ARG_DIFF_DST, NONE, "D", false },
                  { "diff_src", OUT, DNNL_ARG_DIFF_SRC, AT(prelu, diff_data_desc), "D", false },
                  { "diff_weights", OUT, DNNL_ARG_DIFF_WEIGHTS, AT(prelu, diff_weights_desc), "D", true } },
    },
};

const int opd_dnnl_other_form_count = OPD_COUNT(opd_dnnl_other_forms);
