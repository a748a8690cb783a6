/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of a oneDNN call: of windows and products two for each pair of factors, else one for each element of the largest operand. */
#include <string.h>

#include "dnnl_define.h"
#include "dnnl_form.h"

static double elements(const opd_call *call, const char *name)
{
    for (int i = 0; i < call->operand_count; i++) {
        if (strcmp(call->operands[i].name, name) == 0) {
            return (double)opd_tensor_count(&call->operands[i].view);
        }
    }
    return 0;
}

static double symbol(const opd_call *call, const char *name)
{
    return (double)opd_dnnl_symbol(call, name, 1);
}

double opd_dnnl_work(const opd_call *call)
{
    double largest = 0;
    double filters = elements(call, "weights") + elements(call, "diff_weights");
    switch (opd_dnnl_kind(call)) {
    case dnnl_convolution:
    case dnnl_deconvolution: {
        double result = elements(call, "dst") + elements(call, "diff_dst");
        double image = elements(call, "src") + elements(call, "diff_src");
        double side = opd_dnnl_kind(call) == dnnl_convolution ? result : image;
        double channels =
            symbol(call, "g") * (opd_dnnl_kind(call) == dnnl_convolution ? symbol(call, "oc") : symbol(call, "ic"));
        return 2 * filters * (channels > 0 ? side / channels : 0);
    }
    case dnnl_inner_product:
        return 2 * filters * symbol(call, "mb");
    case dnnl_rnn: { /* a gradient takes a product for the data and one for the weights */
        double weights = elements(call, "weights_layer") + elements(call, "weights_iter");
        return 2 * weights * symbol(call, "t") * symbol(call, "mb") * (elements(call, "diff_dst_layer") > 0 ? 2 : 1);
    }
    case dnnl_gemm:
        return 2 * elements(call, "c") * symbol(call, "k");
    case dnnl_matmul:
        return 2 * elements(call, "dst") * symbol(call, "k");
    default:
        break;
    }
    for (int i = 0; i < call->operand_count; i++) {
        double count = (double)opd_tensor_count(&call->operands[i].view);
        largest = count > largest ? count : largest;
    }
    return largest * symbol(call, "kd") * symbol(call, "kh") * symbol(call, "kw");
}
