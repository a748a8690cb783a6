/* SPDX-License-Identifier: Apache-2.0 */
/* A call as oneDNN's descriptors again: the inverse of dnnl_call.c, by the same rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "dnnl_define.h"
#include "dnnl_form.h"

static bool parse_post_op(opd_dnnl_post_op *out, const char *text)
{
    char word[64];
    char *end = NULL;
    size_t size = strcspn(text, ":");
    snprintf(word, sizeof word, "%.*s", (int)size, text);
    *out = (opd_dnnl_post_op){ .kind = dnnl_eltwise, .scale = 1 };
    if (strncmp(word, "binary_", 7) == 0) {
        out->kind = dnnl_binary;
        out->alg = (dnnl_alg_kind_t)opd_dnnl_alg_value(word + 7);
        return (int)out->alg > 0;
    }
    float numbers[3] = { 1, 0, 0 };
    text += size;
    for (int i = 0; i < 3 && *text == ':' && (i < 2 || strcmp(word, "sum") != 0); i++) {
        numbers[i] = strtof(text + 1, &end);
        text = end;
    }
    out->scale = numbers[0];
    if (strcmp(word, "sum") == 0) {
        out->kind = dnnl_sum;
        out->zero_point = (int32_t)numbers[1];
        out->dtype = *text == ':' ? opd_dnnl_dtype_to(opd_dtype_parse(text + 1)) : dnnl_data_type_undef;
        return true;
    }
    out->alg = (dnnl_alg_kind_t)opd_dnnl_alg_value(word);
    out->alpha = numbers[1];
    out->beta = numbers[2];
    return (int)out->alg > 0;
}

int opd_dnnl_post_ops(opd_dnnl_post_op *post_ops, const opd_call *call)
{
    int count = 0;
    for (; count < OPD_DNNL_POST_OPS; count++) {
        char name[OPD_NAME];
        snprintf(name, sizeof name, "post_op%d", count);
        const char *text = opd_call_text(call, name, "");
        if (text[0] == '\0' || !parse_post_op(&post_ops[count], text)) {
            break;
        }
    }
    return count;
}

int opd_dnnl_arg(const opd_call *call, int operand)
{
    const opd_dnnl_form *form = opd_dnnl_form_of(call);
    const char *name = call->operands[operand].name;
    int number = 0;
    if (strncmp(name, "post_op", 7) == 0) {
        int index = name[7] - '0';
        return index >= 0 && index < OPD_DNNL_POST_OPS ? DNNL_ARG_ATTR_MULTIPLE_POST_OP(index) | DNNL_ARG_SRC_1 : 0;
    }
    const opd_dnnl_row *row = form != NULL ? opd_dnnl_row_of(form, name, &number) : NULL;
    return row != NULL ? row->arg + number : opd_dnnl_quant_arg(call, operand);
}

static void fill_dims(dnnl_memory_desc_t *out, const int64_t *dims, int rank, opd_dtype dtype)
{
    memset(out, 0, sizeof *out);
    out->ndims = rank;
    out->data_type = opd_dnnl_dtype_to(dtype);
    for (int d = 0; d < rank; d++) {
        out->dims[d] = dims[d];
        out->padded_dims[d] = dims[d];
    }
}

opd_status opd_dnnl_memory_desc(dnnl_memory_desc_t *out, const opd_call *call, int operand)
{
    const opd_tensor *view = &call->operands[operand].view;
    opd_dnnl_layout layout;
    int64_t dims[DNNL_MAX_NDIMS];
    int64_t padded[DNNL_MAX_NDIMS];
    int64_t strides[DNNL_MAX_NDIMS];
    int rank = view->rank;
    const opd_dnnl_row *row = NULL;
    int number = 0;
    if (!opd_dnnl_layout_get(&layout, call, operand)) {
        return opd_fail(OPD_E_UNSUPPORTED, "%s: only the library knows the layout of %s", call->name,
                        call->operands[operand].name);
    }
    const opd_dnnl_form *form = opd_dnnl_form_of(call);
    row = form != NULL ? opd_dnnl_row_of(form, call->operands[operand].name, &number) : NULL;
    opd_status status = OPD_OK;
    bool is_shown = opd_dnnl_quant_arg(call, operand) != 0 || (row != NULL && strcmp(row->dims, "=") == 0);
    if (is_shown) { /* of dimensions that no symbol knows: its view has them */
        if (!opd_dnnl_layout_dims(dims, &layout, view)) {
            return opd_fail(OPD_E_UNSUPPORTED, "%s: the layout of %s has too many dimensions", call->name,
                            call->operands[operand].name);
        }
        rank = layout.rank;
    } else {
        status = opd_dnnl_dims(dims, &rank, call, operand);
    }
    if (status != OPD_OK) {
        return status;
    }
    bool is_short = opd_dnnl_quant_arg(call, operand) != 0 && dims[0] != opd_dnnl_quant_wanted(call, operand);
    if (is_short || !opd_dnnl_layout_sizes(padded, strides, &layout, dims) ||
        !opd_dnnl_layout_covers(view, &layout, dims)) {
        return opd_fail(OPD_E_INVALID, "%s: what is stored of %s has another layout than %s.md says", call->name,
                        call->operands[operand].name, call->operands[operand].name);
    }
    fill_dims(out, dims, rank, view->dtype);
    out->format_kind = dnnl_blocked;
    out->format_desc.blocking.inner_nblks = layout.block_count;
    out->extra = layout.extra;
    for (int d = 0; d < rank; d++) {
        out->padded_dims[d] = padded[d];
        out->format_desc.blocking.strides[d] = strides[d];
    }
    for (int i = 0; i < layout.block_count; i++) {
        out->format_desc.blocking.inner_blks[i] = layout.blocks[i];
        out->format_desc.blocking.inner_idxs[i] = layout.block_dims[i];
    }
    return OPD_OK;
}

