/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of deliberately wrong variants: name, kind of fault, smallest form that shows it ("shapes | attributes | conditions"). Conditions are words that
 * `validate --form` takes too (cli/probe_form.c); selftest runs each form.
 */
#include <math.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "faulty.h"
#include "kernel_lists.h"

static const char *declines_layout(const opd_call *call, bool takes_strides)
{
    for (int i = 0; i < call->operand_count; i++) {
        const opd_tensor *view = &call->operands[i].view;
        int64_t step = 1;
        bool is_plain = true;
        for (int k = view->rank - 1; k >= 0; k--) {
            is_plain &= view->shape[k] == 1 || view->stride[k] == step;
            step *= view->shape[k];
        }
        if ((call->operands[i].flags & OPD_OPERAND_ABSENT) == 0 && !is_plain && !takes_strides) {
            return "contiguous operands only";
        }
    }
    return call->dtype == OPD_F32 ? NULL : "f32 only";
}

static const char *declines(const opd_call *call)
{
    return declines_layout(call, false);
}

static const char *declines_others(const opd_call *call)
{
    return declines_layout(call, true);
}

static const char *declines_but_i8(const opd_call *call)
{
    return call->operands[1].view.dtype == OPD_I8 ? declines(call) : "to i8 only";
}

static const char *declines_exact_gelu(const opd_call *call)
{
    return strcmp(opd_call_text(call, "approximate", "none"), "none") == 0 ? declines(call) : "approximate=none only";
}

static const char *declines_partial(const opd_call *call)
{
    return opd_faulty_count(call, 2) == 1 ? declines(call) : "reductions to one element only";
}

static const char *declines_last_index(const opd_call *call)
{
    return opd_call_int(call, "select_last_index", 0) == 0 && call->operands[0].view.rank > 0 ? declines(call)
                                                                                              : "the first index only";
}

static const char *declines_small_axis(const opd_call *call)
{
    int64_t axis = opd_call_int(call, "axis", -1);
    int64_t rank = call->operands[0].view.rank;
    return rank >= 2 && (axis == -1 || axis == rank - 1) ? declines(call) : "the last of several axes only";
}

static const char *declines_broadcast(const opd_call *call)
{
    int64_t row = opd_faulty_row(call, 0);
    bool has_bias = call->operands[2].role == OPD_ROLE_IN && (call->operands[2].flags & OPD_OPERAND_ABSENT) == 0;
    bool is_same = opd_faulty_count(call, 1) == row && (!has_bias || opd_faulty_count(call, 2) == row);
    return is_same ? declines_small_axis(call) : "scale and bias of the last axis only";
}

static const char *declines_vectors(const opd_call *call)
{
    const opd_tensor *a = &call->operands[0].view;
    const opd_tensor *b = &call->operands[1].view;
    bool is_plain = a->rank >= 2 && b->rank >= 2 && (a->rank == b->rank || b->rank == 2);
    for (int i = 0; is_plain && a->rank == b->rank && i < a->rank - 2; i++) {
        is_plain = a->shape[i] == b->shape[i];
    }
    return is_plain ? declines(call) : "matrices without broadcasting only";
}

static const char *declines_masks(const opd_call *call)
{
    const opd_tensor *q = &call->operands[0].view;
    const opd_tensor *v = &call->operands[2].view;
    bool is_plain = (call->operands[3].flags & OPD_OPERAND_ABSENT) != 0 && v->shape[3] <= 512 &&
                    q->shape[1] == v->shape[1] && v->shape[2] > 0;
    return is_plain ? declines(call) : "as many heads, at least one key, no mask";
}

static const char *declines_not_causal(const opd_call *call)
{
    return opd_call_int(call, "is_causal", 0) != 0 ? declines_masks(call) : "causal attention only";
}

static const char *declines_dilation(const opd_call *call)
{
    int64_t dilations[OPD_MAX_INTS] = { 1, 1 };
    (void)opd_call_ints(call, "dilations", dilations);
    bool is_plain = call->operands[0].view.rank == 4 && dilations[0] == 1 && dilations[1] == 1 &&
                    opd_call_int(call, "count_include_pad", 0) == 0 && opd_call_int(call, "ceil_mode", 0) == 0 &&
                    strcmp(opd_call_text(call, "auto_pad", "NOTSET"), "NOTSET") == 0;
    return is_plain ? declines(call) : "two plain dimensions only";
}

