/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms of older operator sets, translated to those of the contracts: one table, in the order in which its lines apply. A line holds for models below the
 * operator set that changed the form. Source: ONNX's changelog of operators (docs/Changelog.md there).
 */
#include <stdio.h>
#include <string.h>

#include "onnx_form.h"

#define ALWAYS INT64_MAX /* no operator set ends it */

typedef struct rule rule;
typedef opd_status change(onnx_form *form, const rule *by);
struct rule {
    const char *op; /* NULL = any */
    int64_t before; /* the operator set from which on the form is the contract's */
    change *apply;
    const char *name; /* of an attribute */
    int position;     /* of an input; value of an attribute */
    const char *text; /* new name, or value */
};

/* ------------------------------------------------------------------------------------------------- attributes */

static opd_onnx_attribute *find(onnx_form *form, const char *name)
{
    for (int i = 0; i < form->attribute_count; i++) {
        if (opd_onnx_text_is(form->attributes[i].name, name)) {
            return &form->attributes[i];
        }
    }
    return NULL;
}

static void remove_attribute(onnx_form *form, const char *name)
{
    opd_onnx_attribute *found = find(form, name);
    if (found != NULL) {
        *found = form->attributes[--form->attribute_count];
    }
}

static int64_t number_of(onnx_form *form, const char *name, int64_t otherwise)
{
    const opd_onnx_attribute *found = find(form, name);
    return found != NULL && found->kind == OPD_ONNX_INT ? found->i : otherwise;
}

/* The attribute of that name, made when it is not there. */
static opd_status own(opd_onnx_attribute **out, onnx_form *form, const char *name)
{
    *out = find(form, name);
    if (*out == NULL && form->attribute_count < OPD_ONNX_ATTRS) {
        *out = &form->attributes[form->attribute_count++];
        **out = (opd_onnx_attribute){ .name = { name, strlen(name) } };
    }
    return *out != NULL ? OPD_OK : opd_fail(OPD_E_LIMIT, "more than %d attributes", OPD_ONNX_ATTRS);
}

static opd_status set_number(onnx_form *form, const char *name, int64_t value)
{
    opd_onnx_attribute *to = NULL;
    opd_status status = own(&to, form, name);
    if (status == OPD_OK) {
        to->kind = OPD_ONNX_INT;
        to->i = value;
    }
    return status;
}

static opd_status drop(onnx_form *form, const rule *by)
{
    remove_attribute(form, by->name);
    return OPD_OK;
}

static opd_status default_number(onnx_form *form, const rule *by)
{
    return find(form, by->name) != NULL ? OPD_OK : set_number(form, by->name, by->position);
}

static opd_status default_text(onnx_form *form, const rule *by)
{
    opd_onnx_attribute *to = NULL;
    if (find(form, by->name) != NULL) {
        return OPD_OK;
    }
    opd_status status = own(&to, form, by->name);
    if (status == OPD_OK) {
        to->kind = OPD_ONNX_STRING;
        to->text = (opd_onnx_text){ by->text, strlen(by->text) };
    }
    return status;
}

static opd_status rename_attribute(onnx_form *form, const rule *by)
{
    opd_onnx_attribute *found = find(form, by->name);
    if (found != NULL) {
        found->name = (opd_onnx_text){ by->text, strlen(by->text) };
    }
    return OPD_OK;
}

static opd_status rename_operator(onnx_form *form, const rule *by)
{
    snprintf(form->op, sizeof form->op, "%s", by->text);
    return OPD_OK;
}

/* An attribute that must have the value it has by default: another one is a form that is gone. */
static opd_status refuse_other(onnx_form *form, const rule *by)
{
    if (number_of(form, by->name, by->position) != by->position) {
        return opd_fail(OPD_E_UNSUPPORTED, "%s of operator set %lld with %s other than %d has no form of today",
                        form->op, (long long)form->opset, by->name, by->position);
    }
    remove_attribute(form, by->name);
    return OPD_OK;
}

/* ------------------------------------------------------------------------------------- attributes made inputs */

/* A new input of count elements at a position that is free. */
static opd_status make_input(void **memory, onnx_form *form, int position, opd_dtype dtype, const int64_t *count)
{
    opd_tensor view;
    opd_status status = opd_tensor_contiguous(&view, dtype, count != NULL ? 1 : 0, count, NULL);
    if (status == OPD_OK && form->in[position].is_there) {
        status = opd_fail(OPD_E_INVALID, "%s has both the input and the attribute", form->op);
    }
    if (status == OPD_OK) {
        status = onnx_example_memory(memory, form->example, (size_t)opd_tensor_packed_bytes(&view));
    }
    if (status == OPD_OK) {
        view.data = *memory;
        form->in[position] = (onnx_operand){ .is_there = true, .view = view };
        form->in_count = form->in_count > position ? form->in_count : position + 1;
    }
    return status;
}

