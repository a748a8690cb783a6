/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node on its way to a call: operator, attributes, inputs and outputs as values, changed step by step from the form of its operator set to that of
 * the contract.
 */
#ifndef OPD_PROTO_ONNX_FORM_H
#define OPD_PROTO_ONNX_FORM_H

#include <opsdebug/onnx.h>

typedef struct onnx_printable {
    char text[48];
} onnx_printable;
/* For messages: printable, cut off. */
onnx_printable onnx_shown(opd_onnx_text text);
bool onnx_text_same(opd_onnx_text a, opd_onnx_text b);

/* TensorProto.DataType of a name ("FLOAT"), 0 when unknown. */
int onnx_type_number(opd_onnx_text name);

typedef struct onnx_operand {
    bool is_there;
    opd_tensor view; /* data: input, or expected output; NULL = none is given */
} onnx_operand;

typedef struct onnx_form {
    char op[OPD_NAME];
    int64_t opset;
    opd_onnx_attribute attributes[OPD_ONNX_ATTRS];
    int attribute_count;
    onnx_operand in[OPD_ONNX_EDGES], out[OPD_ONNX_EDGES];
    int in_count, out_count;
    opd_onnx_example *example; /* owns what is made */
} onnx_form;

/* The operator's name of today. */
const char *onnx_form_name(const char *op);
/* Makes it a node of the operator set that the contracts have. errors: E_UNSUPPORTED a form without translation; E_INVALID, E_NOMEM. */
opd_status onnx_form_update(onnx_form *form);

/* Memory that the example owns, for `bytes` bytes. errors: E_LIMIT more than it can own. */
opd_status onnx_example_memory(void **out, opd_onnx_example *example, size_t bytes);

#endif