static const char *declines_axes(const opd_call *call)
{
    bool is_plain = (call->operands[3].flags & OPD_OPERAND_ABSENT) != 0 &&
                    strcmp(opd_call_text(call, "mode", "constant"), "constant") == 0;
    return is_plain ? declines(call) : "constant padding of all axes only";
}

static const char *declines_narrow_indices(const opd_call *call)
{
    return call->operands[1].view.dtype == OPD_I64 ? declines(call) : "64-bit indices only";
}

static const char *declines_other_modes(const opd_call *call)
{
    return strcmp(opd_call_text(call, "mode", "nearest"), "nearest") == 0 ? declines(call) : "mode=nearest only";
}

static const char *declines_plain_lstm(const opd_call *call)
{
    bool is_plain =
        strcmp(opd_call_text(call, "direction", "forward"), "forward") == 0 && opd_call_int(call, "layout", 0) == 0 &&
        opd_call_int(call, "input_forget", 0) == 0 && !isfinite(opd_call_real(call, "clip", (double)INFINITY)) &&
        (call->operands[4].flags & OPD_OPERAND_ABSENT) != 0 && (call->operands[7].flags & OPD_OPERAND_ABSENT) != 0;
    return is_plain ? declines(call) : "one direction, whole sequences, no peepholes only";
}

static size_t one_row(const opd_call *call, int32_t threads)
{
    (void)threads;
    return (size_t)opd_faulty_row(call, 0) * sizeof(float);
}

#define FAULTY(function, takes, what, form)                                                        \
    {                                                                                              \
        .name = "faulty-" #function, .isa = "", .declines = (takes), .run = opd_faulty_##function, \
        .determinism = OPD_DETERMINISM_ISA, .fault = (what), .shows = (form)                       \
    }

/* With a row of scratch memory. */
#define SCRATCH(function, takes, what, form)                                                               \
    {                                                                                                      \
        .name = "faulty-" #function, .isa = "", .declines = (takes), .workspace = one_row,                 \
        .run = opd_faulty_##function, .determinism = OPD_DETERMINISM_ISA, .fault = (what), .shows = (form) \
    }

static const opd_variant add[] = {
    FAULTY(add_tail, declines_others, "unwritten", "[1];[1]"),
    FAULTY(add_tail_read, declines, "out-of-bounds-read", "[1];[1] | | guard"),
    FAULTY(add_broadcast, declines, "broadcast", "[2,2];[2,1]"),
    FAULTY(add_flip, declines_others, "single-element", "[18];[18]"),
    FAULTY(add_order, declines, "order", "[2,3];[2,3]"),
};
static const opd_variant mul[] = {
    FAULTY(mul_index, declines_others, "unwritten", "[65537];[65537]"),
    FAULTY(mul_scale, declines_others, "scale", "[1];[1]"),
    FAULTY(mul_alias, declines_others, "alias", "[1];[1] | | in-place"),
};
static const opd_variant neg[] = {
    FAULTY(neg_stride, declines_others, "stride", "[2] | | strided"),
    FAULTY(neg_gap, declines_others, "gap-write", "[2] | | strided"),
};
static const opd_variant relu[] = {
    FAULTY(relu_write, declines, "out-of-bounds-write", "[1]"),
    FAULTY(relu_nan, declines_others, "nan-rule", "[1] | | fill=constant:nan"),
    FAULTY(relu_front, declines, "out-of-bounds-read", "[1] | | guard"),
    FAULTY(relu_aligned, declines, "alignment", "[1] | | misaligned"),
};
static const opd_variant max[] = { FAULTY(max_nan, declines_others, "nan-rule", "[4];[4] | | fill=special") };
static const opd_variant abs_variants[] = {
    FAULTY(abs_subnormal, declines_others, "subnormal", "[1] | | fill=constant:1e-40"),
};
static const opd_variant cast[] = { FAULTY(cast_wrap, declines_but_i8, "integer-range",
                                           "[1] | to=3 | fill=constant:200") };
