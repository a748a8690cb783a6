/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ModelProto down to its one node, by the field numbers of onnx.proto (public since IR version 3, only ever added to). Messages are walked in
 * place: no recursion, no allocation but the result, unknown fields are stepped over.
 */
#include <stdio.h>
#include <string.h>

#include "onnx_form.h"
#include "wire.h"

enum { MODEL_GRAPH = 7, MODEL_OPSET = 8 };
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2 };
enum { GRAPH_NODE = 1, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_OP_TYPE = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TENSOR_NAME = 8, ELEMENT_TYPE = 1 };
enum { ATTR_NAME = 1, ATTR_F, ATTR_I, ATTR_S, ATTR_T, ATTR_G, ATTR_FLOATS, ATTR_INTS, ATTR_STRINGS, ATTR_TYPE = 20 };

static opd_onnx_text text_of(const wire_field *field)
{
    return (opd_onnx_text){ (const char *)field->bytes, field->size };
}

bool opd_onnx_text_is(opd_onnx_text text, const char *word)
{
    return text.size == strlen(word) && memcmp(text.at, word, text.size) == 0;
}

onnx_printable onnx_shown(opd_onnx_text text)
{
    onnx_printable shown = { .text = "" };
    for (size_t i = 0; i < text.size && i < sizeof shown.text - 1; i++) {
        char c = text.at[i];
        shown.text[i] = c > ' ' && c <= '~' ? c : '?';
    }
    return shown;
}

bool onnx_text_same(opd_onnx_text a, opd_onnx_text b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, a.size) == 0);
}

/* A walk over the fields of a message. */
typedef struct walk {
    opd_onnx_text message;
    size_t at;
    wire_field field;
} walk;

static bool step(walk *over)
{
    return wire_next(&over->field, (const uint8_t *)over->message.at, over->message.size, &over->at);
}

static opd_status end_of(const walk *over, const char *what)
{
    return over->at == over->message.size
               ? OPD_OK
               : opd_fail(OPD_E_FORMAT, "the %s is malformed at its byte %zu", what, over->at);
}

static bool is_bytes(const walk *over, uint32_t number)
{
    return over->field.number == number && over->field.type == WIRE_BYTES;
}

static opd_status too_many(const char *what, int most)
{
    return opd_fail(OPD_E_LIMIT, "more than %d %s", most, what);
}

/* The first field of that number whose payload is bytes; empty when there is none. */
static opd_onnx_text find_bytes(opd_onnx_text message, uint32_t number)
{
    walk over = { .message = message };
    while (step(&over)) {
        if (is_bytes(&over, number)) {
            return text_of(&over.field);
        }
    }
    return (opd_onnx_text){ "", 0 };
}

/* ------------------------------------------------------------------------------------------------- attributes */

static float float_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value = 0;
    memcpy(&value, &low, sizeof value);
    return value;
}

static opd_status add_number(opd_onnx_attribute *to, bool is_float, uint64_t bits)
{
    if (to->count == OPD_ONNX_NUMBERS) {
        return opd_fail(OPD_E_LIMIT, "attribute %s has more than %d numbers", onnx_shown(to->name).text,
                        OPD_ONNX_NUMBERS);
    }
    if (is_float) {
        to->floats[to->count++] = float_of(bits);
    } else {
        to->ints[to->count++] = (int64_t)bits;
    }
    return OPD_OK;
}

/* A repeated number, one at a time or packed. */
static opd_status add_numbers(opd_onnx_attribute *to, const wire_field *field)
{
    bool is_float = field->number == ATTR_FLOATS;
    uint32_t single = is_float ? WIRE_FIXED32 : WIRE_VARINT;
    if (field->type == single) {
        return add_number(to, is_float, field->value);
    }
    opd_status status = field->type == WIRE_BYTES ? OPD_OK : opd_fail(OPD_E_FORMAT, "numbers of a wrong wire type");
    for (size_t at = 0; status == OPD_OK && at < field->size;) {
        uint64_t bits = 0;
        if (is_float ? field->size - at < sizeof(float) : !wire_get_varint(&bits, field->bytes, field->size, &at)) {
            return opd_fail(OPD_E_FORMAT, "packed numbers are cut off");
        }
        if (is_float) {
            memcpy(&bits, field->bytes + at, sizeof(float));
            at += sizeof(float);
        }
        status = add_number(to, is_float, bits);
    }
    return status;
}