/* As opd_dnnl_memory_desc(), with the layout left to the library. */
static opd_status memory_any(dnnl_memory_desc_t *out, const opd_call *call, int operand)
{
    dnnl_memory_desc_t desc;
    opd_status status = opd_dnnl_memory_desc(&desc, call, operand);
    if (status == OPD_OK) {
        fill_dims(out, desc.dims, desc.ndims, call->operands[operand].view.dtype);
        out->format_kind = dnnl_format_kind_any;
    }
    return status;
}

dnnl_primitive_kind_t opd_dnnl_kind(const opd_call *call)
{
    const opd_dnnl_form *form = opd_dnnl_form_of(call);
    return form != NULL ? form->kind : dnnl_undefined_primitive;
}

static opd_status write_field(uint8_t *to, const opd_call *call, const opd_dnnl_field *field)
{
    dnnl_dims_t dims = { 0 };
    int word = 0;
    float real = 0;
    switch (field->kind) {
    case OPD_DNNL_PROP:
        word = opd_dnnl_prop_value(opd_call_text(call, field->name, ""));
        break;
    case OPD_DNNL_ALG:
        word = opd_call_text(call, field->name, "")[0] != '\0'
                   ? opd_dnnl_alg_value(opd_call_text(call, field->name, ""))
                   : 0;
        break;
    case OPD_DNNL_LETTER:
        word = (unsigned char)opd_call_text(call, field->name, "")[0];
        break;
    case OPD_DNNL_WAY:
        word = opd_dnnl_way_value(opd_call_text(call, field->name, ""));
        break;
    case OPD_DNNL_DIM:
        dims[0] = opd_call_int(call, field->name, 0);
        memcpy(to + field->offset, dims, sizeof dims[0]);
        return OPD_OK;
    case OPD_DNNL_DTYPE:
        word = (int)opd_dnnl_dtype_to(opd_dtype_parse(opd_call_text(call, field->name, "")));
        break;
    case OPD_DNNL_INT:
        word = (int)opd_call_int(call, field->name, 0);
        memcpy(to + field->offset, &word, sizeof word);
        return OPD_OK;
    case OPD_DNNL_REAL:
        real = (float)opd_call_real(call, field->name, 0);
        memcpy(to + field->offset, &real, sizeof real);
        return OPD_OK;
    case OPD_DNNL_KERNEL:
        for (int i = 0, j = 0; i < call->symbol_count; i++) {
            const char *name = call->symbols[i].name;
            if (name[0] == 'k' && strchr("dhw", name[1]) != NULL && name[2] == '\0' && j < 3) {
                dims[j++] = call->symbols[i].i;
            }
        }
        memcpy(to + field->offset, dims, sizeof dims);
        return OPD_OK;
    default:
        (void)opd_call_ints(call, field->name, dims);
        memcpy(to + field->offset, dims, sizeof dims);
        return OPD_OK;
    }
    if (word < 0) {
        return opd_fail(OPD_E_UNSUPPORTED, "%s: %s = %s is not known here", call->name, field->name,
                        opd_call_text(call, field->name, ""));
    }
    memcpy(to + field->offset, &word, sizeof word);
    return OPD_OK;
}

/* Statistics of a normalization are described even where they are no arguments. */
static void describe_statistics(opd_dnnl_descriptor *out)
{
    dnnl_memory_desc_t *to = NULL;
    const dnnl_memory_desc_t *data = NULL;
    int64_t dims[DNNL_MAX_NDIMS];
    int rank = 1;
    if (out->kind == dnnl_batch_normalization) {
        to = &out->batch_normalization.stat_desc;
        data = &out->batch_normalization.data_desc;
        dims[0] = data->dims[1];
    } else if (out->kind == dnnl_layer_normalization) {
        to = &out->layer_normalization.stat_desc;
        data = &out->layer_normalization.data_desc;
        rank = data->ndims - 1;
        memcpy(dims, data->dims, sizeof dims);
    }
    if (to == NULL || to->ndims != 0) {
        return;
    }
    fill_dims(to, dims, rank, OPD_F32);
    to->format_kind = dnnl_blocked;
    int64_t stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        to->format_desc.blocking.strides[d] = stride;
        stride *= dims[d];
    }
}

