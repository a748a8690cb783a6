/* SPDX-License-Identifier: Apache-2.0 */
/* A primitive descriptor as a call: operands by its arguments, attributes by its fields, symbols by its dimensions. Allocates nothing. */
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "dnnl_define.h"
#include "dnnl_form.h"

#define MAX_VALUES ((int)OPD_COUNT(((opd_call *)NULL)->attrs))

/* Names of all arguments, for primitives without a form. */
static const struct {
    const char *name;
    int arg;
    opd_role role;
} arguments[] = {
    { "src", DNNL_ARG_SRC_0, OPD_ROLE_IN },
    { "src1", DNNL_ARG_SRC_1, OPD_ROLE_IN },
    { "src2", DNNL_ARG_SRC_2, OPD_ROLE_IN },
    { "src3", DNNL_ARG_SRC_3, OPD_ROLE_IN },
    { "weights", DNNL_ARG_WEIGHTS_0, OPD_ROLE_IN },
    { "weights1", DNNL_ARG_WEIGHTS_1, OPD_ROLE_IN },
    { "weights2", DNNL_ARG_WEIGHTS_2, OPD_ROLE_IN },
    { "weights3", DNNL_ARG_WEIGHTS_3, OPD_ROLE_IN },
    { "bias", DNNL_ARG_BIAS, OPD_ROLE_IN },
    { "diff_dst", DNNL_ARG_DIFF_DST_0, OPD_ROLE_IN },
    { "dst", DNNL_ARG_DST_0, OPD_ROLE_OUT },
    { "dst1", DNNL_ARG_DST_1, OPD_ROLE_OUT },
    { "dst2", DNNL_ARG_DST_2, OPD_ROLE_OUT },
    { "diff_src", DNNL_ARG_DIFF_SRC_0, OPD_ROLE_OUT },
    { "diff_weights", DNNL_ARG_DIFF_WEIGHTS_0, OPD_ROLE_OUT },
    { "diff_bias", DNNL_ARG_DIFF_BIAS, OPD_ROLE_OUT },
    { "workspace", DNNL_ARG_WORKSPACE, OPD_ROLE_IN },
};

/* A call in the making. */
typedef struct making {
    opd_call *call;
    int args[OPD_MAX_OPERANDS];
    const opd_dnnl_facts *facts;
    const opd_dnnl_form *form;
    int64_t dims[OPD_MAX_OPERANDS][DNNL_MAX_NDIMS];
    int ranks[OPD_MAX_OPERANDS];
    bool is_broadcast[OPD_MAX_OPERANDS]; /* may be */
    bool is_opaque;
} making;

static opd_value *add_value(making *of, opd_value_kind kind, const char *name)
{
    static opd_value nowhere;
    opd_call *call = of->call;
    if (call->attr_count == MAX_VALUES) {
        of->is_opaque = true;
        return &nowhere;
    }
    opd_value *value = &call->attrs[call->attr_count++];
    *value = (opd_value){ .kind = kind };
    opd_dnnl_join(value->name, sizeof value->name, name, "");
    return value;
}

static void add_text(making *of, const char *name, const char *text)
{
    opd_value *value = add_value(of, OPD_VALUE_TEXT, name);
    of->is_opaque |= strlen(text) >= sizeof value->text;
    opd_dnnl_join(value->text, sizeof value->text, text, "");
}

/* Bytes in a row, for what only the library can read. */
static bool opaque_view(opd_tensor *view, const dnnl_memory_desc_t *desc)
{
    int64_t bytes = 0;
    if (desc->format_kind == dnnl_format_kind_wino) {
        bytes = (int64_t)desc->format_desc.wino_desc.size;
    } else if (desc->format_kind == dnnl_format_kind_rnn_packed) {
        bytes = (int64_t)desc->format_desc.rnn_packed_desc.size;
    }
    return bytes > 0 && opd_tensor_contiguous(view, OPD_U8, 1, &bytes, NULL) == OPD_OK;
}

