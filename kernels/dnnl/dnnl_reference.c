/* SPDX-License-Identifier: Apache-2.0 */
/* The frame of the definitions: operands as sources, the walk over the output, post-ops, and the table of primitives. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "dnnl_define.h"
#include "dnnl_reference.h"

static const struct {
    dnnl_primitive_kind_t kind;
    opd_dnnl_element *element;
    opd_status (*prepare)(opd_dnnl_definition *of); /* NULL = nothing to prepare */
} definitions[] = {
    { dnnl_convolution, opd_dnnl_convolution_element, NULL },
    { dnnl_deconvolution, opd_dnnl_deconvolution_element, NULL },
    { dnnl_inner_product, opd_dnnl_inner_product_element, NULL },
    { dnnl_matmul, opd_dnnl_matmul_element, NULL },
    { dnnl_gemm, opd_dnnl_gemm_element, NULL },
    { dnnl_reorder, opd_dnnl_reorder_element, NULL },
    { dnnl_concat, opd_dnnl_concat_element, NULL },
    { dnnl_sum, opd_dnnl_sum_element, NULL },
    { dnnl_eltwise, opd_dnnl_eltwise_element, NULL },
    { dnnl_binary, opd_dnnl_binary_element, NULL },
    { dnnl_softmax, opd_dnnl_softmax_element, NULL },
    { dnnl_logsoftmax, opd_dnnl_softmax_element, NULL },
    { dnnl_softmax_v2, opd_dnnl_softmax_element, NULL },
    { dnnl_pooling, opd_dnnl_pooling_element, NULL },
    { dnnl_pooling_v2, opd_dnnl_pooling_element, NULL },
    { dnnl_batch_normalization, opd_dnnl_norm_element, opd_dnnl_norm_prepare },
    { dnnl_layer_normalization, opd_dnnl_norm_element, opd_dnnl_norm_prepare },
    { dnnl_rnn, opd_dnnl_rnn_element, opd_dnnl_rnn_prepare },
};

bool opd_dnnl_source_of(opd_dnnl_source *out, const opd_call *call, const char *name)
{
    int64_t padded[DNNL_MAX_NDIMS];
    memset(out, 0, sizeof *out);
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        if (strcmp(operand->name, name) != 0 || operand->view.data == NULL) {
            continue;
        }
        bool is_whole = opd_dnnl_dims(out->dims, &out->rank, call, i) == OPD_OK &&
                        opd_dnnl_layout_get(&out->layout, call, i) && out->layout.extra.flags == 0 &&
                        opd_dnnl_layout_covers(&operand->view, &out->layout, out->dims) &&
                        opd_dnnl_layout_sizes(padded, out->strides, &out->layout, out->dims);
        out->dtype = operand->view.dtype;
        out->data = is_whole ? operand->view.data : NULL;
        return is_whole;
    }
    return false;
}

long double opd_dnnl_read(const opd_dnnl_source *source, const int64_t *index)
{
    int64_t at[DNNL_MAX_NDIMS];
    for (int d = 0; d < source->rank; d++) {
        at[d] = source->dims[d] == 1 ? 0 : index[d];
    }
    int64_t offset = opd_dnnl_layout_offset(&source->layout, source->strides, at);
    return opd_element_load_wide(source->dtype, source->data + offset * (int64_t)opd_dtype_size(source->dtype)) -
           source->zero;
}

long double opd_dnnl_round(const opd_dnnl_definition *of, long double value)
{
    return of->is_narrow ? (long double)(float)value : value;
}

void opd_dnnl_add(opd_dnnl_sum *out, const opd_dnnl_definition *of, long double a, long double b)
{
    long double term = opd_dnnl_round(of, a * b);
    out->value = opd_dnnl_round(of, out->value + term);
    out->gauge += fabsl(term);
}

/* --------------------------------------------------------------------------------------------------- post-ops */