static opd_status wrong_kind(const onnx_form *form, const rule *by)
{
    return opd_fail(OPD_E_INVALID, "%s: attribute %s is of another kind", form->op, by->name);
}

/* Whole numbers, one or a list, as an i64 vector. */
static opd_status move_ints(onnx_form *form, const rule *by)
{
    const opd_onnx_attribute *from = find(form, by->name);
    void *memory = NULL;
    if (from == NULL) {
        return OPD_OK;
    }
    bool is_one = from->kind == OPD_ONNX_INT;
    if (!is_one && from->kind != OPD_ONNX_INTS) {
        return wrong_kind(form, by);
    }
    int64_t count = is_one ? 1 : from->count;
    opd_status status = make_input(&memory, form, by->position, OPD_I64, &count);
    if (status == OPD_OK) {
        memcpy(memory, is_one ? &from->i : from->ints, (size_t)count * sizeof(int64_t));
        remove_attribute(form, by->name);
    }
    return status;
}

static opd_status move_floats(onnx_form *form, const rule *by)
{
    const opd_onnx_attribute *from = find(form, by->name);
    void *memory = NULL;
    if (from == NULL) {
        return OPD_OK;
    }
    if (from->kind != OPD_ONNX_FLOATS) {
        return wrong_kind(form, by);
    }
    int64_t count = from->count;
    opd_status status = make_input(&memory, form, by->position, OPD_F32, &count);
    if (status == OPD_OK) {
        memcpy(memory, from->floats, (size_t)count * sizeof(float));
        remove_attribute(form, by->name);
    }
    return status;
}

