/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Definitions of convolution, its transposed, their gradients, inner product and matrix product.
 * source    oneDNN developer guide 2.6, "Convolution", "Inner Product", "Matrix Multiplication": the formulas.
 */
#include <math.h>
#include <string.h>

#include "dnnl_reference.h"

/* The index of a filter's element in its memory: with groups or without. channels: group, out, in. */
static void filter_index(int64_t *index, const opd_dnnl_definition *of, const int64_t channels[3],
                         const int64_t *kernel)
{
    int at = of->weights.rank == of->spatial + 3 ? 0 : 1;
    memcpy(index, channels + at, (size_t)(3 - at) * sizeof index[0]);
    memcpy(index + 3 - at, kernel, (size_t)of->spatial * sizeof kernel[0]);
}

/*
 * Sum over the channels and kernel elements of data at the positions that place finds, times weights. is_transposed: data has the input's channels, which are
 * the filter's second dimension.
 */
typedef bool place_function(int64_t *, const opd_dnnl_definition *, const int64_t *, const int64_t *, const int64_t *);
static bool sum_window(opd_dnnl_sum *out, const opd_dnnl_definition *of, const opd_dnnl_source *data, const int64_t *at,
                       place_function *place, bool is_second)
{
    if (data->data == NULL || of->weights.data == NULL) {
        return false;
    }
    int64_t channels = data->dims[1] / of->groups; /* summed over */
    int64_t own = of->wanted_dims[1] / of->groups;
    int64_t group = at[1] / own;
    int64_t index[DNNL_MAX_NDIMS] = { at[0] };
    int64_t filter[DNNL_MAX_NDIMS];
    int64_t kernel[3] = { 0 };
    do {
        if (!place(index + 2, of, data->dims + 2, at + 2, kernel)) {
            continue;
        }
        for (int64_t c = 0; c < channels; c++) {
            index[1] = group * channels + c;
            const int64_t channels_of[3] = { group, is_second ? at[1] % own : c, is_second ? c : at[1] % own };
            filter_index(filter, of, channels_of, kernel);
            opd_dnnl_add(out, of, opd_dnnl_read(data, index), opd_dnnl_read(&of->weights, filter));
        }
    } while (opd_dnnl_next(kernel, of->kernel, of->spatial));
    return true;
}

static bool add_bias(opd_dnnl_sum *out, const opd_dnnl_definition *of, int64_t channel)
{
    if (of->bias.data != NULL) {
        opd_dnnl_add(out, of, opd_dnnl_read(&of->bias, &channel), 1);
    }
    return true;
}

/* Sum over images and positions of the gradient, of one channel. */
static bool sum_bias(opd_dnnl_sum *out, const opd_dnnl_definition *of, int64_t channel)
{
    int64_t at[DNNL_MAX_NDIMS] = { 0, channel };
    for (int64_t n = 0; n < of->diff_dst.dims[0]; n++) {
        at[0] = n;
        do {
            opd_dnnl_add(out, of, opd_dnnl_read(&of->diff_dst, at), 1);
        } while (opd_dnnl_next(at + 2, of->diff_dst.dims + 2, of->diff_dst.rank - 2));
    }
    return true;
}

/* Gradient of a filter's element: image is what lies under the window, result what stands for it. */
static bool sum_filter(opd_dnnl_sum *out, const opd_dnnl_definition *of, const opd_dnnl_source *image,
                       const opd_dnnl_source *result, const int64_t *at, bool is_transposed)
{
    int shift = of->wanted_rank == of->spatial + 3 ? 1 : 0;
    int64_t group = shift != 0 ? at[0] : 0;
    int64_t in_channel = at[shift + (is_transposed ? 0 : 1)];
    int64_t out_channel = at[shift + (is_transposed ? 1 : 0)];
    int64_t from[DNNL_MAX_NDIMS] = { 0, group * (image->dims[1] / of->groups) + in_channel };
    int64_t to[DNNL_MAX_NDIMS] = { 0, group * (result->dims[1] / of->groups) + out_channel };
    for (int64_t n = 0; n < image->dims[0]; n++) {
        from[0] = n;
        to[0] = n;
        do {
            if (opd_dnnl_under(from + 2, of, image->dims + 2, to + 2, at + shift + 2)) {
                opd_dnnl_add(out, of, opd_dnnl_read(image, from), opd_dnnl_read(result, to));
            }
        } while (opd_dnnl_next(to + 2, result->dims + 2, of->spatial));
    }
    return true;
}

static bool has_gradient_inputs(const opd_dnnl_definition *of)
{
    return of->src.data != NULL && of->diff_dst.data != NULL;
}

bool opd_dnnl_convolution_element(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at)
{
    if (opd_dnnl_is_wanted(of, "dst")) {
        return sum_window(out, of, &of->src, at, opd_dnnl_under, true) && add_bias(out, of, at[1]);
    }
    if (opd_dnnl_is_wanted(of, "diff_src")) {
        return sum_window(out, of, &of->diff_dst, at, opd_dnnl_over, false);
    }
    if (!has_gradient_inputs(of)) {
        return false;
    }
    return opd_dnnl_is_wanted(of, "diff_bias") ? sum_bias(out, of, at[0])
                                               : sum_filter(out, of, &of->src, &of->diff_dst, at, false);
}