static bool apply_post_op(opd_dnnl_sum *to, const opd_dnnl_definition *of, const opd_dnnl_post_op *op, int number,
                          const int64_t *at)
{
    opd_dnnl_source source;
    opd_dnnl_sum result;
    char name[OPD_NAME];
    const char *alg = opd_dnnl_alg_word((int)op->alg);
    switch (op->kind) {
    case dnnl_sum:
        if (of->dst.data == NULL || op->zero_point != 0) {
            return false;
        }
        opd_dnnl_add(to, of, opd_dnnl_read(&of->dst, at), (long double)op->scale);
        return true;
    case dnnl_eltwise:
        if (!opd_dnnl_function(&result, alg, to->value, (long double)op->alpha, (long double)op->beta, false)) {
            return false;
        }
        to->value = opd_dnnl_round(of, result.value * (long double)op->scale);
        to->gauge = (to->gauge + result.gauge) * fabsl((long double)op->scale);
        return true;
    default:
        snprintf(name, sizeof name, "post_op%d_src", number);
        if (!opd_dnnl_source_of(&source, of->call, name) ||
            !opd_dnnl_binary_value(&result, alg, to->value, opd_dnnl_read(&source, at))) {
            return false;
        }
        to->value = opd_dnnl_round(of, result.value);
        to->gauge = to->gauge * fmaxl(1, fabsl(opd_dnnl_read(&source, at))) + result.gauge;
        return true;
    }
}

static bool finish(opd_dnnl_sum *to, const opd_dnnl_definition *of, const opd_dnnl_post_op *ops, int count,
                   long double scale, const int64_t *at)
{
    bool is_whole = true;
    to->value = opd_dnnl_round(of, to->value * scale);
    to->gauge *= fabsl(scale);
    for (int i = 0; i < count && is_whole; i++) {
        is_whole = apply_post_op(to, of, &ops[i], i, at);
    }
    return is_whole;
}

/* ---------------------------------------------------------------------------------------------------- the walk */

static void find_sources(opd_dnnl_definition *of)
{
    const opd_call *call = of->call;
    const struct {
        opd_dnnl_source *source;
        const char *name;
    } wanted[] = {
        { &of->src, "src" },
        { &of->src, "src0" },
        { &of->src1, "src1" },
        { &of->weights, "weights" },
        { &of->bias, "bias" },
        { &of->dst, "dst" },
        { &of->diff_dst, "diff_dst" },
        { &of->mean, "mean" },
        { &of->variance, "variance" },
        { &of->scale_shift, "scale_shift" },
        { &of->scale, "scale" },
        { &of->shift, "shift" },
        { &of->workspace, "workspace" },
        { &of->src, "a" }, /* of a product that is no primitive */
        { &of->weights, "b" },
        { &of->bias, "co" },
        { &of->dst, "c" },
    };
    for (size_t i = 0; i < OPD_COUNT(wanted); i++) {
        opd_dnnl_source source;
        if (opd_dnnl_source_of(&source, call, wanted[i].name)) {
            *wanted[i].source = source;
        }
    }
    const int64_t first[DNNL_MAX_NDIMS] = { 0 };
    const opd_dnnl_quant src = opd_dnnl_quant_of(call, DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC);
    const opd_dnnl_quant weights = opd_dnnl_quant_of(call, DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_WEIGHTS);
    of->src.zero = opd_dnnl_quant_at(call, &src, first, first);
    of->weights.zero = opd_dnnl_quant_at(call, &weights, first, first);
    of->spatial = opd_dnnl_spatial_count(call);
    of->groups = opd_dnnl_symbol(call, "g", 1);
    for (int j = 0; j < of->spatial; j++) {
        const char name[3] = { 'k', "dhw"[3 - of->spatial + j], '\0' };
        of->strides[j] = opd_dnnl_spatial(call, "strides", j, 1);
        of->dilates[j] = opd_dnnl_spatial(call, "dilates", j, 0) + 1;
        of->pads[j] = opd_dnnl_spatial(call, "pads_begin", j, 0);
        of->kernel[j] = opd_dnnl_symbol(call, name, 1);
    }
}