static opd_status take_attribute_field(opd_onnx_attribute *to, int32_t *seen, const wire_field *field)
{
    switch (field->number) {
    case ATTR_NAME:
        to->name = field->type == WIRE_BYTES ? text_of(field) : to->name;
        return OPD_OK;
    case ATTR_TYPE:
        to->kind = field->value <= INT32_MAX ? (int32_t)field->value : -1;
        return OPD_OK;
    case ATTR_F:
        to->f = float_of(field->value);
        *seen = OPD_ONNX_FLOAT;
        return OPD_OK;
    case ATTR_I:
        to->i = (int64_t)field->value;
        *seen = OPD_ONNX_INT;
        return OPD_OK;
    case ATTR_S:
    case ATTR_T:
        if (field->type != WIRE_BYTES) {
            return opd_fail(OPD_E_FORMAT, "an attribute of a wrong wire type");
        }
        to->text = text_of(field);
        *seen = field->number == ATTR_S ? OPD_ONNX_STRING : OPD_ONNX_TENSOR;
        return OPD_OK;
    case ATTR_G:
        *seen = OPD_ONNX_GRAPH;
        return OPD_OK;
    case ATTR_FLOATS:
    case ATTR_INTS:
        *seen = field->number == ATTR_FLOATS ? OPD_ONNX_FLOATS : OPD_ONNX_INTS;
        return add_numbers(to, field);
    case ATTR_STRINGS:
        *seen = OPD_ONNX_STRINGS;
        return OPD_OK;
    default:
        return OPD_OK;
    }
}

static opd_status read_attribute(opd_onnx_attribute *out, opd_onnx_text message)
{
    walk over = { .message = message };
    opd_status status = OPD_OK;
    int32_t seen = 0; /* writers before IR version 3 leave the type out */
    *out = (opd_onnx_attribute){ .name = { "", 0 }, .text = { "", 0 } };
    while (status == OPD_OK && step(&over)) {
        status = take_attribute_field(out, &seen, &over.field);
    }
    out->kind = out->kind != 0 ? out->kind : seen;
    return status == OPD_OK ? end_of(&over, "attribute") : status;
}

/* ------------------------------------------------------------------------------------------------------- node */

static opd_status add_edge(opd_onnx_text *edges, int32_t *count, const wire_field *field, const char *what)
{
    if (*count == OPD_ONNX_EDGES) {
        return too_many(what, OPD_ONNX_EDGES);
    }
    edges[(*count)++] = text_of(field);
    return OPD_OK;
}

static opd_status read_node(opd_onnx_model *out, opd_onnx_text message)
{
    walk over = { .message = message };
    opd_status status = OPD_OK;
    while (status == OPD_OK && step(&over)) {
        if (is_bytes(&over, NODE_INPUT)) {
            status = add_edge(out->inputs, &out->input_count, &over.field, "inputs of the node");
        } else if (is_bytes(&over, NODE_OUTPUT)) {
            status = add_edge(out->outputs, &out->output_count, &over.field, "outputs of the node");
        } else if (is_bytes(&over, NODE_OP_TYPE)) {
            out->op_type = text_of(&over.field);
        } else if (is_bytes(&over, NODE_DOMAIN)) {
            out->domain = text_of(&over.field);
        } else if (is_bytes(&over, NODE_ATTRIBUTE)) {
            status = out->attribute_count < OPD_ONNX_ATTRS
                         ? read_attribute(&out->attributes[out->attribute_count++], text_of(&over.field))
                         : too_many("attributes of the node", OPD_ONNX_ATTRS);
        }
    }
    return status == OPD_OK ? end_of(&over, "node") : status;
}

