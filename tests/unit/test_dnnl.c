/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts and calls of oneDNN primitives against the addresses that oneDNN's own formula gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dnnl/dnnl_form.h"

/* By hand: 2 x 11 x 3 x 4 in blocks of 8 channels. */
static dnnl_memory_desc_t blocked(void)
{
    dnnl_memory_desc_t desc = { .ndims = 4, .data_type = dnnl_f32, .format_kind = dnnl_blocked };
    const int64_t dims[] = { 2, 11, 3, 4 };
    const int64_t padded[] = { 2, 16, 3, 4 };
    const int64_t strides[] = { 192, 96, 32, 8 };
    memcpy(desc.dims, dims, sizeof dims);
    memcpy(desc.padded_dims, padded, sizeof padded);
    memcpy(desc.format_desc.blocking.strides, strides, sizeof strides);
    desc.format_desc.blocking.inner_nblks = 1;
    desc.format_desc.blocking.inner_blks[0] = 8;
    desc.format_desc.blocking.inner_idxs[0] = 1;
    return desc;
}

static void blocked_layout_has_its_tag_and_storage(void **state)
{
    dnnl_memory_desc_t desc = blocked();
    opd_dnnl_layout layout;
    opd_tensor view = { .dtype = OPD_F32 };
    char text[OPD_DNNL_LAYOUT_TEXT];
    (void)state;
    assert_true(opd_dnnl_layout_of(&layout, &desc));
    assert_true(opd_dnnl_layout_print(text, &layout));
    assert_string_equal(text, "aBcd8b");
    assert_true(opd_dnnl_layout_view(&view, &layout, desc.dims));
    const int64_t shape[] = { 2, 2, 3, 4, 8 };
    const int64_t stride[] = { 192, 96, 32, 8, 1 };
    assert_int_equal(view.rank, 5);
    assert_memory_equal(view.shape, shape, sizeof shape);
    assert_memory_equal(view.stride, stride, sizeof stride);
    const int64_t index[] = { 1, 10, 2, 3 };
    assert_int_equal(opd_dnnl_layout_offset(&layout, stride, index), 192 + 96 + 2 + 64 + 24);
}

static void plain_layouts_name_their_order_and_only_odd_strides(void **state)
{
    dnnl_memory_desc_t desc = { .ndims = 4, .data_type = dnnl_f32, .format_kind = dnnl_blocked };
    static const struct {
        int64_t dims[4], strides[4];
        const char *text;
    } cases[] = {
        { { 2, 3, 4, 5 }, { 60, 20, 5, 1 }, "abcd" },
        { { 2, 3, 4, 5 }, { 60, 1, 15, 3 }, "acdb" },
        { { 1, 3, 1, 1 }, { 3, 1, 1, 1 }, "abcd" },
        { { 1, 3, 1, 1 }, { 3, 1, 3, 3 }, "acdb" },
        { { 2, 3, 4, 5 }, { 90, 30, 6, 1 }, "abcd:90,30,6,1" },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        opd_dnnl_layout layout;
        opd_dnnl_layout again;
        char text[OPD_DNNL_LAYOUT_TEXT];
        memcpy(desc.dims, cases[i].dims, sizeof cases[i].dims);
        memcpy(desc.padded_dims, cases[i].dims, sizeof cases[i].dims);
        memcpy(desc.format_desc.blocking.strides, cases[i].strides, sizeof cases[i].strides);
        assert_true(opd_dnnl_layout_of(&layout, &desc));
        assert_true(opd_dnnl_layout_print(text, &layout));
        opd_tensor view = { .dtype = OPD_F32 };
        assert_true(opd_dnnl_layout_parse(&again, text));
        assert_true(opd_dnnl_layout_view(&view, &again, desc.dims));
        assert_memory_equal(view.stride, cases[i].strides, sizeof cases[i].strides);
        if (i != 2 && i != 3) { /* dimensions of 1 may stand anywhere */
            assert_string_equal(text, cases[i].text);
        }
    }
}

