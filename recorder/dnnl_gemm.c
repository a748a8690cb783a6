/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrappers of oneDNN's matrix products that are no primitives: dnnl_sgemm and its like. There is nothing to keep ready for them: a call's words are made when it is
 * made. A transposed matrix is one of the other layout.
 */
#include <string.h>

#include <oneapi/dnnl/dnnl.h>

#include "dnnl_primitives.h"

OPD_DNNL_SITE(dnnl_sgemm);
OPD_DNNL_SITE(dnnl_gemm_u8s8s32);
OPD_DNNL_SITE(dnnl_gemm_s8s8s32);

enum { OPERANDS = 4 };

/* A call in the making: operands in the order of OPD_DNNL_PRODUCT_A .. CO. */
typedef struct product {
    opd_dnnl_product what;
    dnnl_dim_t m, n, k;
    const void *data[OPERANDS];
    dnnl_memory_desc_t mds[OPERANDS];
    bool is_legal;
} product;

static const dnnl_memory_desc_t *find_operand(void *context, int arg)
{
    const product *of = context;
    return arg >= OPD_DNNL_PRODUCT_A && arg <= OPD_DNNL_PRODUCT_CO ? &of->mds[arg - OPD_DNNL_PRODUCT_A] : NULL;
}

static int upper(char letter)
{
    return letter >= 'a' && letter <= 'z' ? letter - 'a' + 'A' : letter;
}

/* rows x columns as they count in the product; ld: from one row in memory to the next. */
static void add_matrix(product *of, int which, dnnl_data_type_t type, const dnnl_dim_t sizes[2], int trans,
                       dnnl_dim_t ld)
{
    dnnl_memory_desc_t *md = &of->mds[which - OPD_DNNL_PRODUCT_A];
    bool is_turned = trans == 'T';
    memset(md, 0, sizeof(*md));
    md->ndims = 2;
    md->data_type = type;
    md->format_kind = dnnl_blocked;
    for (int d = 0; d < 2; d++) {
        md->dims[d] = sizes[d];
        md->padded_dims[d] = sizes[d];
        md->format_desc.blocking.strides[d] = (d == 0) == is_turned ? 1 : ld;
    }
    of->is_legal = of->is_legal && sizes[0] > 0 && sizes[1] > 0 && ld >= sizes[is_turned ? 0 : 1] &&
                   of->data[which - OPD_DNNL_PRODUCT_A] != NULL && (is_turned || trans == 'N');
}

static void add_offsets(product *of)
{
    dnnl_memory_desc_t *md = &of->mds[OPD_DNNL_PRODUCT_CO - OPD_DNNL_PRODUCT_A];
    int letter = of->what.offsetc;
    memset(md, 0, sizeof(*md));
    md->ndims = letter != 0;
    md->data_type = dnnl_s32;
    md->format_kind = dnnl_blocked;
    md->dims[0] = letter == 'C' ? of->m : letter == 'R' ? of->n : 1;
    md->padded_dims[0] = md->dims[0];
    md->format_desc.blocking.strides[0] = 1;
    of->is_legal = of->is_legal && (letter == 0 || letter == 'C' || letter == 'R' || letter == 'F') &&
                   (letter == 0) == (of->data[OPD_DNNL_PRODUCT_CO - OPD_DNNL_PRODUCT_A] == NULL);
}

/* What the library refuses, and products of nothing, are not recorded. */
static __attribute__((noinline)) void begin(opd_wrapped *frame, const opd_site *site, const opd_target *target,
                                            product *of, const void *from)
{
    opd_dnnl_primitive now;
    opd_dnnl_facts facts = { .kind = dnnl_gemm,
                             .routine = site->symbol,
                             .descriptor = &of->what,
                             .implementation = "",
                             .memory = find_operand,
                             .context = of };
    opd_dnnl_execution execution = { .primitive = &now, .target = target, .return_address = from };
    frame->slot = NULL;
    of->what.kind = dnnl_gemm;
    if (!of->is_legal) {
        return;
    }
    opd_dnnl_prepare_product(&now, &facts);
    for (int i = 0; i < now.operand_count; i++) {
        now.fixed[i] = of->data[now.args[i] - OPD_DNNL_PRODUCT_A];
        now.fixed_bits |= UINT32_C(1) << i;
    }
    opd_dnnl_begin(frame, site, &execution);
}

