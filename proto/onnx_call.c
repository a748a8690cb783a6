/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a node and its tensors to a call of this build's contract: tensors find their places by name or order, the form is brought up to date, the
 * contract makes the call, and the expected outputs must have the dtypes and shapes that it says.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "onnx_form.h"

#define TEXT 4000 /* of shapes, attributes: what a wish takes */

opd_status onnx_example_memory(void **out, opd_onnx_example *example, size_t bytes)
{
    if (example->made_count == OPD_MAX_OPERANDS) {
        return opd_fail(OPD_E_LIMIT, "more than %d tensors to make", OPD_MAX_OPERANDS);
    }
    opd_status status = opd_alloc(out, bytes);
    if (status == OPD_OK) {
        example->made[example->made_count++].memory = *out;
    }
    return status;
}

/* --------------------------------------------------------------------------------------- tensors to their places */

static const opd_onnx_value *find_value(const opd_onnx_values *values, opd_onnx_text name)
{
    for (int i = 0; i < values->count; i++) {
        if (onnx_text_same(values->item[i].name, name)) {
            return &values->item[i];
        }
    }
    return NULL;
}

/* Position among the graph's values that are given from outside; -1 = the model holds it, or it is none of them. */
static int order_of(const opd_onnx_values *values, const opd_onnx_values *constants, opd_onnx_text name)
{
    int order = 0;
    for (int i = 0; i < values->count; i++) {
        bool is_constant = constants != NULL && find_value(constants, values->item[i].name) != NULL;
        if (onnx_text_same(values->item[i].name, name)) {
            return is_constant ? -1 : order;
        }
        order += !is_constant;
    }
    return -1;
}

/* The tensor given for a value: by its name, else by its place among those without one. */
static const opd_onnx_tensor *find_tensor(const opd_onnx_tensor *tensors, int count, opd_onnx_text name, int order)
{
    for (int i = 0; i < count; i++) {
        if (tensors[i].name[0] != '\0' && opd_onnx_text_is(name, tensors[i].name)) {
            return &tensors[i];
        }
    }
    return order >= 0 && order < count && tensors[order].name[0] == '\0' ? &tensors[order] : NULL;
}

/* Writers before ONNX 1.13 stored bf16 as the UINT16 of its bits, where the graph says bf16. */
static void retype(opd_tensor *view, const opd_onnx_value *declared)
{
    if (declared != NULL && opd_dtype_from_onnx(declared->type) == OPD_BF16 && view->dtype == OPD_U16) {
        view->dtype = OPD_BF16;
    }
}

static opd_status take_input(onnx_operand *to, onnx_form *form, const opd_onnx_model *model, opd_onnx_text name,
                             const opd_onnx_tensor *tensors, int count)
{
    const opd_onnx_value *constant = find_value(&model->constants, name);
    const opd_onnx_value *declared = find_value(&model->graph_inputs, name);
    const opd_onnx_tensor *given =
        find_tensor(tensors, count, name, order_of(&model->graph_inputs, &model->constants, name));
    if (given != NULL) {
        to->view = given->view;
    } else if (constant != NULL) {
        opd_onnx_tensor *made = &form->example->made[form->example->made_count];
        opd_status status = form->example->made_count < OPD_MAX_OPERANDS
                                ? opd_onnx_tensor_read(made, constant->tensor.at, constant->tensor.size)
                                : opd_fail(OPD_E_LIMIT, "more than %d tensors in the model", OPD_MAX_OPERANDS);
        if (status != OPD_OK) {
            return opd_fail_in(status, "%s: input %s", form->op, onnx_shown(name).text);
        }
        form->example->made_count++;
        to->view = made->view;
    } else {
        return opd_fail(OPD_E_INVALID, "%s: input %s has no value", form->op, onnx_shown(name).text);
    }
    to->is_there = true;
    retype(&to->view, declared);
    return OPD_OK;
}

static void take_output(onnx_operand *to, const opd_onnx_model *model, opd_onnx_text name,
                        const opd_onnx_tensor *tensors, int count)
{
    const opd_onnx_value *declared = find_value(&model->graph_outputs, name);
    const opd_onnx_tensor *given = find_tensor(tensors, count, name, order_of(&model->graph_outputs, NULL, name));
    to->is_there = true;
    if (given != NULL) {
        to->view = given->view;
        retype(&to->view, declared);
    }
}

/* -------------------------------------------------------------------------------------------------- as a wish */

/* A text that grows up to TEXT bytes. */
typedef struct wording {
    char text[TEXT];
    size_t used;
} wording;

OPD_PRINTF(2, 3) static void say(wording *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(to->text + to->used, sizeof to->text - to->used, format, arguments);
    va_end(arguments);
    to->used += length > 0 ? (size_t)length : 0;
    to->used = to->used < sizeof to->text ? to->used : sizeof to->text - 1;
}

static void say_ints(wording *to, const int64_t *ints, int count)
{
    say(to, "[");
    for (int i = 0; i < count; i++) {
        say(to, "%s%lld", i > 0 ? "," : "", (long long)ints[i]);
    }
    say(to, "]");
}