bool opd_dnnl_deconvolution_element(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at)
{
    if (opd_dnnl_is_wanted(of, "dst")) {
        return sum_window(out, of, &of->src, at, opd_dnnl_over, true) && add_bias(out, of, at[1]);
    }
    if (opd_dnnl_is_wanted(of, "diff_src")) {
        return sum_window(out, of, &of->diff_dst, at, opd_dnnl_under, false);
    }
    if (!has_gradient_inputs(of)) {
        return false;
    }
    return opd_dnnl_is_wanted(of, "diff_bias") ? sum_bias(out, of, at[0])
                                               : sum_filter(out, of, &of->diff_dst, &of->src, at, true);
}

bool opd_dnnl_inner_product_element(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at)
{
    int64_t a[DNNL_MAX_NDIMS] = { at[0] };
    int64_t b[DNNL_MAX_NDIMS] = { 0 };
    if (opd_dnnl_is_wanted(of, "dst")) {
        if (of->src.data == NULL || of->weights.data == NULL) {
            return false;
        }
        b[0] = at[1];
        do {
            memcpy(b + 1, a + 1, sizeof a - sizeof a[0]);
            opd_dnnl_add(out, of, opd_dnnl_read(&of->src, a), opd_dnnl_read(&of->weights, b));
        } while (opd_dnnl_next(a + 1, of->src.dims + 1, of->src.rank - 1));
        return add_bias(out, of, at[1]);
    }
    if (of->diff_dst.data == NULL) {
        return false;
    }
    if (opd_dnnl_is_wanted(of, "diff_bias")) {
        return sum_bias(out, of, at[0]);
    }
    bool is_data = opd_dnnl_is_wanted(of, "diff_src");
    const opd_dnnl_source *other = is_data ? &of->weights : &of->src;
    int64_t terms = of->diff_dst.dims[is_data ? 1 : 0];
    if (other->data == NULL) {
        return false;
    }
    memcpy(b, at, (size_t)of->wanted_rank * sizeof b[0]);
    for (int64_t i = 0; i < terms; i++) {
        b[0] = i;
        const int64_t gradient[2] = { is_data ? at[0] : i, is_data ? i : at[0] };
        opd_dnnl_add(out, of, opd_dnnl_read(&of->diff_dst, gradient), opd_dnnl_read(other, b));
    }
    return true;
}

/* Integers only where nothing is rounded: alpha 1, the result taken as it is or not at all. */
bool opd_dnnl_gemm_element(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at)
{
    long double alpha = (long double)opd_call_real(of->call, "alpha", 1);
    long double beta = (long double)opd_call_real(of->call, "beta", 0);
    long double ao = (long double)opd_call_int(of->call, "ao", 0);
    long double bo = (long double)opd_call_int(of->call, "bo", 0);
    bool is_exact = alpha == 1 && (beta == 0 || beta == 1);
    if (of->src.data == NULL || of->weights.data == NULL || (!opd_dtype_is_float(of->src.dtype) && !is_exact)) {
        return false;
    }
    for (int64_t k = 0; k < of->src.dims[1]; k++) {
        const int64_t a[] = { at[0], k };
        const int64_t b[] = { k, at[1] };
        opd_dnnl_add(out, of, opd_dnnl_read(&of->src, a) - ao, opd_dnnl_read(&of->weights, b) - bo);
    }
    out->value = opd_dnnl_round(of, alpha * out->value);
    out->gauge *= fabsl(alpha);
    if (beta != 0) {
        opd_dnnl_add(out, of, beta, opd_dnnl_read(&of->dst, at));
    }
    if (of->bias.data != NULL) {
        bool is_by_row = opd_call_text(of->call, "offsetc", "")[0] == 'C';
        opd_dnnl_add(out, of, opd_dnnl_read(&of->bias, is_by_row ? &at[0] : &at[1]), 1);
    }
    return true;
}

bool opd_dnnl_matmul_element(opd_dnnl_sum *out, const opd_dnnl_definition *of, const int64_t *at)
{
    int64_t a[DNNL_MAX_NDIMS];
    int64_t b[DNNL_MAX_NDIMS];
    if (of->src.data == NULL || of->weights.data == NULL) {
        return false;
    }
    memcpy(a, at, (size_t)of->wanted_rank * sizeof a[0]);
    memcpy(b, at, (size_t)of->wanted_rank * sizeof b[0]);
    for (int64_t k = 0; k < of->src.dims[of->src.rank - 1]; k++) {
        a[of->wanted_rank - 1] = k;
        b[of->wanted_rank - 2] = k;
        opd_dnnl_add(out, of, opd_dnnl_read(&of->src, a), opd_dnnl_read(&of->weights, b));
    }
    if (of->bias.data != NULL) {
        opd_dnnl_add(out, of, opd_dnnl_read(&of->bias, at), 1);
    }
    return true;
}
