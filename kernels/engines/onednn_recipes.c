/* SPDX-License-Identifier: Apache-2.0 */
/* How oneDNN says each operator; what it says otherwise than ONNX is declined. */
#if defined(OPD_HAVE_DNNL)
#include "onednn.h"

#include <math.h>
#include <string.h>

#include <opsdebug/memory.h>

/* ---------------------------------------------------------------------------------------------------- arguments */

static bool is_given(const opd_call *call, int operand)
{
    return operand < call->operand_count && (call->operands[operand].flags & OPD_OPERAND_ABSENT) == 0;
}

/* Row-major f32 of some dimensions. */
static const char *set_form(opd_recipe *recipe, dnnl_memory_desc_t *out, int rank, const int64_t *shape)
{
    dnnl_dims_t dims = { 1 };
    dnnl_dims_t strides = { 1 };
    int64_t step = 1;
    if (rank > 6) { /* the library goes to 12; its kernels do not */
        return "more than six dimensions";
    }
    for (int d = (rank > 0 ? rank : 1) - 1; d >= 0; d--) {
        dims[d] = rank > 0 ? shape[d] : 1;
        strides[d] = step;
        step *= dims[d];
    }
    dnnl_status_t status = recipe->dnnl->memory_desc_init_by_strides(out, rank > 0 ? rank : 1, dims, dnnl_f32, strides);
    return status == dnnl_success ? NULL : "dimensions that oneDNN cannot have";
}

/* An argument of these dimensions with an operand's content. */
static const char *add_shaped(opd_recipe *recipe, int arg, int operand, int rank, const int64_t *shape)
{
    int at = recipe->count++;
    recipe->args[at].arg = arg;
    recipe->args[at].data = recipe->call->operands[operand].view.data;
    return set_form(recipe, &recipe->args[at].form, rank, shape);
}

static const char *add(opd_recipe *recipe, int arg, int operand)
{
    const opd_tensor *view = &recipe->call->operands[operand].view;
    return add_shaped(recipe, arg, operand, view->rank, view->shape);
}

/* With leading dimensions of 1, up to rank. */
static const char *add_led(opd_recipe *recipe, int arg, int operand, int rank)
{
    const opd_tensor *view = &recipe->call->operands[operand].view;
    int64_t shape[OPD_MAX_RANK];
    int missing = rank - view->rank;
    for (int d = 0; d < rank; d++) {
        shape[d] = d < missing ? 1 : view->shape[d - missing];
    }
    return add_shaped(recipe, arg, operand, rank, shape);
}

static const char *said(dnnl_status_t status)
{
    return status == dnnl_success ? NULL : "oneDNN does not take such a call";
}

static const dnnl_memory_desc_t *form(const opd_recipe *recipe, int index)
{
    return &recipe->args[index].form;
}

/* ------------------------------------------------------------------------------------------------------ windows */

typedef struct window {
    dnnl_dims_t kernel, strides, dilates, low, high;
} window;

/* rank: of the window. dilates count from 0, as oneDNN has them. */
static const char *window_of(window *out, const opd_call *call, int rank)
{
    int64_t pads[OPD_MAX_INTS] = { 0 };
    _Static_assert(DNNL_MAX_NDIMS >= OPD_MAX_INTS, "a list of the call fits");
    memset(out, 0, sizeof *out);
    for (int d = 0; d < rank; d++) {
        out->kernel[d] = out->strides[d] = out->dilates[d] = 1;
    }
    if (rank < 1 || rank > 3) {
        return "windows of one to three dimensions only";
    }
    if (strcmp(opd_call_text(call, "auto_pad", "NOTSET"), "NOTSET") != 0 || opd_call_int(call, "ceil_mode", 0) != 0) {
        return "explicit padding and floor mode only";
    }
    (void)opd_call_ints(call, "kernel_shape", out->kernel);
    (void)opd_call_ints(call, "strides", out->strides);
    (void)opd_call_ints(call, "dilations", out->dilates);
    (void)opd_call_ints(call, "pads", pads);
    for (int d = 0; d < rank; d++) {
        out->dilates[d]--;
        out->low[d] = pads[d];
        out->high[d] = pads[rank + d];
    }
    return NULL;
}