static opd_status add_operand(making *of, const char *name, opd_role role, int arg, bool is_broadcast)
{
    opd_call *call = of->call;
    opd_dnnl_layout layout;
    char text[OPD_DNNL_LAYOUT_TEXT] = "?";
    char attribute[OPD_NAME + 4];
    const dnnl_memory_desc_t *desc = of->facts->memory(of->facts->context, arg);
    if (desc == NULL || desc->ndims == 0) {
        return OPD_OK;
    }
    if (call->operand_count == OPD_MAX_OPERANDS) {
        of->is_opaque = true;
        return OPD_OK;
    }
    for (int d = 0; d < desc->ndims && d < DNNL_MAX_NDIMS; d++) {
        if (desc->dims[d] == DNNL_RUNTIME_DIM_VAL) {
            return opd_fail(OPD_E_UNSUPPORTED, "%s has dimensions that are known when it is executed only", name);
        }
    }
    int index = call->operand_count;
    opd_operand *operand = &call->operands[index];
    memset(operand, 0, sizeof *operand);
    operand->view.dtype = opd_dnnl_dtype_from(desc->data_type);
    bool is_known = opd_dnnl_layout_of(&layout, desc) && opd_dnnl_layout_view(&operand->view, &layout, desc->dims) &&
                    opd_dnnl_layout_print(text, &layout);
    if (!is_known && !opaque_view(&operand->view, desc)) {
        of->is_opaque = true;
        return OPD_OK;
    }
    of->is_opaque |= !is_known;
    opd_dnnl_join(operand->name, sizeof operand->name, name, "");
    operand->role = role;
    memcpy(of->dims[index], desc->dims, sizeof of->dims[index]);
    of->ranks[index] = desc->ndims;
    of->args[index] = arg;
    of->is_broadcast[index] = is_broadcast;
    call->operand_count++;
    opd_dnnl_join(attribute, sizeof attribute, name, ".md");
    add_text(of, attribute, is_known ? text : "?");
    return OPD_OK;
}