static void texts_that_are_no_layout_are_refused(void **state)
{
    static const char *const texts[] = {
        "",    "?",     "aa",       "ac",  "ab8",  "ab8c",       "ab:1",       "ab:1,x",      "ab0b",
        "abx", "ab*1z", "ab99999b", "ab+", "ab+1", "ab+0/1/1/0", "ab+4/1/1/0", "ab+1/-1/1/0", "ab:3,1+1/1/1/0"
    };
    opd_dnnl_layout layout;
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (opd_dnnl_layout_parse(&layout, texts[i])) {
            fail_msg("%s was taken for a layout", texts[i]);
        }
    }
}

/* A gradient of a convolution with groups, as its descriptor says it. */
static const dnnl_memory_desc_t *find_memory(void *context, int arg)
{
    dnnl_convolution_desc_t *op = context;
    switch (arg) {
    case DNNL_ARG_SRC:
        return &op->src_desc;
    case DNNL_ARG_DIFF_DST:
        return &op->diff_dst_desc;
    case DNNL_ARG_DIFF_WEIGHTS:
        return &op->diff_weights_desc;
    default:
        return NULL;
    }
}

static dnnl_memory_desc_t dense(int rank, const int64_t *dims)
{
    dnnl_memory_desc_t desc = { .ndims = rank, .data_type = dnnl_f32, .format_kind = dnnl_blocked };
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        desc.dims[d] = desc.padded_dims[d] = dims[d];
        desc.format_desc.blocking.strides[d] = stride;
        stride *= dims[d];
    }
    return desc;
}

static dnnl_convolution_desc_t gradient(void)
{
    const int64_t src[] = { 2, 6, 9, 8 };
    const int64_t filter[] = { 2, 5, 3, 3, 2 };
    const int64_t dst[] = { 2, 10, 5, 10 };
    dnnl_convolution_desc_t op = { .primitive_kind = dnnl_convolution,
                                   .prop_kind = dnnl_backward_weights,
                                   .alg_kind = dnnl_convolution_direct,
                                   .strides = { 2, 1 },
                                   .dilates = { 0, 1 },
                                   .padding = { { 1, 2 }, { 1, 2 } },
                                   .accum_data_type = dnnl_f32 };
    op.src_desc = dense(4, src);
    op.diff_weights_desc = dense(5, filter);
    op.diff_dst_desc = dense(4, dst);
    return op;
}

static int64_t symbol(opd_call *call, const char *name)
{
    const opd_value *value = opd_call_value(call, name);
    return value != NULL ? value->i : -1;
}

static void descriptor_comes_back_from_its_call(void **state)
{
    dnnl_convolution_desc_t op = gradient();
    opd_dnnl_facts facts = { .kind = dnnl_convolution,
                             .descriptor = &op,
                             .implementation = "jit:avx2",
                             .threads = 2,
                             .memory = find_memory,
                             .context = &op };
    opd_dnnl_descriptor again;
    opd_call call;
    int args[OPD_MAX_OPERANDS];
    (void)state;
    assert_int_equal(opd_dnnl_call(&call, args, &facts), OPD_OK);
    assert_non_null(call.op);
    assert_string_equal(call.name, "convolution backward_weights");
    assert_int_equal(symbol(&call, "g"), 2);
    assert_int_equal(symbol(&call, "ic"), 3);
    assert_int_equal(symbol(&call, "oc"), 5);
    assert_int_equal(symbol(&call, "kw"), 2);
    assert_int_equal(args[2], DNNL_ARG_DIFF_WEIGHTS);
    assert_int_equal(opd_dnnl_describe(&again, &call, false), OPD_OK);
    assert_memory_equal(&again.convolution, &op, sizeof op);
    assert_true(opd_call_flops(&call) == 2.0 * (2 * 10 * 5 * 10) * (3 * 3 * 2));
}

