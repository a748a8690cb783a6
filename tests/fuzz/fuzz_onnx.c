/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: ONNX's files. The input is read as a tensor and as a model, and calls are made of the model with a few inputs. What is made must hold together; what is refused must say why in one line.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/onnx.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
    if (!holds) {
        abort();
    }
}

static void require_refusal(opd_status status)
{
    const char *text = opd_error_text();
    require(status != OPD_OK && text[0] != '\0' && strchr(text, '\n') == NULL);
}

static void require_tensor(const opd_onnx_tensor *tensor, size_t size)
{
    require(opd_tensor_check(&tensor->view) == OPD_OK);
    require(opd_tensor_packed_bytes(&tensor->view) <= 8 * (uint64_t)size);
    require(memchr(tensor->name, '\0', sizeof tensor->name) != NULL);
}

static void try_tensor(const uint8_t *data, size_t size)
{
    opd_onnx_tensor tensor;
    opd_status status = opd_onnx_tensor_read(&tensor, data, size);
    if (status != OPD_OK) {
        require_refusal(status);
        return;
    }
    require_tensor(&tensor, size);
    opd_digest digest = opd_tensor_digest(&tensor.view); /* every byte is there */
    require(!opd_digest_is_none(&digest));
    opd_onnx_tensor_done(&tensor);
}

/* Small tensors of a few dtypes for the inputs that the model does not hold. */
static int make_inputs(opd_onnx_tensor *tensors, const opd_onnx_model *model, unsigned seed)
{
    static const opd_dtype dtypes[] = { OPD_F32, OPD_I64, OPD_F16, OPD_BOOL };
    static int64_t values[64] = { 1, 2, 1, 0, 1 };
    int count = model->graph_inputs.count < OPD_ONNX_EDGES ? model->graph_inputs.count : OPD_ONNX_EDGES;
    for (int i = 0; i < count; i++) {
        int64_t shape[4] = { 1 + (seed + (unsigned)i) % 3, 2, 1, 2 };
        tensors[i] = (opd_onnx_tensor){ .name = "" };
        int32_t rank = (int32_t)((seed >> 2) + (unsigned)i) % 5;
        require(opd_tensor_contiguous(&tensors[i].view, dtypes[(seed >> 4) % 4], rank, shape, values) == OPD_OK);
    }
    return count;
}

static void try_model(const uint8_t *data, size_t size)
{
    opd_onnx_model *model = NULL;
    opd_onnx_tensor inputs[OPD_ONNX_EDGES];
    opd_status status = opd_onnx_model_read(&model, data, size);
    if (status != OPD_OK) {
        require_refusal(status);
        return;
    }
    unsigned last = 12;
    for (unsigned seed = 0; seed < last; seed++) {
        opd_onnx_example *example = NULL;
        unsigned choice = seed * 7 + (size > 0 ? data[size - 1] : 0);
        int count = make_inputs(inputs, model, choice);
        status = opd_onnx_example_make(&example, model, inputs, count, NULL, 0);
        if (status != OPD_OK) {
            require_refusal(status);
            continue;
        }
        const opd_call *call = &example->call;
        for (int i = 0; i < call->operand_count; i++) {
            bool is_absent = (call->operands[i].flags & OPD_OPERAND_ABSENT) != 0;
            require(is_absent || opd_tensor_check(&call->operands[i].view) == OPD_OK);
            require(is_absent || call->operands[i].role != OPD_ROLE_IN || call->operands[i].view.data != NULL);
        }
        char text[512];
        opd_call_describe(text, sizeof text, call);
        opd_onnx_example_free(example);
    }
    opd_onnx_model_close(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    opd_error_clear();
    try_tensor(data, size);
    opd_error_clear();
    try_model(data, size);
    return 0;
}
