/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oneDNN primitives, and its matrix products that are none, as calls of the domain "dnnl", and back. A primitive is recorded as its operator ("convolution
 * backward_weights"), the sizes of its logical dimensions as symbols, the numbers of its descriptor as attributes, and for
 * each argument of execute an operand: raw storage, whose layout stands in the attribute "<operand>.md".
 *
 * layout    "acdb": dimensions from the largest stride to the smallest, dense. "aBcd8b": b in blocks of 8, which are the innermost
 *           dimension. "abcd:96,32,8,1": strides of a, b, c, d in elements, where they are not dense. "ab*1": the dimensions of
 *           the mask are 1 where the symbol says more (broadcast). "ABcd4b+flags/mask/factor/mask": weights with sums for a compensation behind them, as in
 *           dnnl_memory_extra_desc_t: bytes. "?" a layout that only the library knows: bytes.
 * view      plain layouts: the logical dimensions with their strides. Blocked ones: the outer dimensions, padded, then the blocks.
 * source    oneDNN 2.6, dnnl_types.h.
 */
#ifndef OPSDEBUG_DNNL_H
#define OPSDEBUG_DNNL_H

#include <oneapi/dnnl/dnnl_types.h>

#include <opsdebug/op.h>

#ifdef __cplusplus
extern "C" {
#endif

#define OPD_DNNL_DOMAIN   "dnnl"
#define OPD_DNNL_LIBRARY  "libdnnl.so.2"
#define OPD_DNNL_POST_OPS 4
#define OPD_DNNL_QUANTS   6

/* Descriptor of an argument of execute; NULL or ndims 0 = the primitive has none. */
typedef const dnnl_memory_desc_t *opd_dnnl_find_memory(void *context, int arg);

/* A post-op, as it goes into and comes out of attributes. */
typedef struct opd_dnnl_post_op {
    dnnl_primitive_kind_t kind; /* sum, eltwise, binary */
    dnnl_alg_kind_t alg;
    float scale, alpha, beta; /* sum: scale */
    int32_t zero_point;       /* sum */
    dnnl_data_type_t dtype;   /* sum */
} opd_dnnl_post_op;

/* Scales or zero points of one argument, or scales of the output. */
typedef struct opd_dnnl_quant {
    int arg;             /* of execute: DNNL_ARG_ATTR_..., for one argument | that argument */
    int mask;            /* dimensions that have a number each */
    bool is_late;        /* the numbers come with each execution */
    int64_t count;       /* numbers; late: not known to a descriptor */
    float scale;         /* where it is one */
    int32_t zero;        /* likewise */
    const void *numbers; /* of a descriptor, where they are several: float or int32_t */
    int operand;         /* of a call: what holds them; -1 = scale or zero does */
} opd_dnnl_quant;

/* A matrix product of dnnl_sgemm() and its like, which is no primitive; letters as given. */
typedef struct opd_dnnl_product {
    dnnl_primitive_kind_t kind;  /* dnnl_gemm */
    int transa, transb, offsetc; /* offsetc: 0 where there are no offsets */
    int ao, bo;
    float alpha, beta;
} opd_dnnl_product;

/* DNNL_ARG_ of its operands, in the order of the call. */
enum { OPD_DNNL_PRODUCT_A = 1, OPD_DNNL_PRODUCT_B, OPD_DNNL_PRODUCT_C, OPD_DNNL_PRODUCT_CO };

/* What a primitive descriptor says of itself. */
typedef struct opd_dnnl_facts {
    dnnl_primitive_kind_t kind;
    const char
        *routine; /* of a product that is no primitive, whose descriptor is an opd_dnnl_product; NULL: a primitive */
    const void *descriptor; /* the operation descriptor; NULL: reorder, concat, sum */
    const char *implementation;
    int threads;
    opd_dnnl_find_memory *memory;
    void *context;
    const float *sum_scales; /* sum only */
    int quant_count;
    opd_dnnl_quant quants[OPD_DNNL_QUANTS];
    int post_op_count;
    opd_dnnl_post_op post_ops[OPD_DNNL_POST_OPS];
    bool is_odd; /* has attributes that are not recorded: cannot be replayed */
} opd_dnnl_facts;

/*
 * The call of a primitive: views without data. args[i]: DNNL_ARG_ of operand i. Operators, layouts and attributes that are not known here
 * give a call without op.
 * memory    no allocation.
 * errors    E_UNSUPPORTED nothing can be said of it (no memory descriptor, runtime dimensions).
 */
opd_status opd_dnnl_call(opd_call *out, int args[OPD_MAX_OPERANDS], const opd_dnnl_facts *facts);

/* DNNL_ARG_ of an operand of a call; 0 when its operator is not known. */
int opd_dnnl_arg(const opd_call *call, int operand);
/* Descriptor of an operand as it is bound. errors: E_UNSUPPORTED a layout only the library knows. */
opd_status opd_dnnl_memory_desc(dnnl_memory_desc_t *out, const opd_call *call, int operand);

/* Where the elements of an operand's view stand in its logical dimensions. */
typedef struct opd_dnnl_places {
    int rank;
    int64_t dims[DNNL_MAX_NDIMS];
    int order[DNNL_MAX_NDIMS];
    int64_t outer[DNNL_MAX_NDIMS]; /* dimensions in whole blocks */
    int block_count;
    int64_t blocks[DNNL_MAX_NDIMS], inner; /* inner: elements of them all */
    int block_dims[DNNL_MAX_NDIMS];
    bool is_flat; /* the view is the storage in a row */
} opd_dnnl_places;
opd_status opd_dnnl_places_of(opd_dnnl_places *out, const opd_call *call, int operand);
/* False: the element is padding. */
bool opd_dnnl_place(int64_t *logical, const opd_dnnl_places *places, const int64_t *index);

/*
 * Makes zero what the storage of inputs holds beside their elements: the library takes it for zero. For calls whose data were cut out of others. Operands
 * without memory, and calls of other domains, stay as they are.
 */
void opd_dnnl_pad(opd_call *call);

/* Any operation descriptor. */
typedef union opd_dnnl_descriptor {
    dnnl_primitive_kind_t kind;
    dnnl_convolution_desc_t convolution;
    dnnl_eltwise_desc_t eltwise;
    dnnl_softmax_desc_t softmax;
    dnnl_softmax_v2_desc_t softmax_v2;
    dnnl_pooling_desc_t pooling;
    dnnl_pooling_v2_desc_t pooling_v2;
    dnnl_batch_normalization_desc_t batch_normalization;
    dnnl_layer_normalization_desc_t layer_normalization;
    dnnl_inner_product_desc_t inner_product;
    dnnl_binary_desc_t binary;
    dnnl_matmul_desc_t matmul;
    dnnl_lrn_desc_t lrn;
    dnnl_shuffle_desc_t shuffle;
    dnnl_resampling_desc_t resampling;
    dnnl_reduction_desc_t reduction;
    dnnl_prelu_desc_t prelu;
    dnnl_rnn_desc_t rnn;
    opd_dnnl_product product;
} opd_dnnl_descriptor;

/* The primitive kind of a call; dnnl_undefined_primitive when it is not known. */
dnnl_primitive_kind_t opd_dnnl_kind(const opd_call *call);
/*
 * The operation descriptor of a call that has one. is_any: layouts of operands are left to the library. errors: E_UNSUPPORTED the call has none, or a layout
 * that only the library knows.
 */
opd_status opd_dnnl_describe(opd_dnnl_descriptor *out, const opd_call *call, bool is_any);
/* The descriptor of the forward primitive that a backward one wants as a hint; E_NOTFOUND it wants none. */
opd_status opd_dnnl_describe_hint(opd_dnnl_descriptor *out, const opd_call *call, bool is_any);

/* Scales and zero points of a call; their number. */
int opd_dnnl_quants(opd_dnnl_quant quants[OPD_DNNL_QUANTS], const opd_call *call);
/* Does the operand hold scales or zero points that the primitive is made with? It is no argument of execute then. */
bool opd_dnnl_quant_is_fixed(const opd_call *call, int operand);
/* Is the operand one of scales or zero points? Its argument; 0 = no. */
int opd_dnnl_quant_arg(const opd_call *call, int operand);

/* The post-ops of a call; their number. */
int opd_dnnl_post_ops(opd_dnnl_post_op *post_ops, const opd_call *call);

#ifdef __cplusplus
}
#endif
#endif