/* A Constant node with a tensor: as good as an initializer. */
static opd_status read_constant(opd_onnx_value *out, opd_onnx_text node)
{
    walk over = { .message = node };
    *out = (opd_onnx_value){ .name = find_bytes(node, NODE_OUTPUT), .tensor = { "", 0 } };
    while (step(&over)) {
        opd_onnx_attribute attribute;
        if (!is_bytes(&over, NODE_ATTRIBUTE)) {
            continue;
        }
        opd_status status = read_attribute(&attribute, text_of(&over.field));
        if (status != OPD_OK || (attribute.kind == OPD_ONNX_TENSOR && opd_onnx_text_is(attribute.name, "value"))) {
            out->tensor = attribute.text;
            return status;
        }
    }
    return opd_fail(OPD_E_UNSUPPORTED, "a Constant node without a tensor");
}

/* ------------------------------------------------------------------------------------------------------ graph */

static void read_type(opd_onnx_value *to, opd_onnx_text message)
{
    walk over = { .message = message };
    while (step(&over)) {
        uint32_t kind = over.field.number;
        if (over.field.type == WIRE_BYTES && (kind == 1 || kind == 4 || kind == 5 || kind == 8 || kind == 9)) {
            walk inner = { .message = text_of(&over.field) };
            to->kind = (int32_t)kind;
            while (kind == 1 && step(&inner)) {
                bool is_type = inner.field.number == ELEMENT_TYPE && inner.field.type == WIRE_VARINT;
                to->type = is_type && inner.field.value < 1000 ? (int32_t)inner.field.value : to->type;
            }
        }
    }
}

static opd_status add_value(opd_onnx_values *to, const wire_field *field, const char *what)
{
    if (to->count == OPD_ONNX_VALUES) {
        return too_many(what, OPD_ONNX_VALUES);
    }
    opd_onnx_value *value = &to->item[to->count++];
    opd_onnx_text message = text_of(field);
    bool is_tensor = field->number == GRAPH_INITIALIZER;
    *value = (opd_onnx_value){ .name = find_bytes(message, is_tensor ? TENSOR_NAME : VALUE_NAME),
                               .tensor = is_tensor ? message : (opd_onnx_text){ "", 0 } };
    if (!is_tensor) {
        read_type(value, find_bytes(message, VALUE_TYPE));
    }
    return OPD_OK;
}

/* The node that is the model's operator, and how many others are not constants. */
typedef struct choice {
    opd_onnx_text node;
    int nodes, operators;
    char names[96]; /* of the first operators */
} choice;

static void count_node(choice *to, opd_onnx_text node)
{
    opd_onnx_text type = find_bytes(node, NODE_OP_TYPE);
    to->nodes++;
    if (opd_onnx_text_is(type, "Constant")) {
        to->node = to->operators == 0 ? node : to->node;
        return;
    }
    to->node = node;
    size_t used = strlen(to->names);
    if (to->operators++ < 3) {
        snprintf(to->names + used, sizeof to->names - used, "%s%.24s", used > 0 ? ", " : "",
                 type.size > 0 ? onnx_shown(type).text : "?");
    }
}