/* The other half of what a normalization's one descriptor says of itself and of its gradient. */
static void describe_gradients(opd_dnnl_descriptor *out, const opd_call *call)
{
    bool is_backward = strncmp(opd_call_text(call, "prop", ""), "backward", 8) == 0;
    dnnl_memory_desc_t *gradient = NULL;
    const dnnl_memory_desc_t *weights = NULL;
    if (out->kind == dnnl_batch_normalization) {
        gradient = &out->batch_normalization.diff_data_scaleshift_desc;
        weights = &out->batch_normalization.data_scaleshift_desc;
    } else if (out->kind == dnnl_layer_normalization) {
        gradient = &out->layer_normalization.diff_data_scaleshift_desc;
        weights = &out->layer_normalization.data_scaleshift_desc;
    }
    if (is_backward && gradient != NULL && gradient->ndims == 0) {
        *gradient = *weights;
    }
}

static opd_status describe(opd_dnnl_descriptor *out, const opd_call *call, const opd_dnnl_form *form)
{
    uint8_t *to = (uint8_t *)out;
    memset(out, 0, sizeof *out);
    if (form == NULL || form->size == 0) {
        return opd_fail(OPD_E_UNSUPPORTED, "%s has no operation descriptor", call->name);
    }
    out->kind = form->kind;
    for (int i = 0; i < OPD_DNNL_FIELDS && form->fields[i].name != NULL; i++) {
        opd_status status = write_field(to, call, &form->fields[i]);
        if (status != OPD_OK) {
            return status;
        }
    }
    return OPD_OK;
}

/* Do primitives of this form take layouts of the library's choice? */
static bool takes_any(const opd_dnnl_form *form)
{
    return form->kind == dnnl_convolution || form->kind == dnnl_deconvolution || form->kind == dnnl_inner_product ||
           form->kind == dnnl_matmul;
}

opd_status opd_dnnl_describe(opd_dnnl_descriptor *out, const opd_call *call, bool is_any)
{
    const opd_dnnl_form *form = opd_dnnl_form_of(call);
    opd_status status = describe(out, call, form);
    for (int i = 0; status == OPD_OK && i < call->operand_count; i++) {
        int number = 0;
        dnnl_memory_desc_t desc;
        const opd_dnnl_row *row = opd_dnnl_row_of(form, call->operands[i].name, &number);
        if (row == NULL || row->offset == OPD_DNNL_NOWHERE) {
            continue;
        }
        status = is_any && takes_any(form) ? memory_any(&desc, call, i) : opd_dnnl_memory_desc(&desc, call, i);
        if (status == OPD_OK) {
            memcpy((uint8_t *)out + row->offset, &desc, sizeof desc);
        }
    }
    if (status == OPD_OK) {
        describe_statistics(out);
        describe_gradients(out, call);
    }
    return status;
}

/* Forward recurrent cells want their weights another way round than backward ones. */
static bool has_other_layout(const opd_dnnl_form *form, const opd_dnnl_row *row)
{
    return form->kind == dnnl_rnn && strncmp(row->name, "weights", 7) == 0;
}

/* The operand of the backward call that has the layout of a forward one: itself, else its gradient. */
static int layout_source(const opd_call *call, const char *name)
{
    char gradient[OPD_NAME];
    int found = -1;
    snprintf(gradient, sizeof gradient, "diff_%.24s", name);
    for (int i = 0; i < call->operand_count; i++) {
        if (strcmp(call->operands[i].name, name) == 0) {
            return i;
        }
        found = strcmp(call->operands[i].name, gradient) == 0 ? i : found;
    }
    return found;
}

opd_status opd_dnnl_describe_hint(opd_dnnl_descriptor *out, const opd_call *call, bool is_any)
{
    const opd_dnnl_form *form = opd_dnnl_form_of(call);
    const opd_dnnl_form *hint = form != NULL ? opd_dnnl_form_hint(form) : NULL;
    if (hint == NULL) {
        return opd_fail(OPD_E_NOTFOUND, "%s wants no hint", call->name);
    }
    opd_status status = describe(out, call, hint);
    for (int i = 0; i < OPD_DNNL_ROWS && hint->rows[i].name != NULL && status == OPD_OK; i++) {
        const opd_dnnl_row *row = &hint->rows[i];
        int source = layout_source(call, row->name);
        dnnl_memory_desc_t desc;
        if (source < 0 || row->offset == OPD_DNNL_NOWHERE) {
            continue;
        }
        status = (is_any && takes_any(hint)) || has_other_layout(hint, row) ? memory_any(&desc, call, source)
                                                                            : opd_dnnl_memory_desc(&desc, call, source);
        if (status == OPD_OK) {
            memcpy((uint8_t *)out + row->offset, &desc, sizeof desc);
        }
    }
    if (status == OPD_OK) {
        dnnl_prop_kind_t prop = dnnl_forward_training;
        memcpy((uint8_t *)out + offsetof(dnnl_convolution_desc_t, prop_kind), &prop, sizeof prop);
        describe_statistics(out);
    }
    return status;
}
