/* SPDX-License-Identifier: Apache-2.0 */
/* A program that runs oneDNN primitives on 8-bit integers, with scales and zero points of every sort, and the library's matrix products that are no primitives; prints nothing but what fails. */
#include <string.h>

#include "dnnl_frame.h"

#define CHANNELS 8

static const int args_of_all[] = { DNNL_ARG_SRC, DNNL_ARG_SRC_1, DNNL_ARG_WEIGHTS, DNNL_ARG_BIAS, DNNL_ARG_DST, 0 };

/* How a primitive is quantized: one number, one for each channel (mask), or numbers that come with the execution. */
typedef struct quant {
    int arg; /* DNNL_ARG_ATTR_... */
    int mask;
    bool is_late;
    float scale; /* of the first channel */
    int32_t zero;
} quant;

static void set(dnnl_primitive_attr_t attr, const quant *of)
{
    const int kinds = DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_ATTR_INPUT_SCALES;
    dnnl_dim_t count = of->mask != 0 && !of->is_late ? CHANNELS : 1;
    float scales[CHANNELS];
    int32_t zeros[CHANNELS];
    for (int i = 0; i < CHANNELS; i++) {
        scales[i] = of->is_late ? DNNL_RUNTIME_F32_VAL : of->scale * (float)(i + 1);
        zeros[i] = of->is_late ? DNNL_RUNTIME_S32_VAL : of->zero + i;
    }
    if ((of->arg & DNNL_ARG_ATTR_ZERO_POINTS) != 0) {
        CHECK(dnnl_primitive_attr_set_zero_points(attr, of->arg & ~kinds, count, of->mask, zeros));
    } else if (of->arg == DNNL_ARG_ATTR_OUTPUT_SCALES) {
        CHECK(dnnl_primitive_attr_set_output_scales(attr, count, of->mask, scales));
    } else {
        CHECK(dnnl_primitive_attr_set_scales(attr, of->arg & ~kinds, count, of->mask, scales));
    }
}

/* The numbers of this execution, as memory that the program changes afterwards. */
static void give(run *r, const quant *of)
{
    dnnl_dim_t dims[] = { of->mask != 0 ? CHANNELS : 1 };
    bool is_zero = (of->arg & DNNL_ARG_ATTR_ZERO_POINTS) != 0;
    dnnl_memory_desc_t desc = typed(1, dims, is_zero ? dnnl_s32 : dnnl_f32, dnnl_a);
    add_memory(r, of->arg, &desc);
    for (int i = 0; i < dims[0]; i++) {
        if (is_zero) {
            ((int32_t *)r->memory[r->count - 1])[i] = of->zero + i;
        } else {
            ((float *)r->memory[r->count - 1])[i] = of->scale * (float)(i + 1);
        }
    }
}

static dnnl_primitive_attr_t attributes(const quant *quants, int count)
{
    dnnl_primitive_attr_t attr;
    CHECK(dnnl_primitive_attr_create(&attr));
    for (int i = 0; i < count; i++) {
        set(attr, &quants[i]);
    }
    return attr;
}

/* The descriptor and its attributes are gone when the primitive is executed. */
static void finish(run *r, dnnl_primitive_attr_t attr, const quant *quants, int count)
{
    CHECK(dnnl_primitive_attr_destroy(attr));
    for (int i = 0; i < count; i++) {
        if (quants[i].is_late) {
            give(r, &quants[i]);
        }
    }
    execute(r, args_of_all, NULL);
    end(r);
}