static const char *make_conv(opd_recipe *recipe)
{
    const opd_call *call = recipe->call;
    const opd_tensor *w = &call->operands[1].view;
    int64_t group = opd_call_int(call, "group", 1);
    int64_t grouped[OPD_MAX_RANK + 1] = { group, w->shape[0] / (group > 0 ? group : 1) };
    window at;
    const char *reason = window_of(&at, call, w->rank - 2);
    reason = reason == NULL ? add(recipe, DNNL_ARG_SRC, 0) : reason;
    memcpy(grouped + 2, w->shape + 1, (size_t)(w->rank > 1 ? w->rank - 1 : 0) * sizeof grouped[0]);
    if (reason == NULL) {
        reason = group == 1 ? add(recipe, DNNL_ARG_WEIGHTS, 1)
                            : add_shaped(recipe, DNNL_ARG_WEIGHTS, 1, w->rank + 1, grouped);
    }
    reason = reason == NULL ? add(recipe, DNNL_ARG_DST, 3) : reason;
    bool has_bias = is_given(call, 2);
    if (reason == NULL && has_bias) {
        reason = add(recipe, DNNL_ARG_BIAS, 2);
    }
    return reason != NULL ? reason
                          : said(recipe->dnnl->dilated_convolution_forward_desc_init(
                                &recipe->of.convolution, dnnl_forward_inference, dnnl_convolution_direct,
                                form(recipe, 0), form(recipe, 1), has_bias ? form(recipe, 3) : NULL, form(recipe, 2),
                                at.strides, at.dilates, at.low, at.high));
}

static const char *pool(opd_recipe *recipe, const window *at, dnnl_alg_kind_t kind)
{
    const char *reason = add(recipe, DNNL_ARG_SRC, 0);
    reason = reason == NULL ? add(recipe, DNNL_ARG_DST, 1) : reason;
    return reason != NULL
               ? reason
               : said(recipe->dnnl->pooling_v2_forward_desc_init(&recipe->of.pooling, dnnl_forward_inference, kind,
                                                                 form(recipe, 0), form(recipe, 1), at->strides,
                                                                 at->kernel, at->dilates, at->low, at->high));
}

static const char *make_pool(opd_recipe *recipe)
{
    window at;
    bool is_max = strcmp(recipe->call->name, "MaxPool") == 0;
    int rank = recipe->call->operands[0].view.rank - 2;
    const char *reason = window_of(&at, recipe->call, rank);
    if (reason == NULL && is_max && is_given(recipe->call, 2)) {
        return "positions of the largest are another thing there";
    }
    for (int d = 0; d < rank && reason == NULL; d++) {
        reason = !is_max && at.dilates[d] != 0 ? "dilated means are another thing there" : NULL;
    }
    bool counts_pads = opd_call_int(recipe->call, "count_include_pad", 0) != 0;
    return reason != NULL ? reason
                          : pool(recipe, &at,
                                 is_max        ? dnnl_pooling_max
                                 : counts_pads ? dnnl_pooling_avg_include_padding
                                               : dnnl_pooling_avg_exclude_padding);
}

static const char *make_global_pool(opd_recipe *recipe)
{
    const opd_tensor *x = &recipe->call->operands[0].view;
    window at;
    const char *reason = window_of(&at, recipe->call, x->rank - 2);
    for (int d = 0; d < x->rank - 2 && reason == NULL; d++) {
        at.kernel[d] = x->shape[2 + d];
        at.dilates[d] = 0;
    }
    return reason != NULL ? reason : pool(recipe, &at, dnnl_pooling_avg_exclude_padding);
}

/* -------------------------------------------------------------------------------------------- products and norms */