static int read_int(const void *at)
{
    int value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* A normalization's descriptors exist whether or not its flags make arguments of them. */
static bool is_argument(const making *of, const opd_dnnl_row *row)
{
    static const struct {
        int arg;
        unsigned flags;
    } wanted[] = {
        { DNNL_ARG_SCALE_SHIFT, dnnl_use_scaleshift },
        { DNNL_ARG_SCALE, dnnl_use_scale },
        { DNNL_ARG_SHIFT, dnnl_use_shift },
        { DNNL_ARG_DIFF_SCALE_SHIFT, dnnl_use_scaleshift },
        { DNNL_ARG_DIFF_SCALE, dnnl_use_scale },
        { DNNL_ARG_DIFF_SHIFT, dnnl_use_shift },
        { DNNL_ARG_WORKSPACE, dnnl_fuse_norm_relu },
    };
    bool is_norm = of->facts->kind == dnnl_batch_normalization || of->facts->kind == dnnl_layer_normalization;
    unsigned flags = 0;
    int prop = 0;
    for (int i = 0; is_norm && i < OPD_DNNL_FIELDS && of->form->fields[i].name != NULL; i++) {
        const opd_dnnl_field *field = &of->form->fields[i];
        int value = read_int((const uint8_t *)of->facts->descriptor + field->offset);
        flags = field->kind == OPD_DNNL_INT ? (unsigned)value : flags;
        prop = field->kind == OPD_DNNL_PROP ? value : prop;
    }
    for (size_t i = 0; is_norm && i < OPD_COUNT(wanted); i++) {
        bool is_gradient = row->arg > DNNL_ARG_DIFF_SRC_0;
        if (row->arg == wanted[i].arg) {
            return (flags & wanted[i].flags) != 0 &&
                   !(is_gradient && row->role == OPD_ROLE_OUT && prop == dnnl_backward_data);
        }
    }
    bool is_statistic = row->arg == DNNL_ARG_MEAN || row->arg == DNNL_ARG_VARIANCE;
    return !is_statistic || prop != dnnl_forward_inference || (flags & dnnl_use_global_stats) != 0;
}

/* Recurrent cells on 8-bit numbers take scales that are not recorded. */
static bool is_quantized_rnn(const making *of)
{
    bool is_small = false;
    for (int i = 0; i < of->call->operand_count; i++) {
        opd_dtype dtype = of->call->operands[i].view.dtype;
        is_small |= strcmp(of->call->operands[i].name, "workspace") != 0 && (dtype == OPD_U8 || dtype == OPD_I8);
    }
    return of->facts->kind == dnnl_rnn && is_small;
}

static opd_status add_operands(making *of)
{
    opd_status status = OPD_OK;
    for (int i = 0; of->form != NULL && i < OPD_DNNL_ROWS && of->form->rows[i].name != NULL && status == OPD_OK; i++) {
        const opd_dnnl_row *row = &of->form->rows[i];
        bool is_several = row->arg == DNNL_ARG_MULTIPLE_SRC;
        int before = -1;
        if (!is_argument(of, row)) {
            continue;
        }
        for (int k = 0; (is_several || k == 0) && status == OPD_OK && before != of->call->operand_count; k++) {
            char name[OPD_NAME];
            const char number[3] = { (char)(k < 10 ? '0' + k : '0' + k / 10), (char)(k < 10 ? '\0' : '0' + k % 10),
                                     '\0' };
            opd_dnnl_join(name, sizeof name, row->name, is_several ? number : "");
            before = of->call->operand_count;
            status = add_operand(of, name, (opd_role)row->role, row->arg + k, row->is_broadcast);
        }
    }
    for (size_t i = 0; of->form == NULL && i < OPD_COUNT(arguments) && status == OPD_OK; i++) {
        status = add_operand(of, arguments[i].name, arguments[i].role, arguments[i].arg, false);
    }
    for (int i = 0; i < of->facts->post_op_count && status == OPD_OK; i++) {
        char name[OPD_NAME];
        snprintf(name, sizeof name, "post_op%d_src", i);
        if (of->facts->post_ops[i].kind == dnnl_binary) {
            status = add_operand(of, name, OPD_ROLE_IN, DNNL_ARG_ATTR_MULTIPLE_POST_OP(i) | DNNL_ARG_SRC_1, true);
        }
    }
    return status;
}

/* -------------------------------------------------------------------------------------------------- its numbers */

static const void *field_at(const making *of, const opd_dnnl_field *field)
{
    return (const uint8_t *)of->facts->descriptor + field->offset;
}

static void add_spatial(making *of, const opd_dnnl_field *field, int count)
{
    dnnl_dims_t values;
    memcpy(values, field_at(of, field), sizeof values);
    if (field->kind == OPD_DNNL_SPATIAL) {
        opd_value *value = add_value(of, OPD_VALUE_INTS, field->name);
        value->i = count;
        memcpy(value->ints, values, (size_t)count * sizeof value->ints[0]);
        return;
    }
    for (int j = 0; j < count; j++) {
        opd_value *symbol = &of->call->symbols[of->call->symbol_count++];
        *symbol = (opd_value){ .kind = OPD_VALUE_INT, .i = values[j] };
        snprintf(symbol->name, sizeof symbol->name, "k%c", "dhw"[3 - count + j]);
    }
}

/* An algorithm that is not named here cannot be asked for again. */
static void add_alg(making *of, const opd_dnnl_field *field)
{
    int value = read_int(field_at(of, field));
    const char *word = opd_dnnl_alg_word(value);
    if (value != 0) {
        add_text(of, field->name, word);
        of->is_opaque |= word[0] == '\0';
    }
}

static void add_fields(making *of)
{
    int spatial = of->call->operand_count > 0 ? of->ranks[0] - 2 : 0;
    for (int i = 0; i < of->call->operand_count; i++) { /* filters may have groups: the least rank but that of a bias */
        spatial = of->ranks[i] > 2 && of->ranks[i] - 2 < spatial ? of->ranks[i] - 2 : spatial;
    }
    spatial = spatial < 0 ? 0 : spatial > 3 ? 3 : spatial;
    for (int i = 0; i < OPD_DNNL_FIELDS && of->form->fields[i].name != NULL; i++) {
        const opd_dnnl_field *field = &of->form->fields[i];
        float real;
        dnnl_dim_t dim;
        char letter[2] = { '\0', '\0' };
        switch (field->kind) {
        case OPD_DNNL_PROP:
            add_text(of, field->name, opd_dnnl_prop_word(read_int(field_at(of, field))));
            break;
        case OPD_DNNL_ALG:
            add_alg(of, field);
            break;
        case OPD_DNNL_LETTER:
            letter[0] = (char)read_int(field_at(of, field));
            add_text(of, field->name, letter);
            break;
        case OPD_DNNL_WAY:
            add_text(of, field->name, opd_dnnl_way_word(read_int(field_at(of, field))));
            break;
        case OPD_DNNL_DIM:
            memcpy(&dim, field_at(of, field), sizeof dim);
            add_value(of, OPD_VALUE_INT, field->name)->i = dim;
            break;
        case OPD_DNNL_DTYPE:
            add_text(of, field->name,
                     opd_dtype_name(opd_dnnl_dtype_from((dnnl_data_type_t)read_int(field_at(of, field)))));
            break;
        case OPD_DNNL_REAL:
            memcpy(&real, field_at(of, field), sizeof real);
            add_value(of, OPD_VALUE_REAL, field->name)->re = (double)real;
            break;
        case OPD_DNNL_INT:
            add_value(of, OPD_VALUE_INT, field->name)->i = read_int(field_at(of, field));
            break;
        default:
            add_spatial(of, field, spatial);
            break;
        }
    }
}

/* The axis along which sources follow each other: where they are shorter than the destination. */
static void add_axis(making *of)
{
    int last = of->call->operand_count - 1;
    int axis = 0;
    for (int d = 0; last > 0 && d < of->ranks[last]; d++) {
        axis = of->dims[0][d] != of->dims[last][d] ? d : axis;
    }
    add_value(of, OPD_VALUE_INT, "axis")->i = axis;
}

/* Several scales or zero points, or such as are not known yet. */
static opd_status add_quant_operand(making *of, const opd_dnnl_quant *quant, const char *name)
{
    opd_call *call = of->call;
    char text[OPD_NAME];
    int64_t count = quant->count;
    for (int i = 0; i < call->operand_count && quant->is_late; i++) {
        if (strcmp(call->operands[i].name, opd_dnnl_quant_target(quant->arg)) == 0) {
            count = opd_dnnl_quant_count(quant->mask, of->dims[i], of->ranks[i]);
        }
    }
    if (call->operand_count == OPD_MAX_OPERANDS || count < 1) {
        of->is_opaque = true;
        return OPD_OK;
    }
    opd_operand *operand = &call->operands[call->operand_count];
    memset(operand, 0, sizeof *operand);
    opd_dnnl_join(operand->name, sizeof operand->name, name, "s");
    operand->role = OPD_ROLE_IN;
    of->args[call->operand_count] = quant->arg;
    opd_dtype dtype = (quant->arg & DNNL_ARG_ATTR_ZERO_POINTS) != 0 ? OPD_I32 : OPD_F32;
    opd_status status = opd_tensor_contiguous(&operand->view, dtype, 1, &count, NULL);
    call->operand_count += status == OPD_OK;
    opd_dnnl_join(text, sizeof text, name, "s.md");
    add_text(of, text, "a");
    opd_dnnl_join(text, sizeof text, name, "s.mask");
    add_value(of, OPD_VALUE_INT, text)->i = quant->mask;
    if (!quant->is_late) {
        opd_dnnl_join(text, sizeof text, name, "s.fixed");
        add_value(of, OPD_VALUE_INT, text)->i = 1;
    }
    return status;
}

static opd_status add_quants(making *of)
{
    opd_status status = OPD_OK;
    for (int i = 0; i < of->facts->quant_count && status == OPD_OK; i++) {
        const opd_dnnl_quant *quant = &of->facts->quants[i];
        const char *name = opd_dnnl_quant_name(quant->arg);
        if (name == NULL) {
            of->is_opaque = true;
        } else if (quant->is_late || quant->count != 1) {
            status = add_quant_operand(of, quant, name);
        } else if ((quant->arg & DNNL_ARG_ATTR_ZERO_POINTS) != 0) {
            add_value(of, OPD_VALUE_INT, name)->i = quant->zero;
        } else {
            add_value(of, OPD_VALUE_REAL, name)->re = (double)quant->scale;
        }
    }
    return status;
}

static void add_attributes(making *of)
{
    const opd_dnnl_facts *facts = of->facts;
    char name[OPD_NAME];
    for (int i = 0; facts->kind == dnnl_sum && i < of->call->operand_count - 1; i++) {
        snprintf(name, sizeof name, "scale%d", i);
        add_value(of, OPD_VALUE_REAL, name)->re = facts->sum_scales != NULL ? (double)facts->sum_scales[i] : 1;
        of->is_opaque |= facts->sum_scales == NULL;
    }
    for (int i = 0; i < facts->post_op_count; i++) {
        const opd_dnnl_post_op *op = &facts->post_ops[i];
        char text[sizeof((opd_value *)NULL)->text];
        snprintf(name, sizeof name, "post_op%d", i);
        if (op->kind == dnnl_sum) {
            snprintf(text, sizeof text, "sum:%.9g:%d:%s", (double)op->scale, op->zero_point,
                     opd_dtype_name(opd_dnnl_dtype_from(op->dtype)));
        } else if (op->kind == dnnl_eltwise) {
            snprintf(text, sizeof text, "%s:%.9g:%.9g:%.9g", opd_dnnl_alg_word((int)op->alg), (double)op->scale,
                     (double)op->alpha, (double)op->beta);
        } else {
            snprintf(text, sizeof text, "binary_%s", opd_dnnl_alg_word((int)op->alg));
        }
        add_text(of, name, text);
    }
    if (facts->routine == NULL) {
        add_text(of, "impl", facts->implementation);
    }
    if (facts->threads > 0) {
        add_value(of, OPD_VALUE_INT, "threads")->i = facts->threads;
    }
}

/* ------------------------------------------------------------------------------------------------------ together */

/* Marks dimensions of 1 that stand for more. */
static void mark_broadcast(making *of)
{
    for (int i = 0; i < of->call->operand_count; i++) {
        opd_dnnl_layout layout;
        char name[OPD_NAME + 4];
        int64_t dims[DNNL_MAX_NDIMS];
        int rank = 0;
        if (!of->is_broadcast[i]) {
            continue;
        }
        opd_dnnl_join(name, sizeof name, of->call->operands[i].name, ".md");
        opd_value *value = opd_call_value(of->call, name);
        if (value == NULL || !opd_dnnl_layout_get(&layout, of->call, i) ||
            opd_dnnl_dims(dims, &rank, of->call, i) != OPD_OK) {
            continue;
        }
        for (int d = 0; d < rank; d++) {
            layout.broadcast |= of->dims[i][d] == 1 && dims[d] != 1 ? UINT32_C(1) << d : 0;
        }
        of->is_opaque |= !opd_dnnl_layout_print(value->text, &layout);
    }
}

/* Do the symbols say what was recorded? */
static bool is_as_recorded(const making *of)
{
    opd_call *call = of->call;
    const int count = call->operand_count;
    opd_tensor recorded[OPD_MAX_OPERANDS]; /* a call is large to copy */
    for (int i = 0; i < count; i++) {
        recorded[i] = call->operands[i].view;
    }
    bool is_same = opd_dnnl_bind(call) == OPD_OK;
    for (int i = 0; i < count; i++) {
        const opd_tensor *is = &call->operands[i].view;
        const opd_tensor *was = &recorded[i];
        is_same = is_same && is->rank == was->rank && memcmp(is->shape, was->shape, sizeof is->shape) == 0 &&
                  memcmp(is->stride, was->stride, sizeof is->stride) == 0;
        call->operands[i].view = recorded[i];
    }
    return is_same;
}

static const opd_dnnl_form *form_of(const opd_dnnl_facts *facts)
{
    if (facts->routine != NULL) {
        return opd_dnnl_form_named(facts->routine);
    }
    const opd_dnnl_form *form = opd_dnnl_form_find(facts->kind, OPD_DNNL_ANY);
    if (form == NULL && facts->descriptor != NULL) { /* what has a direction has it as its second member */
        dnnl_prop_kind_t prop;
        memcpy(&prop, (const uint8_t *)facts->descriptor + offsetof(dnnl_convolution_desc_t, prop_kind), sizeof prop);
        form = opd_dnnl_form_find(facts->kind, opd_dnnl_class_of(prop));
    }
    return form != NULL && (form->size == 0) == (facts->descriptor == NULL) ? form : NULL;
}

opd_status opd_dnnl_call(opd_call *out, int args[OPD_MAX_OPERANDS], const opd_dnnl_facts *facts)
{
    making of = { .call = out, .facts = facts, .form = form_of(facts), .is_opaque = facts->is_odd };
    memset(out, 0, offsetof(opd_call, symbols)); /* of the rest what is counted is written */
    out->attr_count = 0;
    out->operand_count = 0;
    opd_dnnl_join(out->domain, sizeof out->domain, OPD_DNNL_DOMAIN, "");
    opd_dnnl_join(out->name, sizeof out->name, of.form != NULL ? of.form->op.name : opd_dnnl_kind_name(facts->kind),
                  "");
    opd_status status = add_operands(&of);
    if (status != OPD_OK) {
        return status;
    }
    if (out->operand_count == 0 || out->name[0] == '\0') {
        return opd_fail(OPD_E_UNSUPPORTED, "a primitive without operands");
    }
    of.is_opaque |= is_quantized_rnn(&of);
    out->dtype = out->operands[0].view.dtype;
    if (of.form != NULL && of.form->size > 0) {
        add_fields(&of);
    }
    if (facts->kind == dnnl_concat) {
        add_axis(&of);
    }
    add_attributes(&of);
    status = add_quants(&of);
    memcpy(args, of.args, sizeof of.args);
    if (status != OPD_OK) {
        return status;
    }
    if (of.form == NULL || of.is_opaque) {
        return OPD_OK;
    }
    out->op = &of.form->op;
    bool is_whole = opd_dnnl_solve(out, of.form, of.dims, of.ranks);
    if (is_whole) {
        mark_broadcast(&of);
    }
    if (!is_whole || of.is_opaque || !is_as_recorded(&of)) {
        out->op = NULL;
        out->symbol_count = 0;
        opd_error_clear();
    }
    return OPD_OK;
}