static void convolution(dnnl_data_type_t src_type, dnnl_data_type_t dst_type, const quant *quants, int count)
{
    const dnnl_dim_t src_dims[] = { 2, 4, 7, 6 };
    const dnnl_dim_t filter_dims[] = { CHANNELS, 4, 3, 3 };
    const dnnl_dim_t bias_dims[] = { CHANNELS };
    const dnnl_dim_t dst_dims[] = { 2, CHANNELS, 7, 6 };
    const dnnl_dims_t one = { 1, 1 };
    dnnl_memory_desc_t src = typed(4, src_dims, src_type, dnnl_nhwc);
    dnnl_memory_desc_t weights = typed(4, filter_dims, dnnl_s8, dnnl_format_tag_any);
    dnnl_memory_desc_t bias = typed(1, bias_dims, dnnl_s32, dnnl_a);
    dnnl_memory_desc_t dst = typed(4, dst_dims, dst_type, dnnl_nhwc);
    dnnl_primitive_attr_t attr = attributes(quants, count);
    dnnl_convolution_desc_t op;
    run r;
    CHECK(dnnl_convolution_forward_desc_init(&op, dnnl_forward_inference, dnnl_convolution_direct, &src, &weights,
                                             &bias, &dst, one, one, one));
    start(&r, &op, attr, NULL);
    finish(&r, attr, quants, count);
}

static void matmul(dnnl_data_type_t dst_type, const quant *quants, int count)
{
    const dnnl_dim_t src_dims[] = { 5, 6 };
    const dnnl_dim_t weights_dims[] = { 6, CHANNELS };
    const dnnl_dim_t dst_dims[] = { 5, CHANNELS };
    dnnl_memory_desc_t src = typed(2, src_dims, dnnl_u8, dnnl_ab);
    dnnl_memory_desc_t weights = typed(2, weights_dims, dnnl_s8, dnnl_ab);
    dnnl_memory_desc_t dst = typed(2, dst_dims, dst_type, dnnl_ab);
    dnnl_primitive_attr_t attr = attributes(quants, count);
    dnnl_matmul_desc_t op;
    run r;
    CHECK(dnnl_matmul_desc_init(&op, &src, &weights, NULL, &dst));
    start(&r, &op, attr, NULL);
    finish(&r, attr, quants, count);
}

static void inner_product(dnnl_data_type_t dst_type, const quant *quants, int count)
{
    const dnnl_dim_t src_dims[] = { 3, 12 };
    const dnnl_dim_t filter_dims[] = { CHANNELS, 12 };
    const dnnl_dim_t dst_dims[] = { 3, CHANNELS };
    dnnl_memory_desc_t src = typed(2, src_dims, dnnl_u8, dnnl_ab);
    dnnl_memory_desc_t weights = typed(2, filter_dims, dnnl_s8, dnnl_format_tag_any);
    dnnl_memory_desc_t dst = typed(2, dst_dims, dst_type, dnnl_ab);
    dnnl_primitive_attr_t attr = attributes(quants, count);
    dnnl_inner_product_desc_t op;
    run r;
    CHECK(dnnl_inner_product_forward_desc_init(&op, dnnl_forward_inference, &src, &weights, NULL, &dst));
    start(&r, &op, attr, NULL);
    finish(&r, attr, quants, count);
}

static void binary(const quant *quants, int count)
{
    const dnnl_dim_t dims[] = { 2, 5, 3, 4 };
    dnnl_memory_desc_t data = typed(4, dims, dnnl_s8, dnnl_nchw);
    dnnl_primitive_attr_t attr = attributes(quants, count);
    dnnl_binary_desc_t op;
    run r;
    CHECK(dnnl_binary_desc_init(&op, dnnl_binary_add, &data, &data, &data));
    start(&r, &op, attr, NULL);
    finish(&r, attr, quants, count);
}

static void reorder(const quant *quants, int count)
{
    const dnnl_dim_t dims[] = { 2, CHANNELS, 3, 4 };
    dnnl_memory_desc_t src = plain(4, dims);
    dnnl_memory_desc_t dst = typed(4, dims, dnnl_s8, dnnl_nhwc);
    dnnl_primitive_attr_t attr = attributes(quants, count);
    run r;
    memset(&r, 0, sizeof r);
    CHECK(dnnl_reorder_primitive_desc_create(&r.desc, &src, engine, &dst, engine, attr));
    finish(&r, attr, quants, count);
}