static const char *make_matmul(opd_recipe *recipe)
{
    const opd_tensor *a = &recipe->call->operands[0].view;
    const opd_tensor *b = &recipe->call->operands[1].view;
    const opd_tensor *y = &recipe->call->operands[2].view;
    const char *reason = a->rank < 2 || b->rank < 2 ? "vectors" : NULL;
    reason = reason == NULL ? add_led(recipe, DNNL_ARG_SRC, 0, y->rank) : reason;
    reason = reason == NULL ? add_led(recipe, DNNL_ARG_WEIGHTS, 1, y->rank) : reason;
    reason = reason == NULL ? add(recipe, DNNL_ARG_DST, 2) : reason;
    return reason != NULL ? reason
                          : said(recipe->dnnl->matmul_desc_init(&recipe->of.matmul, form(recipe, 0), form(recipe, 1),
                                                                NULL, form(recipe, 2)));
}

/* A transposed factor is one with its strides exchanged. */
static const char *add_factor(opd_recipe *recipe, int arg, int operand, bool is_transposed)
{
    const opd_tensor *view = &recipe->call->operands[operand].view;
    int at = recipe->count++;
    const dnnl_dims_t dims = { view->shape[is_transposed ? 1 : 0], view->shape[is_transposed ? 0 : 1] };
    const dnnl_dims_t strides = { is_transposed ? 1 : view->shape[1], is_transposed ? view->shape[1] : 1 };
    recipe->args[at].arg = arg;
    recipe->args[at].data = view->data;
    return said(recipe->dnnl->memory_desc_init_by_strides(&recipe->args[at].form, 2, dims, dnnl_f32, strides));
}

static const char *make_gemm(opd_recipe *recipe)
{
    const opd_call *call = recipe->call;
    bool has_bias = is_given(call, 2);
    if (opd_call_real(call, "alpha", 1) != 1 || (has_bias && opd_call_real(call, "beta", 1) != 1)) {
        return "alpha and beta of 1 only";
    }
    const char *reason = add_factor(recipe, DNNL_ARG_SRC, 0, opd_call_int(call, "transA", 0) != 0);
    reason = reason == NULL ? add_factor(recipe, DNNL_ARG_WEIGHTS, 1, opd_call_int(call, "transB", 0) != 0) : reason;
    reason = reason == NULL ? add(recipe, DNNL_ARG_DST, 3) : reason;
    if (reason == NULL && has_bias) {
        const opd_tensor *c = &call->operands[2].view;
        const int64_t shape[2] = { c->rank == 2 ? c->shape[0] : 1, c->rank > 0 ? c->shape[c->rank - 1] : 1 };
        reason = add_shaped(recipe, DNNL_ARG_BIAS, 2, 2, shape);
    }
    return reason != NULL ? reason
                          : said(recipe->dnnl->matmul_desc_init(&recipe->of.matmul, form(recipe, 0), form(recipe, 1),
                                                                has_bias ? form(recipe, 3) : NULL, form(recipe, 2)));
}

static const char *make_softmax(opd_recipe *recipe)
{
    int64_t rank = recipe->call->operands[0].view.rank;
    int64_t axis = opd_call_int(recipe->call, "axis", -1);
    bool is_log = strcmp(recipe->call->name, "LogSoftmax") == 0;
    const char *reason = add(recipe, DNNL_ARG_SRC, 0);
    reason = reason == NULL ? add(recipe, DNNL_ARG_DST, 1) : reason;
    axis = rank > 0 && axis < 0 ? axis + rank : axis;
    if (reason != NULL || rank == 0) {
        return reason != NULL ? reason : "no axis";
    }
    return said(is_log ? recipe->dnnl->logsoftmax_forward_desc_init(&recipe->of.logsoftmax, dnnl_forward_inference,
                                                                    form(recipe, 0), (int)axis)
                       : recipe->dnnl->softmax_forward_desc_init(&recipe->of.softmax, dnnl_forward_inference,
                                                                 form(recipe, 0), (int)axis));
}