static const opd_variant gelu[] = {
    FAULTY(gelu_form, declines_exact_gelu, "definition", "[1] | | fill=constant:2"),
    FAULTY(gelu_allocates, declines_exact_gelu, "allocation", "[1] | | repeat"),
};
static const opd_variant exp_variants[] = {
    FAULTY(exp_range, declines_others, "range", "[1] | | fill=constant:85"),
    FAULTY(exp_hangs, declines_others, "hang", "[1] | | fill=constant:1e9"),
};
static const opd_variant log_variants[] = {
    FAULTY(log_aborts, declines_others, "crash", "[1] | | fill=constant:-1"),
};
static const opd_variant sqrt_variants[] = { FAULTY(sqrt_mutates, declines, "input-mutated", "[1]") };
static const opd_variant tanh_variants[] = {
    FAULTY(tanh_first, declines_others, "first-call", "[1] | | repeat"),
};
static const opd_variant sigmoid[] = {
    FAULTY(sigmoid_range, declines_others, "range", "[1] | | fill=constant:100"),
};
static const opd_variant softmax[] = {
    FAULTY(softmax_no_max, declines_small_axis, "range", "[1,1] | | fill=constant:100"),
    FAULTY(softmax_axis, declines_small_axis, "definition", "[1,2]"),
    SCRATCH(softmax_overrun, declines_small_axis, "workspace-overrun", "[1,1]"),
    SCRATCH(softmax_scratch, declines_small_axis, "reads-unwritten", "[1,1]"),
    FAULTY(softmax_alias, declines_small_axis, "alias", "[1,1] | | in-place"),
    FAULTY(softmax_last, declines_small_axis, "definition", "[1,2]"),
    FAULTY(softmax_state, declines_small_axis, "stale-state", "[1,1] | | poisoned"),
};
static const opd_variant layer_norm[] = {
    FAULTY(norm_epsilon, declines_broadcast, "definition", "[1,2];[2];[2] | | fill=normal:0:0.003"),
    FAULTY(norm_one_pass, declines_broadcast, "cancellation", "[1,8];[8];[8] | | fill=normal:1000:1"),
    FAULTY(norm_sample, declines_broadcast, "definition", "[1,2];[2];[2]"),
    FAULTY(norm_null, declines_broadcast, "crash", "[1,1];[1];[1]"),
    FAULTY(norm_race, declines_broadcast, "race", "[64,256];[256];[256] | | concurrent"),
};
static const opd_variant rms_norm[] = {
    FAULTY(rms_epsilon, declines_broadcast, "definition", "[1,1];[1] | | fill=normal:0:0.003"),
};
static const opd_variant reduce_sum[] = {
    FAULTY(sum_half, declines_partial, "accumulation", "[16]"),
    FAULTY(sum_threads, declines_partial, "thread-dependent", "[1000] | | threads"),
    FAULTY(sum_unstable, declines_partial, "unstable", "[100] | | repeat"),
};
static const opd_variant reduce_mean[] = { FAULTY(mean_empty, declines_partial, "empty", "[0]") };
static const opd_variant arg_max[] = {
    FAULTY(argmax_ties, declines_last_index, "ties", "[2] | | fill=constant:1"),
};
static const opd_variant window_l2[] = { FAULTY(window_channels, declines, "definition", "[1,1,2,2]") };
static const opd_variant mat_mul[] = {
    FAULTY(matmul_column, declines_vectors, "order", "[1,2];[2,2]"),
    FAULTY(matmul_seam, declines_vectors, "seam", "[1,65];[65,1]"),
    FAULTY(matmul_block, declines_vectors, "unwritten", "[5,1];[1,1]"),
    FAULTY(matmul_adds, declines_vectors, "reads-unwritten", "[1,1];[1,1]"),
    FAULTY(matmul_batch, declines_vectors, "batch", "[2,1,1];[2,1,1]"),
};
static const opd_variant gemm[] = { FAULTY(gemm_beta, declines, "must-not-read",
                                           "[1,1];[1,1];[1,1] | beta=0 | unread") };