/* Words of contracts are letters, digits and underscores: nothing else may come near the grammar of a wish. */
static bool is_word(opd_onnx_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        char c = text.at[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!is_letter && (c < '0' || c > '9')) {
            return false;
        }
    }
    return text.size > 0 && text.size < (size_t)OPD_NAME * 2;
}

static opd_status refuse_kind(const onnx_form *form, const opd_onnx_attribute *attribute, const char *what)
{
    return opd_fail(OPD_E_UNSUPPORTED, "%s: attribute %s is %s", form->op, onnx_shown(attribute->name).text, what);
}

static opd_status say_attribute(wording *to, const onnx_form *form, const opd_onnx_attribute *attribute)
{
    if (!is_word(attribute->name)) {
        return refuse_kind(form, attribute, "no name");
    }
    say(to, "%s%.*s=", to->used > 0 ? "," : "", (int)attribute->name.size, attribute->name.at);
    switch (attribute->kind) {
    case OPD_ONNX_FLOAT:
        say(to, "%.17g", (double)attribute->f);
        return OPD_OK;
    case OPD_ONNX_INT:
        say(to, "%lld", (long long)attribute->i);
        return OPD_OK;
    case OPD_ONNX_STRING:
        say(to, "%.*s", (int)attribute->text.size, attribute->text.at);
        return is_word(attribute->text) ? OPD_OK : refuse_kind(form, attribute, "no word");
    case OPD_ONNX_INTS:
        say_ints(to, attribute->ints, attribute->count);
        return OPD_OK;
    default:
        return refuse_kind(form, attribute, "of a kind that no contract has");
    }
}

/* The names of the wanted outputs, as the call lays them out; NULL when there are none besides the ones always there. */
static void say_outputs(wording *to, const onnx_form *form, const opd_call *call)
{
    int output = 0;
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        if (operand->role != OPD_ROLE_OUT) {
            continue;
        }
        if ((operand->flags & OPD_OPERAND_ABSENT) != 0 && output < form->out_count && form->out[output].is_there) {
            say(to, "%s%s", to->used > 0 ? "," : "", operand->name);
        }
        output++;
    }
}