static const char *make_layer_norm(opd_recipe *recipe)
{
    const opd_call *call = recipe->call;
    const opd_tensor *x = &call->operands[0].view;
    int64_t axis = opd_call_int(call, "axis", -1);
    bool is_last = axis == -1 || axis == x->rank - 1;
    dnnl_memory_desc_t statistics;
    if (!is_last || x->rank < 2 || is_given(call, 4) || is_given(call, 5) ||
        opd_tensor_count(&call->operands[1].view) != x->shape[x->rank - 1]) {
        return "the last axis, without statistics, only";
    }
    bool has_bias = is_given(call, 2);
    if (has_bias && opd_tensor_count(&call->operands[2].view) != x->shape[x->rank - 1]) {
        return "a bias of the last axis only";
    }
    const int64_t width = x->shape[x->rank - 1];
    const char *reason = add(recipe, DNNL_ARG_SRC, 0);
    reason = reason == NULL ? add(recipe, DNNL_ARG_DST, 3) : reason;
    reason = reason == NULL ? add_shaped(recipe, DNNL_ARG_SCALE, 1, 1, &width) : reason;
    if (reason == NULL && has_bias) {
        reason = add_shaped(recipe, DNNL_ARG_SHIFT, 2, 1, &width);
    }
    reason = reason == NULL ? set_form(recipe, &statistics, x->rank - 1, x->shape) : reason;
    return reason != NULL ? reason
                          : said(recipe->dnnl->layer_normalization_forward_desc_init(
                                &recipe->of.layer_norm, dnnl_forward_inference, form(recipe, 0), &statistics,
                                (float)opd_call_real(call, "epsilon", 1e-5),
                                has_bias ? dnnl_use_scale | dnnl_use_shift : (unsigned)dnnl_use_scale));
}

static const char *make_batch_norm(opd_recipe *recipe)
{
    static const int args[] = { DNNL_ARG_SRC,  DNNL_ARG_SCALE,    DNNL_ARG_SHIFT,
                                DNNL_ARG_MEAN, DNNL_ARG_VARIANCE, DNNL_ARG_DST };
    const opd_call *call = recipe->call;
    const char *reason =
        opd_call_int(call, "training_mode", 0) != 0 ? "training makes more than oneDNN gives here" : NULL;
    for (int i = 0; i < (int)OPD_COUNT(args) && reason == NULL; i++) {
        reason = call->operands[i].view.dtype == OPD_F32 ? add(recipe, args[i], i) : "f32 only";
    }
    return reason != NULL ? reason
                          : said(recipe->dnnl->batch_normalization_forward_desc_init(
                                &recipe->of.batch_norm, dnnl_forward_inference, form(recipe, 0),
                                (float)opd_call_real(call, "epsilon", 1e-5),
                                dnnl_use_global_stats | dnnl_use_scale | dnnl_use_shift));
}

/* -------------------------------------------------------------------------------------------- by element, reduced */

static const char *make_eltwise(opd_recipe *recipe)
{
    static const struct {
        const char *name, *form;
        dnnl_alg_kind_t kind;
        float alpha, beta;
    } kinds[] = {
        { "Relu", NULL, dnnl_eltwise_relu, 0, 0 },
        { "LeakyRelu", NULL, dnnl_eltwise_relu, 0, 0 },
        { "Tanh", NULL, dnnl_eltwise_tanh, 0, 0 },
        { "Sigmoid", NULL, dnnl_eltwise_logistic, 0, 0 },
        { "Gelu", "none", dnnl_eltwise_gelu_erf, 0, 0 },
        { "Gelu", "tanh", dnnl_eltwise_gelu_tanh, 0, 0 },
        { "Exp", NULL, dnnl_eltwise_exp, 0, 0 },
        { "Log", NULL, dnnl_eltwise_log, 0, 0 },
        { "Abs", NULL, dnnl_eltwise_abs, 0, 0 },
        { "Sqrt", NULL, dnnl_eltwise_sqrt, 0, 0 },
        { "HardSwish", NULL, dnnl_eltwise_hardswish, 1.0F / 6, 0.5F },
    };
    const opd_call *call = recipe->call;
    const char *reason = add(recipe, DNNL_ARG_SRC, 0);
    reason = reason == NULL ? add(recipe, DNNL_ARG_DST, 1) : reason;
    for (size_t i = 0; i < OPD_COUNT(kinds) && reason == NULL; i++) {
        bool is_form = kinds[i].form == NULL || strcmp(kinds[i].form, opd_call_text(call, "approximate", "none")) == 0;
        if (strcmp(kinds[i].name, call->name) == 0 && is_form) {
            bool is_leaky = strcmp(call->name, "LeakyRelu") == 0;
            float alpha = is_leaky ? (float)opd_call_real(call, "alpha", 0.01) : kinds[i].alpha;
            return said(recipe->dnnl->eltwise_forward_desc_init(&recipe->of.eltwise, dnnl_forward_inference,
                                                                kinds[i].kind, form(recipe, 0), alpha, kinds[i].beta));
        }
    }
    return reason != NULL ? reason : "no such function there";
}

