/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scales and zero points of quantization. One number that the primitive was made with is an attribute ("output_scale", "src_zero"); several, or such as come with
 * each execution, are an operand ("output_scales", "src_zeros") whose attribute "<operand>.mask" says which dimensions have a number each, and "<operand>.fixed" that
 * the primitive was made with them.
 * source    oneDNN 2.6 developer guide, "Primitive Attributes: Quantization".
 */
#include <string.h>

#include <opsdebug/memory.h>

#include "dnnl_form.h"

static const struct {
    const char *name;   /* of one number; an "s" makes the operand's */
    const char *target; /* the operand whose dimensions a mask is about */
    int arg;            /* of execute */
    bool is_zero;
} quantities[] = {
    { "output_scale", "dst", DNNL_ARG_ATTR_OUTPUT_SCALES, false },
    { "src0_scale", "src0", DNNL_ARG_ATTR_INPUT_SCALES | DNNL_ARG_SRC_0, false },
    { "src1_scale", "src1", DNNL_ARG_ATTR_INPUT_SCALES | DNNL_ARG_SRC_1, false },
    { "src_zero", "src", DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, true },
    { "weights_zero", "weights", DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_WEIGHTS, true },
    { "dst_zero", "dst", DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST, true },
};

_Static_assert(OPD_COUNT(quantities) == OPD_DNNL_QUANTS, "room for each");

static int row_of(int arg)
{
    for (int i = 0; i < (int)OPD_COUNT(quantities); i++) {
        if (quantities[i].arg == arg) {
            return i;
        }
    }
    return -1;
}

const char *opd_dnnl_quant_name(int arg)
{
    int row = row_of(arg);
    return row >= 0 ? quantities[row].name : NULL;
}

static int find(const opd_call *call, int operand)
{
    const char *name = call->operands[operand].name;
    size_t length = strlen(name);
    for (int i = 0; i < OPD_DNNL_QUANTS && length > 0 && name[length - 1] == 's'; i++) {
        size_t size = strlen(quantities[i].name);
        if (strncmp(name, quantities[i].name, size) == 0 && strcmp(name + size, "s") == 0) {
            return i;
        }
    }
    return -1;
}

int opd_dnnl_quant_arg(const opd_call *call, int operand)
{
    int which = find(call, operand);
    return which >= 0 ? quantities[which].arg : 0;
}

static int64_t number_of(const opd_call *call, const char *name, const char *suffix, int64_t otherwise)
{
    char text[OPD_NAME + 8];
    opd_dnnl_join(text, sizeof text, name, suffix);
    return opd_call_int(call, text, otherwise);
}

int64_t opd_dnnl_quant_count(int mask, const int64_t *dims, int rank)
{
    int64_t count = 1;
    bool fits = mask >= 0 && mask < (1 << DNNL_MAX_NDIMS);
    for (int d = 0; d < DNNL_MAX_NDIMS && fits; d++) {
        if ((mask >> d & 1) != 0) {
            fits = d < rank && opd_mul_i64(&count, count, dims[d]);
        }
    }
    return fits ? count : -1;
}

const char *opd_dnnl_quant_target(int arg)
{
    int row = row_of(arg);
    return row >= 0 ? quantities[row].target : "";
}

int64_t opd_dnnl_quant_wanted(const opd_call *call, int operand)
{
    const char *name = call->operands[operand].name;
    int which = find(call, operand);
    int64_t dims[DNNL_MAX_NDIMS];
    int rank = 0;
    int64_t count = -1;
    for (int i = 0; which >= 0 && i < call->operand_count; i++) {
        if (strcmp(call->operands[i].name, quantities[which].target) == 0 &&
            opd_dnnl_dims(dims, &rank, call, i) == OPD_OK) {
            count = opd_dnnl_quant_count((int)number_of(call, name, ".mask", 0), dims, rank);
        }
    }
    return count;
}

opd_status opd_dnnl_quant_bind(opd_call *call, int operand)
{
    opd_operand *bound = &call->operands[operand];
    int64_t count = opd_dnnl_quant_wanted(call, operand);
    if (count < 0) {
        return opd_fail(OPD_E_INVALID, "%s: the mask of %s is about dimensions that there are not", call->name,
                        bound->name);
    }
    bound->role = OPD_ROLE_IN;
    return opd_tensor_contiguous(&bound->view, quantities[find(call, operand)].is_zero ? OPD_I32 : OPD_F32, 1, &count,
                                 NULL);
}

bool opd_dnnl_quant_is_fixed(const opd_call *call, int operand)
{
    return find(call, operand) >= 0 && number_of(call, call->operands[operand].name, ".fixed", 0) != 0;
}

int opd_dnnl_quants(opd_dnnl_quant quants[OPD_DNNL_QUANTS], const opd_call *call)
{
    int count = 0;
    for (int i = 0; i < OPD_DNNL_QUANTS; i++) {
        const char *name = quantities[i].name;
        opd_dnnl_quant *quant = &quants[count];
        *quant = (opd_dnnl_quant){ .arg = quantities[i].arg, .operand = -1, .count = 1 };
        quant->scale = (float)opd_call_real(call, name, 1);
        quant->zero = (int32_t)opd_call_int(call, name, 0);
        for (int k = 0; k < call->operand_count; k++) {
            if (find(call, k) == i) {
                quant->operand = k;
                quant->mask = (int)number_of(call, call->operands[k].name, ".mask", 0);
                quant->is_late = !opd_dnnl_quant_is_fixed(call, k);
                quant->count = opd_tensor_count(&call->operands[k].view);
            }
        }
        count += quant->operand >= 0 || quant->scale != 1 || quant->zero != 0;
    }
    return count;
}

opd_dnnl_quant opd_dnnl_quant_of(const opd_call *call, int arg)
{
    opd_dnnl_quant quants[OPD_DNNL_QUANTS];
    int count = opd_dnnl_quants(quants, call);
    for (int i = 0; i < count; i++) {
        if (quants[i].arg == arg) {
            return quants[i];
        }
    }
    return (opd_dnnl_quant){ .arg = arg, .operand = -1, .count = 1, .scale = 1 };
}

long double opd_dnnl_quant_at(const opd_call *call, const opd_dnnl_quant *quant, const int64_t *dims, const int64_t *at)
{
    if (quant->operand < 0) {
        return (quant->arg & DNNL_ARG_ATTR_ZERO_POINTS) != 0 ? (long double)quant->zero : (long double)quant->scale;
    }
    const opd_tensor *view = &call->operands[quant->operand].view;
    int64_t index = 0;
    for (int d = 0; d < DNNL_MAX_NDIMS; d++) {
        index = (quant->mask >> d & 1) != 0 ? index * dims[d] + at[d] : index;
    }
    bool is_there = view->data != NULL && index < opd_tensor_count(view);
    int64_t offset = is_there ? opd_tensor_offset(view, &index) : 0;
    return is_there ? opd_element_load_wide(view->dtype, (const uint8_t *)view->data + offset) : 0;
}