static opd_status read_graph(opd_onnx_model *out, opd_onnx_text message)
{
    walk over = { .message = message };
    choice chosen = { .node = { "", 0 } };
    opd_status status = OPD_OK;
    while (status == OPD_OK && step(&over)) {
        if (is_bytes(&over, GRAPH_NODE)) {
            count_node(&chosen, text_of(&over.field));
        } else if (is_bytes(&over, GRAPH_INITIALIZER)) {
            status = add_value(&out->constants, &over.field, "tensors in the model");
        } else if (is_bytes(&over, GRAPH_INPUT)) {
            status = add_value(&out->graph_inputs, &over.field, "inputs of the graph");
        } else if (is_bytes(&over, GRAPH_OUTPUT)) {
            status = add_value(&out->graph_outputs, &over.field, "outputs of the graph");
        }
    }
    status = status == OPD_OK ? end_of(&over, "graph") : status;
    if (status != OPD_OK) {
        return status;
    }
    if (chosen.nodes == 0 || chosen.operators > 1) {
        return opd_fail(OPD_E_UNSUPPORTED, "%s%s%s%s", chosen.nodes > 0 ? "several operators" : "no operator",
                        chosen.nodes > 0 ? " (" : "", chosen.names,
                        chosen.nodes == 0      ? ""
                        : chosen.operators > 3 ? ", ...)"
                                               : ")");
    }
    walk nodes = { .message = message };
    while (status == OPD_OK && step(&nodes)) {
        if (!is_bytes(&nodes, GRAPH_NODE)) {
            continue;
        }
        if (nodes.field.bytes == (const uint8_t *)chosen.node.at) {
            status = read_node(out, chosen.node);
        } else if (out->constants.count == OPD_ONNX_VALUES) {
            status = too_many("tensors in the model", OPD_ONNX_VALUES);
        } else {
            status = read_constant(&out->constants.item[out->constants.count++], text_of(&nodes.field));
        }
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------------ model */

static bool is_same_domain(opd_onnx_text a, opd_onnx_text b)
{
    bool is_default_a = a.size == 0 || opd_onnx_text_is(a, "ai.onnx");
    bool is_default_b = b.size == 0 || opd_onnx_text_is(b, "ai.onnx");
    return (is_default_a && is_default_b) || onnx_text_same(a, b);
}

static opd_status find_opset(opd_onnx_model *out, opd_onnx_text message)
{
    walk over = { .message = message };
    while (step(&over)) {
        if (!is_bytes(&over, MODEL_OPSET)) {
            continue;
        }
        walk inner = { .message = text_of(&over.field) };
        int64_t version = 0;
        while (step(&inner)) {
            version = inner.field.number == OPSET_VERSION ? (int64_t)inner.field.value : version;
        }
        if (is_same_domain(find_bytes(inner.message, OPSET_DOMAIN), out->domain)) {
            out->opset = version;
        }
    }
    return out->opset >= 0 ? end_of(&over, "model")
                           : opd_fail(OPD_E_FORMAT, "operator set %lld", (long long)out->opset);
}

static opd_status read_model(opd_onnx_model *out, opd_onnx_text message)
{
    walk over = { .message = message };
    int graphs = 0;
    opd_status status = OPD_OK;
    while (status == OPD_OK && step(&over)) {
        if (is_bytes(&over, MODEL_GRAPH)) {
            status = graphs++ == 0 ? read_graph(out, text_of(&over.field)) : opd_fail(OPD_E_FORMAT, "two graphs");
        }
    }
    if (status == OPD_OK && graphs == 0) {
        status = over.at == message.size ? opd_fail(OPD_E_FORMAT, "no ONNX model: it has no graph")
                                         : opd_fail(OPD_E_FORMAT, "no ONNX model: malformed at byte %zu", over.at);
    }
    return status == OPD_OK ? find_opset(out, message) : status;
}

opd_status opd_onnx_model_read(opd_onnx_model **out, const void *bytes, size_t size)
{
    opd_onnx_model *model = NULL;
    opd_status status = opd_alloc((void **)&model, sizeof *model);
    if (status != OPD_OK) {
        return status;
    }
    model->op_type = model->domain = (opd_onnx_text){ "", 0 };
    status = read_model(model, (opd_onnx_text){ bytes, size });
    if (status != OPD_OK) {
        opd_free(model);
        return status;
    }
    *out = model;
    return OPD_OK;
}

opd_status opd_onnx_model_open(opd_onnx_model **out, const char *path)
{
    opd_mapping mapping;
    opd_status status = opd_mapping_open(&mapping, path);
    if (status != OPD_OK) {
        return status;
    }
    opd_onnx_model *model = NULL;
    status = opd_onnx_model_read(&model, mapping.bytes, mapping.size);
    if (status != OPD_OK) {
        opd_mapping_close(&mapping);
        return opd_fail_in(status, "%s", path);
    }
    model->mapping = mapping;
    *out = model;
    return OPD_OK;
}

void opd_onnx_model_close(opd_onnx_model *model)
{
    if (model != NULL) {
        opd_mapping_close(&model->mapping);
        opd_free(model);
    }
}