/* Products that are no primitives: transposed and not, in larger matrices, added to what is there. */
static void products(void)
{
    enum { M = 5, N = 4, K = 3, LD = 8 };
    static float a[LD * LD];
    static float b[LD * LD];
    static float c[LD * LD];
    static uint8_t u[LD * LD];
    static int8_t s[LD * LD];
    static int32_t sums[LD * LD];
    static const int32_t offsets[M] = { 10, 20, 30, 40, 50 };
    for (int i = 0; i < LD * LD; i++) {
        a[i] = (float)(i % 7) - 3;
        b[i] = (float)(i % 5) / 4;
        c[i] = (float)i;
        u[i] = (uint8_t)(i % 100);
        s[i] = (int8_t)(i % 50 - 25);
    }
    CHECK(dnnl_sgemm('N', 'N', M, N, K, 1, a, K, b, N, 0, c, N));
    CHECK(dnnl_sgemm('t', 'N', M, N, K, 0.5F, a, LD, b, LD, 2, c, LD));
    CHECK(dnnl_sgemm('N', 'T', 1, N, K, 1, a, LD, b, K, 1, c, LD));
    CHECK(dnnl_gemm_u8s8s32('N', 'N', 'F', M, N, K, 1, u, LD, 3, s, LD, -2, 0, sums, LD, offsets));
    CHECK(dnnl_gemm_u8s8s32('T', 'N', 'C', M, N, K, 1, u, LD, 0, s, LD, 0, 1, sums, LD, offsets));
    CHECK(dnnl_gemm_s8s8s32('N', 'T', 'R', M, N, K, 1, s, LD, 1, s, LD, 0, 0, sums, LD, offsets));
    CHECK(dnnl_gemm_s8s8s32('N', 'N', 'R', M, N, K, 0.5F, s, LD, 1, s, LD, 0, 0, sums, LD, offsets));
    if (dnnl_sgemm('N', 'N', M, N, K, 1, a, K - 1, b, N, 0, c, N) ==
        dnnl_success) { /* is refused, with the recorder or without */
        fprintf(stderr, "rows that overlap were taken\n");
        exit(1);
    }
}

int main(void)
{
    const quant one = { DNNL_ARG_ATTR_OUTPUT_SCALES, 0, false, 0.25F, 0 };
    const quant each = { DNNL_ARG_ATTR_OUTPUT_SCALES, 1 << 1, false, 0.125F, 0 };
    const quant late = { DNNL_ARG_ATTR_OUTPUT_SCALES, 0, true, 0.25F, 0 };
    const quant late_each = { DNNL_ARG_ATTR_OUTPUT_SCALES, 1 << 1, true, 0.125F, 0 };
    const quant zeros[] = { { DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, 0, false, 1, 3 },
                            { DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST, 0, false, 1, 5 } };
    const quant late_zeros[] = { { DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC, 0, true, 1, 3 },
                                 { DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_WEIGHTS, 0, true, 1, -2 },
                                 { DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_DST, 0, true, 1, 5 },
                                 { DNNL_ARG_ATTR_OUTPUT_SCALES, 1 << 1, true, 0.125F, 0 } };
    const quant inputs[] = { { DNNL_ARG_ATTR_INPUT_SCALES | DNNL_ARG_SRC_0, 0, false, 0.5F, 0 },
                             { DNNL_ARG_ATTR_INPUT_SCALES | DNNL_ARG_SRC_1, 0, false, 0.25F, 0 } };
    CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
    CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    convolution(dnnl_u8, dnnl_s32, NULL, 0);
    convolution(dnnl_u8, dnnl_f32, &one, 1);
    convolution(dnnl_u8, dnnl_f32, &each, 1);
    convolution(dnnl_u8, dnnl_u8, &each, 1);
    matmul(dnnl_s8, &late_each, 1);
    convolution(dnnl_u8, dnnl_s32, zeros, 2);
    convolution(dnnl_s8, dnnl_f32, &each, 1);
    matmul(dnnl_f32, &each, 1);
    matmul(dnnl_s32, zeros, 2);
    matmul(dnnl_f32, late_zeros, 2);
    matmul(dnnl_s8, late_zeros, 4);
    inner_product(dnnl_f32, &each, 1);
    inner_product(dnnl_s8, &one, 1);
    binary(inputs, 2);
    reorder(&one, 1);
    reorder(&each, 1);
    reorder(&late, 1);
    products();
    dnnl_stream_destroy(stream);
    dnnl_engine_destroy(engine);
    return 0;
}