static void sizes_of_results_follow_a_changed_symbol(void **state)
{
    dnnl_convolution_desc_t op = gradient();
    opd_dnnl_facts facts = {
        .kind = dnnl_convolution, .descriptor = &op, .implementation = "", .memory = find_memory, .context = &op
    };
    opd_call call;
    int args[OPD_MAX_OPERANDS];
    (void)state;
    assert_int_equal(opd_dnnl_call(&call, args, &facts), OPD_OK);
    assert_int_equal(opd_call_set(&call, "ih", 4), OPD_OK);
    assert_int_equal(opd_call_operand(&call, "src")->view.shape[2], 4);
    assert_int_equal(opd_call_operand(&call, "diff_dst")->view.shape[2], 2);
    assert_int_equal(opd_call_set(&call, "g", 1), OPD_OK);
    assert_int_equal(opd_call_operand(&call, "diff_dst")->view.shape[1], 5);
    assert_int_equal(opd_call_set(&call, "kh", 7), OPD_E_INVALID); /* no window fits */
}

/* Cells in both directions, results side by side; the address says which member of the descriptor. */
static const dnnl_memory_desc_t *find_part(void *context, int arg)
{
    dnnl_rnn_desc_t *op = context;
    const struct {
        int arg;
        const dnnl_memory_desc_t *desc;
    } parts[] = {
        { DNNL_ARG_SRC_LAYER, &op->src_layer_desc },       { DNNL_ARG_WEIGHTS_LAYER, &op->weights_layer_desc },
        { DNNL_ARG_WEIGHTS_ITER, &op->weights_iter_desc }, { DNNL_ARG_BIAS, &op->bias_desc },
        { DNNL_ARG_DST_LAYER, &op->dst_layer_desc },
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].arg == arg) {
            return parts[i].desc;
        }
    }
    return NULL;
}

static void sizes_of_recurrent_cells_follow_their_symbols(void **state)
{
    const int64_t src[] = { 3, 2, 5 };
    const int64_t from_layer[] = { 1, 2, 5, 4, 6 };
    const int64_t from_state[] = { 1, 2, 6, 4, 6 };
    const int64_t bias[] = { 1, 2, 4, 6 };
    const int64_t dst[] = { 3, 2, 12 };
    dnnl_rnn_desc_t op = { .primitive_kind = dnnl_rnn,
                           .prop_kind = dnnl_forward_inference,
                           .cell_kind = dnnl_vanilla_lstm,
                           .direction = dnnl_bidirectional_concat };
    opd_dnnl_facts facts = {
        .kind = dnnl_rnn, .descriptor = &op, .implementation = "ref", .memory = find_part, .context = &op
    };
    opd_dnnl_descriptor again;
    opd_call call;
    int args[OPD_MAX_OPERANDS];
    (void)state;
    op.src_layer_desc = dense(3, src);
    op.weights_layer_desc = dense(5, from_layer);
    op.weights_iter_desc = dense(5, from_state);
    op.bias_desc = dense(4, bias);
    op.dst_layer_desc = dense(3, dst);
    assert_int_equal(opd_dnnl_call(&call, args, &facts), OPD_OK);
    assert_non_null(call.op);
    assert_string_equal(call.name, "rnn forward");
    assert_int_equal(opd_dnnl_describe(&again, &call, false), OPD_OK);
    assert_memory_equal(&again.rnn, &op, sizeof op);
    assert_int_equal(opd_call_set(&call, "dhc", 3), OPD_OK);
    assert_int_equal(opd_call_operand(&call, "weights_iter")->view.shape[2], 3);
    assert_int_equal(opd_call_operand(&call, "weights_iter")->view.shape[3], 4);
    assert_int_equal(opd_call_operand(&call, "weights_iter")->view.shape[4], 3);
    assert_int_equal(opd_call_operand(&call, "dst_layer")->view.shape[2], 6);
    op.cell_kind = dnnl_vanilla_augru; /* has no word here */
    assert_int_equal(opd_dnnl_call(&call, args, &facts), OPD_OK);
    assert_null(call.op);
}