/* NOLINTNEXTLINE(readability-function-size): the library's parameters */
OPD_PUBLIC OPD_WRAPPER dnnl_status_t dnnl_sgemm(char transa, char transb, dnnl_dim_t m, dnnl_dim_t n, dnnl_dim_t k,
                                                float alpha, const float *a, dnnl_dim_t lda, const float *b,
                                                dnnl_dim_t ldb, float beta, float *c, dnnl_dim_t ldc)
{
    const void *from = __builtin_return_address(0);
    const opd_target *target = opd_target_of(&dnnl_sgemm_site, from);
    OPD_DNNL_TRUE_OF(dnnl_sgemm, target);
    if (!opd_is_recorded(target)) {
        return true_dnnl_sgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    }
    opd_wrapped frame;
    product of = { .what = { .transa = upper(transa), .transb = upper(transb), .alpha = alpha, .beta = beta },
                   .m = m,
                   .n = n,
                   .k = k,
                   .data = { a, b, c, NULL },
                   .is_legal = true };
    add_matrix(&of, OPD_DNNL_PRODUCT_A, dnnl_f32, (const dnnl_dim_t[]){ m, k }, of.what.transa, lda);
    add_matrix(&of, OPD_DNNL_PRODUCT_B, dnnl_f32, (const dnnl_dim_t[]){ k, n }, of.what.transb, ldb);
    add_matrix(&of, OPD_DNNL_PRODUCT_C, dnnl_f32, (const dnnl_dim_t[]){ m, n }, 'N', ldc);
    add_offsets(&of);
    begin(&frame, &dnnl_sgemm_site, target, &of, from);
    dnnl_status_t status = true_dnnl_sgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
    opd_interpose_end(&frame, NULL, 0);
    return status;
}

/* The products of 8-bit integers differ in the type of a only. */
#define INTEGER_PRODUCT(name, type, dtype)                                                                         \
    OPD_PUBLIC OPD_WRAPPER dnnl_status_t name(char transa, char transb, char offsetc, dnnl_dim_t m, dnnl_dim_t n,  \
                                              dnnl_dim_t k, float alpha, const type *a, dnnl_dim_t lda, type ao,   \
                                              const int8_t *b, dnnl_dim_t ldb, int8_t bo, float beta, int32_t *c,  \
                                              dnnl_dim_t ldc, const int32_t *co)                                   \
    {                                                                                                              \
        const void *from = __builtin_return_address(0);                                                            \
        const opd_target *target = opd_target_of(&name##_site, from);                                              \
        OPD_DNNL_TRUE_OF(name, target);                                                                            \
        if (!opd_is_recorded(target)) {                                                                            \
            return true_##name(transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo, beta, c, ldc, co); \
        }                                                                                                          \
        opd_wrapped frame;                                                                                         \
        product of = { .what = { .transa = upper(transa),                                                          \
                                 .transb = upper(transb),                                                          \
                                 .offsetc = upper(offsetc),                                                        \
                                 .ao = ao,                                                                         \
                                 .bo = bo,                                                                         \
                                 .alpha = alpha,                                                                   \
                                 .beta = beta },                                                                   \
                       .m = m,                                                                                     \
                       .n = n,                                                                                     \
                       .k = k,                                                                                     \
                       .data = { a, b, c, co },                                                                    \
                       .is_legal = true };                                                                         \
        add_matrix(&of, OPD_DNNL_PRODUCT_A, dtype, (const dnnl_dim_t[]){ m, k }, of.what.transa, lda);             \
        add_matrix(&of, OPD_DNNL_PRODUCT_B, dnnl_s8, (const dnnl_dim_t[]){ k, n }, of.what.transb, ldb);           \
        add_matrix(&of, OPD_DNNL_PRODUCT_C, dnnl_s32, (const dnnl_dim_t[]){ m, n }, 'N', ldc);                     \
        add_offsets(&of);                                                                                          \
        begin(&frame, &name##_site, target, &of, from);                                                            \
        dnnl_status_t status =                                                                                     \
            true_##name(transa, transb, offsetc, m, n, k, alpha, a, lda, ao, b, ldb, bo, beta, c, ldc, co);        \
        opd_interpose_end(&frame, NULL, 0);                                                                        \
        return status;                                                                                             \
    }

/* NOLINTBEGIN(readability-function-size): the library's parameters */
INTEGER_PRODUCT(dnnl_gemm_u8s8s32, uint8_t, dnnl_u8)
INTEGER_PRODUCT(dnnl_gemm_s8s8s32, int8_t, dnnl_s8)
/* NOLINTEND(readability-function-size) */