static const char *make_binary(opd_recipe *recipe)
{
    static const struct {
        const char *name;
        dnnl_alg_kind_t kind;
    } kinds[] = { { "Add", dnnl_binary_add }, { "Sub", dnnl_binary_sub }, { "Mul", dnnl_binary_mul },
                  { "Div", dnnl_binary_div }, { "Min", dnnl_binary_min }, { "Max", dnnl_binary_max } };
    const opd_call *call = recipe->call;
    const opd_tensor *y = &call->operands[call->operand_count - 1].view;
    const char *reason = call->operand_count != 3 ? "two inputs only" : NULL;
    reason = reason == NULL ? add_led(recipe, DNNL_ARG_SRC_0, 0, y->rank) : reason;
    reason = reason == NULL ? add_led(recipe, DNNL_ARG_SRC_1, 1, y->rank) : reason;
    reason = reason == NULL ? add(recipe, DNNL_ARG_DST, 2) : reason;
    for (size_t i = 0; i < OPD_COUNT(kinds) && reason == NULL; i++) {
        if (strcmp(kinds[i].name, call->name) == 0) {
            return said(recipe->dnnl->binary_desc_init(&recipe->of.binary, kinds[i].kind, form(recipe, 0),
                                                       form(recipe, 1), form(recipe, 2)));
        }
    }
    return reason;
}

static const char *make_reduce(opd_recipe *recipe)
{
    static const struct {
        const char *name;
        dnnl_alg_kind_t kind;
        float power;
    } kinds[] = { { "ReduceSum", dnnl_reduction_sum, 0 },
                  { "ReduceMean", dnnl_reduction_mean, 0 },
                  { "ReduceMax", dnnl_reduction_max, 0 },
                  { "ReduceMin", dnnl_reduction_min, 0 },
                  { "ReduceL2", dnnl_reduction_norm_lp_sum, 2 } };
    const opd_call *call = recipe->call;
    const opd_tensor *x = &call->operands[0].view;
    const opd_tensor *y = &call->operands[call->operand_count - 1].view;
    if (opd_call_int(call, "keepdims", 1) == 0 || y->rank != x->rank || x->rank == 0) {
        return "with keepdims only";
    }
    const char *reason = add(recipe, DNNL_ARG_SRC, 0);
    reason = reason == NULL ? add(recipe, DNNL_ARG_DST, call->operand_count - 1) : reason;
    bool is_same = memcmp(x->shape, y->shape, (size_t)x->rank * sizeof x->shape[0]) == 0;
    reason = reason == NULL && is_same ? "nothing is reduced" : reason;
    for (size_t i = 0; i < OPD_COUNT(kinds) && reason == NULL; i++) {
        if (strcmp(kinds[i].name, call->name) == 0) {
            return said(recipe->dnnl->reduction_desc_init(&recipe->of.reduction, kinds[i].kind, form(recipe, 0),
                                                          form(recipe, 1), kinds[i].power, 0));
        }
    }
    return reason;
}

/* -------------------------------------------------------------------------------------------------------- table */

static const struct {
    const char *name;
    opd_recipe_function *make;
} recipes[] = {
#define OPD_RECIPE(name, make) { #name, make_##make },
#include "onednn.def"
#undef OPD_RECIPE
};

opd_recipe_function *opd_recipe_find(const char *name)
{
    for (size_t i = 0; i < OPD_COUNT(recipes); i++) {
        if (strcmp(recipes[i].name, name) == 0) {
            return recipes[i].make;
        }
    }
    return NULL;
}
#else
typedef int opd_no_onednn_recipes;
#endif
