/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the windows of convolutions and poolings lie, for the definitions.
 * source    oneDNN developer guide 2.6, "Convolution": the formulas of strides, dilations and padding.
 */
#include <string.h>

#include "dnnl_reference.h"

bool opd_dnnl_next(int64_t *at, const int64_t *sizes, int count)
{
    for (int d = count - 1; d >= 0; d--) {
        if (++at[d] < sizes[d]) {
            return true;
        }
        at[d] = 0;
    }
    return false;
}

bool opd_dnnl_is_wanted(const opd_dnnl_definition *of, const char *name)
{
    return strcmp(of->wanted, name) == 0;
}

bool opd_dnnl_under(int64_t *image, const opd_dnnl_definition *of, const int64_t *sizes, const int64_t *result,
                    const int64_t *kernel)
{
    for (int j = 0; j < of->spatial; j++) {
        image[j] = result[j] * of->strides[j] - of->pads[j] + kernel[j] * of->dilates[j];
        if (image[j] < 0 || image[j] >= sizes[j]) {
            return false;
        }
    }
    return true;
}

bool opd_dnnl_over(int64_t *result, const opd_dnnl_definition *of, const int64_t *sizes, const int64_t *image,
                   const int64_t *kernel)
{
    for (int j = 0; j < of->spatial; j++) {
        int64_t from = image[j] + of->pads[j] - kernel[j] * of->dilates[j];
        if (from < 0 || from % of->strides[j] != 0 || from / of->strides[j] >= sizes[j]) {
            return false;
        }
        result[j] = from / of->strides[j];
    }
    return true;
}