/* As the library says: dnnl_memory_desc_get_size of 5 x 4 x 3 x 3 in blocks of 2i8o4i, with a sum for each output channel, is 672. */
static void sums_behind_weights_are_part_of_their_storage(void **state)
{
    dnnl_memory_desc_t desc = { .ndims = 4, .data_type = dnnl_s8, .format_kind = dnnl_blocked };
    const int64_t dims[] = { 5, 4, 3, 3 };
    const int64_t padded[] = { 8, 8, 3, 3 };
    const int64_t strides[] = { 576, 576, 192, 64 };
    const int64_t blocks[] = { 2, 8, 4 };
    const int64_t block_dims[] = { 1, 0, 1 };
    opd_dnnl_layout layout;
    opd_dnnl_layout again;
    opd_tensor view = { .dtype = OPD_I8 };
    char text[OPD_DNNL_LAYOUT_TEXT];
    (void)state;
    memcpy(desc.dims, dims, sizeof dims);
    memcpy(desc.padded_dims, padded, sizeof padded);
    memcpy(desc.format_desc.blocking.strides, strides, sizeof strides);
    memcpy(desc.format_desc.blocking.inner_blks, blocks, sizeof blocks);
    memcpy(desc.format_desc.blocking.inner_idxs, block_dims, sizeof block_dims);
    desc.format_desc.blocking.inner_nblks = 3;
    desc.extra.flags = dnnl_memory_extra_flag_compensation_conv_s8s8 | dnnl_memory_extra_flag_scale_adjust;
    desc.extra.compensation_mask = 1;
    desc.extra.scale_adjust = 0.5F;
    assert_true(opd_dnnl_layout_of(&layout, &desc));
    assert_true(opd_dnnl_layout_print(text, &layout));
    assert_string_equal(text, "ABcd2b8a4b+3/1/0.5/0");
    assert_true(opd_dnnl_layout_parse(&again, text));
    assert_memory_equal(&again.extra, &desc.extra, sizeof desc.extra);
    assert_true(opd_dnnl_layout_view(&view, &again, dims));
    assert_int_equal(view.rank, 1);
    assert_int_equal(view.shape[0], 672);
    desc.extra.flags |= dnnl_memory_extra_flag_rnn_u8s8_compensation; /* floats: not known here */
    assert_false(opd_dnnl_layout_of(&layout, &desc));
}

static void scales_are_as_many_as_their_mask_says(void **state)
{
    static const float numbers[10] = { 1, 2 };
    static float storage[10];
    dnnl_convolution_desc_t op = gradient();
    opd_dnnl_facts facts = { .kind = dnnl_convolution,
                             .descriptor = &op,
                             .implementation = "",
                             .memory = find_memory,
                             .context = &op,
                             .quant_count = 2,
                             .quants = { { .arg = DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, .count = 1, .zero = 7 },
                                         { .arg = DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC,
                                           .mask = 1 << 1,
                                           .count = 6,
                                           .numbers = numbers } } };
    opd_dnnl_quant quants[OPD_DNNL_QUANTS];
    dnnl_memory_desc_t desc;
    opd_call call;
    int args[OPD_MAX_OPERANDS];
    (void)state;
    assert_int_equal(opd_dnnl_call(&call, args, &facts), OPD_OK);
    assert_non_null(call.op);
    assert_string_equal(call.operands[3].name, "src_zeros");
    assert_int_equal(args[3], DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC);
    assert_int_equal(call.operands[3].view.shape[0], 6); /* channels of the source: 2 groups of 3 */
    assert_int_equal(opd_dnnl_quants(quants, &call), 1);
    assert_int_equal(quants[0].operand, 3);
    assert_int_equal(quants[0].zero, 7);
    assert_false(quants[0].is_late);
    assert_int_equal(opd_call_set(&call, "ic", 2), OPD_OK);
    assert_int_equal(call.operands[3].view.shape[0], 4);
    call.operands[3].view.data = storage;
    assert_int_equal(opd_dnnl_memory_desc(&desc, &call, 3), OPD_OK);
    call.operands[3].view.shape[0] = 3; /* a file that has fewer than the library reads */
    assert_int_equal(opd_dnnl_memory_desc(&desc, &call, 3), OPD_E_INVALID);
}

