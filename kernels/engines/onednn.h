/* SPDX-License-Identifier: Apache-2.0 */
/* An operator call as oneDNN has it: a description of the primitive, and its arguments. Private to kernels/engines. */
#ifndef OPD_KERNELS_ONEDNN_H
#define OPD_KERNELS_ONEDNN_H

#include <opsdebug/kernel.h>

#include <oneapi/dnnl/dnnl.h>

/* The functions in use, taken from the library by name. */
/* clang-format off */
#define OPD_DNNL_FUNCTIONS(X)                                                                                   \
    X(engine_create) X(stream_create) X(stream_wait) X(memory_create) X(memory_destroy)                         \
    X(primitive_desc_create) X(primitive_desc_destroy) X(primitive_create) X(primitive_destroy)                 \
    X(primitive_execute) X(memory_desc_init_by_strides) X(dilated_convolution_forward_desc_init)                \
    X(pooling_v2_forward_desc_init) X(softmax_forward_desc_init) X(logsoftmax_forward_desc_init)                \
    X(matmul_desc_init) X(layer_normalization_forward_desc_init) X(batch_normalization_forward_desc_init)       \
    X(eltwise_forward_desc_init) X(binary_desc_init) X(reduction_desc_init)
/* clang-format on */

typedef struct opd_dnnl {
#define OPD_X(name) __typeof__(dnnl_##name) *name;
    OPD_DNNL_FUNCTIONS(OPD_X)
#undef OPD_X
} opd_dnnl;

enum { OPD_DNNL_ARGS = 6 };

typedef struct opd_recipe {
    const opd_dnnl *dnnl;
    const opd_call *call;
    union {
        dnnl_convolution_desc_t convolution;
        dnnl_pooling_v2_desc_t pooling;
        dnnl_softmax_desc_t softmax;
        dnnl_logsoftmax_desc_t logsoftmax;
        dnnl_matmul_desc_t matmul;
        dnnl_layer_normalization_desc_t layer_norm;
        dnnl_batch_normalization_desc_t batch_norm;
        dnnl_eltwise_desc_t eltwise;
        dnnl_binary_desc_t binary;
        dnnl_reduction_desc_t reduction;
    } of;
    int count;
    struct {
        int arg;
        dnnl_memory_desc_t form;
        void *data;
    } args[OPD_DNNL_ARGS];
} opd_recipe;

/* Fills `of` and the arguments. The reason why the library cannot do the call, or NULL. Addresses may be NULL. */
typedef const char *opd_recipe_function(opd_recipe *recipe);

/* The recipe of an operator; NULL: none. */
opd_recipe_function *opd_recipe_find(const char *name);

#endif