static opd_status make_call(opd_call *out, const onnx_form *form, const opd_op *op)
{
    wording shapes = { .used = 0 };
    wording attributes = { .used = 0 };
    wording outputs = { .used = 0 };
    opd_status status = OPD_OK;
    for (int i = 0; i < form->in_count; i++) {
        const opd_tensor *view = &form->in[i].view;
        say(&shapes, "%s%s", i > 0 ? ";" : "", form->in[i].is_there ? opd_dtype_name(view->dtype) : "-");
        if (form->in[i].is_there) {
            say_ints(&shapes, view->shape, view->rank);
        }
    }
    for (int i = 0; i < form->attribute_count && status == OPD_OK; i++) {
        status = say_attribute(&attributes, form, &form->attributes[i]);
    }
    if (status != OPD_OK) {
        return status;
    }
    opd_call_wish wish = { .shapes = shapes.text, .attributes = attributes.text };
    status = opd_call_make(out, op, &wish);
    if (status == OPD_OK) {
        say_outputs(&outputs, form, out);
    }
    if (status == OPD_OK && outputs.used > 0) {
        wish.outputs = outputs.text;
        status = opd_call_make(out, op, &wish);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------- as a call */

static opd_status attach_output(opd_operand *operand, const onnx_operand *expected, const onnx_form *form)
{
    char here[128];
    char there[128];
    opd_tensor view = expected->view;
    view.data = NULL;
    opd_tensor mine = operand->view;
    mine.data = NULL;
    bool is_same = mine.dtype == view.dtype && mine.rank == view.rank &&
                   memcmp(mine.shape, view.shape, (size_t)view.rank * sizeof view.shape[0]) == 0;
    if (!is_same) {
        opd_tensor_describe(here, sizeof here, &mine);
        opd_tensor_describe(there, sizeof there, &view);
        return opd_fail(OPD_E_INVALID, "%s: output %s is %s by the contract, and %s in the file", form->op,
                        operand->name, here, there);
    }
    operand->view = expected->view;
    return OPD_OK;
}

static opd_status attach(opd_call *call, const onnx_form *form)
{
    int input = 0;
    int output = 0;
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        if (operand->role == OPD_ROLE_IN) {
            bool is_there = input < form->in_count && form->in[input].is_there;
            operand->view.data = is_there ? form->in[input].view.data : NULL;
            input++;
        }
    }
    opd_status status = opd_call_bind(call); /* again: shapes may hang on contents */
    for (int i = 0; i < call->operand_count && status == OPD_OK; i++) {
        opd_operand *operand = &call->operands[i];
        if (operand->role != OPD_ROLE_OUT) {
            continue;
        }
        bool is_expected = output < form->out_count && form->out[output].view.data != NULL;
        if (is_expected && (operand->flags & OPD_OPERAND_ABSENT) == 0) {
            status = attach_output(operand, &form->out[output], form);
        }
        output++;
    }
    if (status == OPD_OK && output < form->out_count) {
        status = opd_fail(OPD_E_INVALID, "%s has %d outputs, the node %d", form->op, output, form->out_count);
    }
    return status;
}

static opd_status find_operator(const opd_op **out, const onnx_form *form, opd_onnx_text domain)
{
    char text[OPD_NAME] = "ai.onnx";
    if (domain.size > 0 && domain.size < sizeof text) {
        memset(text, 0, sizeof text);
        memcpy(text, domain.at, domain.size);
    }
    *out = domain.size < sizeof text ? opd_op_find(text, form->op) : NULL;
    if (*out != NULL) {
        return OPD_OK;
    }
    bool is_default = strcmp(text, "ai.onnx") == 0 && domain.size < sizeof text;
    return opd_fail(OPD_E_NOTFOUND, "operator %s%s%s is unknown to this build", form->op,
                    is_default ? "" : " of domain ", is_default ? "" : onnx_shown(domain).text);
}

static opd_status fill_form(onnx_form *form, const opd_onnx_model *model, const opd_onnx_tensor *inputs,
                            int input_count, const opd_onnx_tensor *outputs, int output_count)
{
    opd_status status = OPD_OK;
    form->opset = model->opset;
    form->attribute_count = model->attribute_count;
    memcpy(form->attributes, model->attributes, (size_t)model->attribute_count * sizeof form->attributes[0]);
    form->in_count = model->input_count;
    form->out_count = model->output_count;
    for (int i = 0; i < model->input_count && status == OPD_OK; i++) {
        if (model->inputs[i].size > 0) {
            status = take_input(&form->in[i], form, model, model->inputs[i], inputs, input_count);
        }
    }
    for (int i = 0; i < model->output_count; i++) {
        if (model->outputs[i].size > 0) {
            take_output(&form->out[i], model, model->outputs[i], outputs, output_count);
        }
    }
    return status;
}

/* The first of the values with those names that is no tensor. */
static opd_status check_kinds(const opd_onnx_values *values, const opd_onnx_text *names, int count, const char *op)
{
    for (int i = 0; i < count; i++) {
        const opd_onnx_value *declared = find_value(values, names[i]);
        if (declared != NULL && declared->kind > 1) {
            return opd_fail(OPD_E_UNSUPPORTED, "%s: %s is no tensor but a sequence, map, sparse or optional one", op,
                            onnx_shown(names[i]).text);
        }
    }
    return OPD_OK;
}

opd_status opd_onnx_model_check(const opd_onnx_model *model)
{
    onnx_form now = { .opset = model->opset };
    const opd_op *op = NULL;
    onnx_printable name = onnx_shown(model->op_type);
    for (int i = 0; i < model->attribute_count; i++) {
        const opd_onnx_attribute *attribute = &model->attributes[i];
        if (attribute->kind == OPD_ONNX_GRAPH) {
            return opd_fail(OPD_E_UNSUPPORTED, "%s: control flow (attribute %s is a graph)", name.text,
                            onnx_shown(attribute->name).text);
        }
    }
    /* An operator that only older operator sets have is known under its name of today. */
    snprintf(now.op, sizeof now.op, "%.31s", onnx_form_name(name.text));
    opd_status status = find_operator(&op, &now, model->domain);
    if (status == OPD_OK) {
        status = check_kinds(&model->graph_inputs, model->inputs, model->input_count, name.text);
    }
    return status == OPD_OK ? check_kinds(&model->graph_outputs, model->outputs, model->output_count, name.text)
                            : status;
}

opd_status opd_onnx_example_make(opd_onnx_example **out, const opd_onnx_model *model, const opd_onnx_tensor *inputs,
                                 int input_count, const opd_onnx_tensor *outputs, int output_count)
{
    onnx_form *form = NULL;
    const opd_op *op = NULL;
    opd_onnx_example *example = NULL;
    opd_status status = opd_alloc((void **)&form, sizeof *form);
    if (status == OPD_OK) {
        status = opd_alloc((void **)&example, sizeof *example);
    }
    if (status != OPD_OK) {
        opd_free(form);
        return status;
    }
    form->example = example;
    snprintf(form->op, sizeof form->op, "%.31s", onnx_shown(model->op_type).text);
    status = opd_onnx_model_check(model);
    if (status == OPD_OK) {
        status = fill_form(form, model, inputs, input_count, outputs, output_count);
    }
    status = status == OPD_OK ? onnx_form_update(form) : status;
    status = status == OPD_OK ? find_operator(&op, form, model->domain) : status;
    status = status == OPD_OK ? make_call(&example->call, form, op) : status;
    status = status == OPD_OK ? attach(&example->call, form) : status;
    opd_free(form);
    if (status != OPD_OK) {
        opd_onnx_example_free(example);
        return status;
    }
    *out = example;
    return OPD_OK;
}

void opd_onnx_example_free(opd_onnx_example *example)
{
    if (example != NULL) {
        for (int i = 0; i < example->made_count; i++) {
            opd_free(example->made[i].memory);
        }
        opd_free(example);
    }
}