static const opd_variant bias_gelu[] = { FAULTY(bias_lost, declines, "definition", "[1,1];[1,1];[1]") };
static const opd_variant average_pool[] = {
    FAULTY(pool_divisor, declines_dilation, "border", "[1,1,2,2] | kernel_shape=[2,2],pads=[1,1,1,1]"),
};
static const opd_variant attention[] = {
    FAULTY(attention_scale, declines_masks, "definition", "[1,1,1,2];[1,1,2,2];[1,1,2,1]"),
    FAULTY(attention_causal, declines_not_causal, "definition", "[1,1,1,1];[1,1,2,1];[1,1,2,1] | is_causal=1"),
};
static const opd_variant residual[] = { FAULTY(residual_first, declines_exact_gelu, "definition", "[1];[1]") };
static const opd_variant lstm[] = {
    { .name = "faulty-lstm_gates",
      .isa = "",
      .declines = declines_plain_lstm,
      .workspace = opd_faulty_lstm_bytes,
      .run = opd_faulty_lstm_gates,
      .determinism = OPD_DETERMINISM_ISA,
      .fault = "definition",
      .shows = "[1,1,1];[1,4,1];[1,4,1]" },
};
static const opd_variant transpose[] = {
    FAULTY(transpose_swapped, declines, "definition", "[1,2,3] | perm=[1,2,0]"),
};
static const opd_variant pad[] = { FAULTY(pad_front, declines_axes, "unwritten", "[1];i64[2]") };
static const opd_variant gather[] = {
    FAULTY(gather_negative, declines_narrow_indices, "negative-index", "[2];i64[1] | | negative"),
};
static const opd_variant resize[] = { FAULTY(resize_mode, declines_other_modes, "definition", "[1,1,3,3];-;[4];-") };

#define OF(domain_text, op, list)                                                                        \
    {                                                                                                    \
        .domain = (domain_text), .name = (op), .variants = (list), .variant_count = (int)OPD_COUNT(list) \
    }

const opd_kernel opd_kernels_faulty[] = {
    OF("ai.onnx", "Add", add),
    OF("ai.onnx", "Mul", mul),
    OF("ai.onnx", "Neg", neg),
    OF("ai.onnx", "Relu", relu),
    OF("ai.onnx", "Max", max),
    OF("ai.onnx", "Abs", abs_variants),
    OF("ai.onnx", "Cast", cast),
    OF("ai.onnx", "Gelu", gelu),
    OF("ai.onnx", "Exp", exp_variants),
    OF("ai.onnx", "Log", log_variants),
    OF("ai.onnx", "Sqrt", sqrt_variants),
    OF("ai.onnx", "Tanh", tanh_variants),
    OF("ai.onnx", "Sigmoid", sigmoid),
    OF("ai.onnx", "Softmax", softmax),
    OF("ai.onnx", "LayerNormalization", layer_norm),
    OF("ai.onnx", "RMSNormalization", rms_norm),
    OF("ai.onnx", "ReduceSum", reduce_sum),
    OF("ai.onnx", "ReduceMean", reduce_mean),
    OF("ai.onnx", "ArgMax", arg_max),
    OF("opsdebug", "WindowL2Normalization", window_l2),
    OF("ai.onnx", "MatMul", mat_mul),
    OF("ai.onnx", "Gemm", gemm),
    OF("opsdebug", "MatMulBiasGelu", bias_gelu),
    OF("ai.onnx", "AveragePool", average_pool),
    OF("opsdebug", "FusedAttention", attention),
    OF("opsdebug", "GeluAddResidual", residual),
    OF("ai.onnx", "LSTM", lstm),
    OF("ai.onnx", "Transpose", transpose),
    OF("ai.onnx", "Pad", pad),
    OF("ai.onnx", "Gather", gather),
    OF("ai.onnx", "Resize", resize),
};
const int opd_kernels_faulty_count = (int)OPD_COUNT(opd_kernels_faulty);