static opd_status walk(long double *value, long double *gauge, const opd_dnnl_definition *of, int operand,
                       opd_dnnl_element *element)
{
    const opd_tensor *view = &of->call->operands[operand].view;
    opd_dnnl_post_op ops[OPD_DNNL_POST_OPS];
    const opd_dnnl_quant scales = opd_dnnl_quant_of(of->call, DNNL_ARG_ATTR_OUTPUT_SCALES);
    opd_dnnl_places places;
    int64_t index[OPD_MAX_RANK] = { 0 };
    int64_t at[DNNL_MAX_NDIMS];
    bool is_result = strcmp(of->wanted, "dst") == 0;
    int count = is_result ? opd_dnnl_post_ops(ops, of->call) : 0;
    opd_status status = opd_dnnl_places_of(&places, of->call, operand);
    for (int64_t flat = 0; status == OPD_OK && flat < opd_tensor_count(view); flat++) {
        opd_dnnl_sum sum = { 0, 0 };
        opd_tensor_unflatten(view, flat, index);
        bool is_element = opd_dnnl_place(at, &places, index);
        long double scale = is_element && is_result ? opd_dnnl_quant_at(of->call, &scales, of->wanted_dims, at) : 1;
        if (is_element && (!element(&sum, of, at) || !finish(&sum, of, ops, count, scale, at))) {
            return opd_fail(OPD_E_DECLINED, "there is no reference for %s of %s", of->wanted, of->call->name);
        }
        value[flat] = sum.value;
        if (gauge != NULL) {
            gauge[flat] = sum.gauge;
        }
    }
    return status;
}

/*
 * Quantization that the definitions do not have: zero points that differ by channel, scales of inputs, and results that are rounded to integers after they were
 * scaled, where half a unit is a matter of the last bit.
 */
static bool is_beyond(const opd_call *call)
{
    opd_dnnl_quant quants[OPD_DNNL_QUANTS];
    opd_dnnl_post_op ops[OPD_DNNL_POST_OPS];
    int count = opd_dnnl_quants(quants, call);
    bool is_scaled = opd_dnnl_post_ops(ops, call) > 0;
    bool is_odd = false;
    bool is_cut = false;
    for (int i = 0; i < count; i++) {
        bool is_output = quants[i].arg == DNNL_ARG_ATTR_OUTPUT_SCALES;
        bool is_zero = (quants[i].arg & DNNL_ARG_ATTR_ZERO_POINTS) != 0;
        is_scaled |= is_output;
        is_odd |=
            is_zero ? quants[i].mask != 0 || quants[i].arg == (DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST) : !is_output;
    }
    for (int i = 0; i < call->operand_count; i++) {
        bool is_narrow =
            strcmp(call->operands[i].name, "dst") == 0 && !opd_dtype_is_float(call->operands[i].view.dtype);
        is_cut |= is_narrow && opd_dnnl_kind(call) != dnnl_concat;
        is_scaled |= strcmp(call->operands[i].name, "bias") == 0 && opd_dtype_is_float(call->operands[i].view.dtype);
    }
    return is_odd || (is_cut && is_scaled);
}

opd_status opd_dnnl_define(long double *value, long double *gauge, const opd_call *call, int operand, bool is_narrow)
{
    dnnl_primitive_kind_t kind = opd_dnnl_kind(call);
    opd_dnnl_definition of = { .call = call, .wanted = call->operands[operand].name, .is_narrow = is_narrow };
    for (size_t i = 0; i < OPD_COUNT(definitions); i++) {
        if (definitions[i].kind != kind) {
            continue;
        }
        if (is_beyond(call)) {
            break;
        }
        find_sources(&of);
        opd_status status = opd_dnnl_dims(of.wanted_dims, &of.wanted_rank, call, operand);
        if (status == OPD_OK && definitions[i].prepare != NULL) {
            status = definitions[i].prepare(&of);
        }
        if (status == OPD_OK) {
            status = walk(value, gauge, &of, operand, definitions[i].element);
        }
        opd_free(of.statistics);
        opd_free(of.states);
        return status;
    }
    return opd_fail(OPD_E_DECLINED, "there is no reference for %s", call->name);
}