/* Both matrices of a product may begin at one place: what only one of them holds is that one's content. */
static void operands_at_one_address_share_only_what_both_hold(void **state)
{
    dnnl_convolution_desc_t op = gradient();
    opd_dnnl_facts facts = {
        .kind = dnnl_convolution, .descriptor = &op, .implementation = "", .memory = find_memory, .context = &op
    };
    opd_call call;
    int args[OPD_MAX_OPERANDS];
    (void)state;
    assert_int_equal(opd_dnnl_call(&call, args, &facts), OPD_OK);
    call.operands[0].address = call.operands[1].address = 4096;
    assert_int_equal(opd_call_shared(&call, 1), -1);
    call.operands[1].view = call.operands[0].view;
    assert_int_equal(opd_call_shared(&call, 1), 0);
    call.operands[1].address = 8192;
    assert_int_equal(opd_call_shared(&call, 1), -1);
}

static void attributes_that_are_not_known_leave_a_call_without_operator(void **state)
{
    dnnl_convolution_desc_t op = gradient();
    opd_dnnl_facts facts = { .kind = dnnl_convolution,
                             .descriptor = &op,
                             .implementation = "",
                             .memory = find_memory,
                             .context = &op,
                             .is_odd = true };
    opd_call call;
    int args[OPD_MAX_OPERANDS];
    (void)state;
    assert_int_equal(opd_dnnl_call(&call, args, &facts), OPD_OK);
    assert_null(call.op);
    assert_int_equal(call.operand_count, 3);
    op.src_desc.dims[0] = DNNL_RUNTIME_DIM_VAL;
    assert_int_equal(opd_dnnl_call(&call, args, &facts), OPD_E_UNSUPPORTED);
}

/* A file whose views are smaller than its layouts say: the library, and the reference, go by the layouts. */
static void storage_that_its_layout_does_not_fit_is_refused(void **state)
{
    static float storage[2 * 10 * 5 * 10];
    static float filter[2 * 5 * 3 * 3 * 2];
    dnnl_convolution_desc_t op = gradient();
    opd_dnnl_facts facts = {
        .kind = dnnl_convolution, .descriptor = &op, .implementation = "", .memory = find_memory, .context = &op
    };
    dnnl_memory_desc_t desc;
    opd_call call;
    int args[OPD_MAX_OPERANDS];
    long double value[180];
    const opd_operand *overflow;
    char text[256];
    (void)state;
    assert_int_equal(opd_dnnl_call(&call, args, &facts), OPD_OK);
    for (int i = 0; i < 3; i++) {
        call.operands[i].view.data = i == 2 ? filter : storage;
    }
    assert_true(opd_call_check(&call, text, sizeof text, &overflow));
    assert_int_equal(opd_reference_run(value, NULL, &call, 2), OPD_OK);
    call.operands[0].view.stride[0] = 0; /* one image for two */
    assert_false(opd_call_check(&call, text, sizeof text, &overflow));
    assert_non_null(strstr(text, "src"));
    assert_int_equal(opd_dnnl_memory_desc(&desc, &call, 0), OPD_E_INVALID);
    assert_int_equal(opd_dnnl_memory_desc(&desc, &call, 1), OPD_OK);
    assert_int_not_equal(opd_reference_run(value, NULL, &call, 2), OPD_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocked_layout_has_its_tag_and_storage),
        cmocka_unit_test(plain_layouts_name_their_order_and_only_odd_strides),
        cmocka_unit_test(texts_that_are_no_layout_are_refused),
        cmocka_unit_test(descriptor_comes_back_from_its_call),
        cmocka_unit_test(sizes_of_results_follow_a_changed_symbol),
        cmocka_unit_test(sizes_of_recurrent_cells_follow_their_symbols),
        cmocka_unit_test(sums_behind_weights_are_part_of_their_storage),
        cmocka_unit_test(scales_are_as_many_as_their_mask_says),
        cmocka_unit_test(operands_at_one_address_share_only_what_both_hold),
        cmocka_unit_test(attributes_that_are_not_known_leave_a_call_without_operator),
        cmocka_unit_test(storage_that_its_layout_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