/* A real number as a scalar of the first input's type. */
static opd_status move_scalar(onnx_form *form, const rule *by)
{
    const opd_onnx_attribute *from = find(form, by->name);
    void *memory = NULL;
    if (from == NULL) {
        return OPD_OK;
    }
    if (from->kind != OPD_ONNX_FLOAT || !form->in[0].is_there) {
        return wrong_kind(form, by);
    }
    opd_dtype dtype = form->in[0].view.dtype;
    opd_status status = make_input(&memory, form, by->position, dtype, NULL);
    if (status == OPD_OK) {
        opd_element_store(dtype, memory, (double)from->f, 0);
        remove_attribute(form, by->name);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------- operators */

static opd_status reshape(onnx_operand *operand, int32_t rank, const int64_t *shape)
{
    opd_tensor view;
    opd_status status = opd_tensor_contiguous(&view, operand->view.dtype, rank, shape, operand->view.data);
    if (status == OPD_OK) {
        operand->view = view;
    }
    return status;
}

/* Before operator set 7 the second operand began at dimension `axis` of the first. */
static opd_status broadcast_at_axis(onnx_form *form, const rule *by)
{
    opd_tensor *b = &form->in[1].view;
    int64_t axis = number_of(form, "axis", INT64_MIN);
    opd_status status = OPD_OK;
    (void)by;
    if (number_of(form, "broadcast", 0) != 0 && axis != INT64_MIN && form->in[1].is_there) {
        int64_t rank = form->in[0].view.rank;
        axis += axis < 0 ? rank : 0;
        if (axis < 0 || axis > rank || b->rank > rank - axis) {
            return opd_fail(OPD_E_INVALID, "%s: the second operand does not fit the first at axis", form->op);
        }
        int64_t shape[OPD_MAX_RANK] = { 0 };
        for (int d = 0; d < rank - axis; d++) {
            shape[d] = d < b->rank ? b->shape[d] : 1;
        }
        status = reshape(&form->in[1], (int32_t)(rank - axis), shape);
    }
    remove_attribute(form, "axis");
    remove_attribute(form, "broadcast");
    return status;
}

/* Rows and columns of the matrix that all dimensions before axis, and from it on, make. */
static opd_status flatten(onnx_operand *operand, int64_t axis)
{
    const opd_tensor *view = &operand->view;
    int64_t shape[2] = { 1, 1 };
    for (int d = 0; d < view->rank; d++) {
        if (!opd_mul_i64(&shape[d >= axis], shape[d >= axis], view->shape[d])) {
            return opd_fail(OPD_E_INVALID, "the dimensions overflow");
        }
    }
    return reshape(operand, 2, shape);
}

/* Before operator set 13 Softmax ran over all dimensions from axis on, 1 by default. */
static opd_status flatten_from_axis(onnx_form *form, const rule *by)
{
    int64_t axis = number_of(form, "axis", 1);
    int64_t rank = form->in[0].view.rank;
    (void)by;
    axis += axis < 0 ? rank : 0;
    if (!form->in[0].is_there || axis < 0 || axis > rank) {
        return opd_fail(OPD_E_INVALID, "%s: axis is no dimension", form->op);
    }
    opd_status status = OPD_OK;
    if (axis != rank - 1) {
        status = flatten(&form->in[0], axis);
        if (status == OPD_OK && form->out[0].view.data != NULL) {
            status = flatten(&form->out[0], axis);
        }
    }
    return status == OPD_OK ? set_number(form, "axis", -1) : status;
}

/* Before operator set 6 the type had a name. */
static opd_status number_type(onnx_form *form, const rule *by)
{
    const opd_onnx_attribute *to = find(form, by->name);
    if (to == NULL || to->kind != OPD_ONNX_STRING) {
        return OPD_OK;
    }
    int number = onnx_type_number(to->text);
    return number > 0 ? set_number(form, by->name, number)
                      : opd_fail(OPD_E_UNSUPPORTED, "Cast to the unknown type %s", onnx_shown(to->text).text);
}

/* Before operator set 14 more outputs than one meant training, whose running statistics had another definition. */
static opd_status infer_only(onnx_form *form, const rule *by)
{
    (void)by;
    for (int i = 1; i < form->out_count; i++) {
        if (form->out[i].is_there) {
            return opd_fail(OPD_E_UNSUPPORTED, "%s of operator set %lld that trains has no form of today", form->op,
                            (long long)form->opset);
        }
    }
    return OPD_OK;
}

static opd_status count_outputs(onnx_form *form, const rule *by)
{
    return form->in[1].is_there ? OPD_OK : set_number(form, by->name, form->out_count);
}

/* Upsample of operator set 1. */
static opd_status scale_images(onnx_form *form, const rule *by)
{
    const opd_onnx_attribute *height = find(form, "height_scale");
    const opd_onnx_attribute *width = find(form, "width_scale");
    opd_onnx_attribute *scales = NULL;
    if (height == NULL || width == NULL) {
        return OPD_OK;
    }
    const float factors[] = { 1, 1, height->f, width->f };
    remove_attribute(form, "height_scale");
    remove_attribute(form, "width_scale");
    opd_status status = own(&scales, form, by->name);
    if (status == OPD_OK) {
        scales->kind = OPD_ONNX_FLOATS;
        scales->count = (int32_t)OPD_COUNT(factors);
        memcpy(scales->floats, factors, sizeof factors);
    }
    return status;
}

/* Before operator set 11 the scales came second; now roi does. */
static opd_status make_room_for_roi(onnx_form *form, const rule *by)
{
    (void)by;
    if (form->in_count == 2) {
        form->in[2] = form->in[1];
        form->in[1] = (onnx_operand){ .is_there = false };
        form->in_count = 3;
    }
    return OPD_OK;
}

/* An empty tensor stands for one that is not there. */
static opd_status leave_out_empty(onnx_form *form, const rule *by)
{
    for (int i = by->position; i < form->in_count; i++) {
        bool is_empty = form->in[i].is_there && opd_tensor_count(&form->in[i].view) == 0;
        form->in[i].is_there &= !is_empty;
    }
    return OPD_OK;
}

/* Before operator set 21 there was one scale, and one bias, for each group. */
static opd_status spread_over_channels(onnx_form *form, const rule *by)
{
    const opd_tensor *x = &form->in[0].view;
    opd_tensor *groups = &form->in[by->position].view;
    void *memory = NULL;
    if (!form->in[0].is_there || !form->in[by->position].is_there || x->rank < 2 || groups->rank != 1 ||
        groups->shape[0] < 1 || x->shape[1] % groups->shape[0] != 0) {
        return opd_fail(OPD_E_INVALID, "%s: scale and bias have one element for each group", form->op);
    }
    int64_t channels = x->shape[1];
    int64_t each = channels / groups->shape[0];
    size_t size = opd_dtype_size(groups->dtype);
    opd_tensor from = *groups;
    form->in[by->position].is_there = false;
    opd_status status = make_input(&memory, form, by->position, from.dtype, &channels);
    for (int64_t c = 0; c < channels && status == OPD_OK; c++) {
        memcpy((uint8_t *)memory + (size_t)c * size, (const uint8_t *)from.data + (size_t)(c / each) * size, size);
    }
    return status;
}

/* Reduction over axes that became an input with operator set 18 (13 of ReduceSum). */
#define AXES_INPUT(op, version)                 \
    {                                           \
        op, version, move_ints, "axes", 1, NULL \
    }
#define WAS_BROADCAST(op)                       \
    {                                           \
        op, 7, broadcast_at_axis, NULL, 0, NULL \
    }

static const rule rules[] = {
    { NULL, 7, drop, "consumed_inputs", 0, NULL },
    WAS_BROADCAST("Add"),
    WAS_BROADCAST("Sub"),
    WAS_BROADCAST("Mul"),
    WAS_BROADCAST("Div"),
    WAS_BROADCAST("Pow"),
    { "Gemm", 7, drop, "broadcast", 0, NULL },
    { "Cast", 6, number_type, "to", 0, NULL },
    { "Cast", ALWAYS, drop, "saturate", 0, NULL }, /* of conversions to float8 */
    { "Clip", 11, move_scalar, "min", 1, NULL },
    { "Clip", 11, move_scalar, "max", 2, NULL },
    AXES_INPUT("ReduceSum", 13),
    AXES_INPUT("ReduceMean", 18),
    AXES_INPUT("ReduceMax", 18),
    AXES_INPUT("ReduceMin", 18),
    AXES_INPUT("ReduceL2", 18),
    { "TopK", 10, move_ints, "k", 1, NULL },
    { "Softmax", 13, flatten_from_axis, NULL, 0, NULL },
    { "LogSoftmax", 13, flatten_from_axis, NULL, 0, NULL },
    { "BatchNormalization", 7, refuse_other, "is_test", 1, NULL },
    { "BatchNormalization", 9, refuse_other, "spatial", 1, NULL },
    { "BatchNormalization", 14, infer_only, NULL, 0, NULL },
    { "GroupNormalization", 21, spread_over_channels, NULL, 1, NULL },
    { "GroupNormalization", 21, spread_over_channels, NULL, 2, NULL },
    { "Concat", 4, default_number, "axis", 1, NULL },
    { "Reshape", 5, move_ints, "shape", 1, NULL },
    { "Slice", 10, move_ints, "starts", 1, NULL },
    { "Slice", 10, move_ints, "ends", 2, NULL },
    { "Slice", 10, move_ints, "axes", 3, NULL },
    { "Split", 13, move_ints, "split", 1, NULL },
    { "Split", 18, count_outputs, "num_outputs", 0, NULL },
    { "Pad", 2, rename_attribute, "paddings", 0, "pads" },
    { "Pad", 11, move_ints, "pads", 1, NULL },
    { "Pad", 11, move_scalar, "value", 2, NULL },
    { "Upsample", 7, scale_images, "scales", 0, NULL },
    { "Upsample", 9, move_floats, "scales", 1, NULL },
    { "Upsample", ALWAYS, rename_operator, NULL, 0, "Resize" }, /* gone since 10 */
    { "Resize", 11, make_room_for_roi, NULL, 0, NULL },
    { "Resize", 11, default_text, "coordinate_transformation_mode", 0, "asymmetric" },
    { "Resize", 11, default_text, "nearest_mode", 0, "floor" },
    { "Resize", ALWAYS, leave_out_empty, NULL, 1, NULL },
};

const char *onnx_form_name(const char *op)
{
    for (size_t i = 0; i < OPD_COUNT(rules); i++) {
        if (rules[i].apply == rename_operator && strcmp(rules[i].op, op) == 0) {
            return rules[i].text;
        }
    }
    return op;
}

opd_status onnx_form_update(onnx_form *form)
{
    opd_status status = OPD_OK;
    /* A model that does not say its operator set is of the first. */
    int64_t opset = form->opset > 0 ? form->opset : 1;
    for (size_t i = 0; i < OPD_COUNT(rules) && status == OPD_OK; i++) {
        const rule *by = &rules[i];
        if (opset < by->before && (by->op == NULL || strcmp(by->op, form->op) == 0)) {
            status = by->apply(form, by);
        }
    }
    return status;
}
