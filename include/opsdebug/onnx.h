/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ONNX files that hold one operator: the node of a model, tensors (TensorProto), and the call of this build that they describe. Read by
 * hand from the wire format by its public field numbers; nothing in a file is executed or followed as a path.
 *
 * order of use: opd_onnx_model_open -> opd_onnx_model_check -> opd_onnx_tensor_open of each input and output -> opd_onnx_example_make.
 */
#ifndef OPSDEBUG_ONNX_H
#define OPSDEBUG_ONNX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <opsdebug/memory.h>
#include <opsdebug/op.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OPD_ONNX_EDGES   32 /* inputs, and outputs, of a node */
#define OPD_ONNX_ATTRS   24
#define OPD_ONNX_NUMBERS 16 /* of one attribute */
#define OPD_ONNX_VALUES  48 /* inputs, outputs, constants of a graph */

/* Bytes of the file, without an end of their own. */
typedef struct opd_onnx_text {
    const char *at;
    size_t size;
} opd_onnx_text;
bool opd_onnx_text_is(opd_onnx_text text, const char *word);

typedef enum opd_onnx_kind { /* AttributeProto.AttributeType */
                             OPD_ONNX_FLOAT = 1,
                             OPD_ONNX_INT = 2,
                             OPD_ONNX_STRING = 3,
                             OPD_ONNX_TENSOR = 4,
                             OPD_ONNX_GRAPH = 5,
                             OPD_ONNX_FLOATS = 6,
                             OPD_ONNX_INTS = 7,
                             OPD_ONNX_STRINGS = 8,
} opd_onnx_kind;

typedef struct opd_onnx_attribute {
    opd_onnx_text name;
    int32_t kind; /* opd_onnx_kind, or what this build does not read */
    int64_t i;
    float f;
    opd_onnx_text text; /* STRING: its bytes; TENSOR: the message */
    int32_t count;      /* of ints or floats */
    int64_t ints[OPD_ONNX_NUMBERS];
    float floats[OPD_ONNX_NUMBERS];
} opd_onnx_attribute;

/* An input or output of the graph, or a tensor that the model holds. */
typedef struct opd_onnx_value {
    opd_onnx_text name;
    opd_onnx_text tensor; /* of a constant: its message */
    int32_t kind; /* field of TypeProto: 1 tensor, 4 sequence, 5 map, 8 sparse tensor, 9 optional; 0 = not said */
    int32_t type; /* element type of a tensor, TensorProto.DataType; 0 = not said */
} opd_onnx_value;

typedef struct opd_onnx_values {
    int32_t count;
    opd_onnx_value item[OPD_ONNX_VALUES];
} opd_onnx_values;

typedef struct opd_onnx_model {
    opd_mapping mapping; /* of a model opened by its path */
    opd_onnx_text op_type, domain;
    int64_t opset; /* of the domain; 0 = the model does not say */
    int32_t input_count, output_count, attribute_count;
    opd_onnx_text inputs[OPD_ONNX_EDGES], outputs[OPD_ONNX_EDGES]; /* "" = absent */
    opd_onnx_attribute attributes[OPD_ONNX_ATTRS];
    opd_onnx_values graph_inputs, graph_outputs, constants; /* constants: initializers, and Constant nodes */
} opd_onnx_model;

/*
 * The one node of a model; nodes of type Constant beside it count as tensors that the model holds.
 * memory    the bytes are borrowed, or mapped until close.
 * errors    E_IO, E_NOTFOUND; E_FORMAT not a model; E_UNSUPPORTED several nodes or none; E_LIMIT more inputs, attributes or
 *           numbers than the limits above; E_NOMEM.
 */
opd_status opd_onnx_model_open(opd_onnx_model **out, const char *path);
opd_status opd_onnx_model_read(opd_onnx_model **out, const void *bytes, size_t size);
void opd_onnx_model_close(opd_onnx_model *model);
/*
 * Can the node become a call, as far as the model alone says?
 * errors    E_NOTFOUND the operator is unknown to this build; E_UNSUPPORTED control flow, or inputs or outputs that are no tensors.
 */
opd_status opd_onnx_model_check(const opd_onnx_model *model);

#define OPD_ONNX_NAME 96
typedef struct opd_onnx_tensor {
    char name[OPD_ONNX_NAME]; /* cut off where it is longer; "" = it has none */
    opd_tensor view;          /* contiguous */
    void *memory;             /* owned */
} opd_onnx_tensor;

/*
 * A TensorProto: raw_data or the typed fields.
 * memory    never more than eight times the bytes read: the number of values in the message is compared with the dimensions first.
 * errors    E_IO, E_NOTFOUND; E_FORMAT not a tensor, or values and dimensions disagree; E_UNSUPPORTED its type (named), or data in another file;
 *           E_NOMEM.
 */
opd_status opd_onnx_tensor_open(opd_onnx_tensor *out, const char *path);
opd_status opd_onnx_tensor_read(opd_onnx_tensor *out, const void *bytes, size_t size);
void opd_onnx_tensor_done(opd_onnx_tensor *tensor);

/* A call with its inputs, and its outputs as they are expected. */
typedef struct opd_onnx_example {
    opd_call call; /* operands[].view.data: inputs, and outputs whose values were given; else NULL */
    opd_onnx_tensor
        made[OPD_MAX_OPERANDS]; /* inputs that came from the model: constants, attributes of older operator sets */
    int32_t made_count;
} opd_onnx_example;

/*
 * The call of this build's contract that the node is, forms of older operator sets translated. Tensors belong to the graph's input or output of
 * their name; those without a name in order (inputs: of those that the model holds no value of).
 * memory    the tensors' contents are borrowed, also the model; made is owned.
 * errors    those of opd_onnx_model_check; E_UNSUPPORTED a form that is not translated; E_INVALID what the contract
 *           refuses, an input without a value, or an output whose expected values have another dtype or shape.
 */
opd_status opd_onnx_example_make(opd_onnx_example **out, const opd_onnx_model *model, const opd_onnx_tensor *inputs,
                                 int input_count, const opd_onnx_tensor *outputs, int output_count);
void opd_onnx_example_free(opd_onnx_example *example);

#ifdef __cplusplus
}
#endif
#endif
