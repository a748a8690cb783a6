/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oneDNN inside the recorded process: its query functions, what is known of each living primitive, and the recording of an execution.
 * Nothing here is linked with oneDNN.
 */
#ifndef OPD_DNNL_PRIMITIVES_H
#define OPD_DNNL_PRIMITIVES_H

#include <stdatomic.h>

#include <opsdebug/dnnl.h>

#include "interpose.h"

#define OPD_DNNL_WORDS   768u /* of a packed call */
#define OPD_DNNL_SOURCES (OPD_MAX_OPERANDS - 1)

/* A wrapper: the place where its true function is kept, and that function. */
#define OPD_DNNL_NO_ROUTINE UINT16_MAX

#define OPD_DNNL_SITE(name)                                                       \
    static opd_site name##_site = { .symbol = #name,                              \
                                    .wrapper = __extension__(const void *)(name), \
                                    .routine = OPD_DNNL_NO_ROUTINE }
#define OPD_DNNL_TRUE_OF(name, target) \
    __typeof__(&(name)) true_##name;   \
    memcpy(&true_##name, &(target)->function, sizeof(true_##name))

/* Functions of one loaded library. Immutable once published; never freed. */
typedef struct opd_dnnl_library {
    uintptr_t start, size; /* of the object */
    bool is_whole;         /* it has all of the functions */
    dnnl_status_t (*query)(const_dnnl_primitive_desc_t desc, dnnl_query_t what, int index, void *result);
    const dnnl_memory_desc_t *(*query_md)(const_dnnl_primitive_desc_t desc, dnnl_query_t what, int index);
    dnnl_status_t (*engine_kind)(dnnl_engine_t engine, dnnl_engine_kind_t *kind);
    dnnl_status_t (*primitive_desc)(const_dnnl_primitive_t primitive, const_dnnl_primitive_desc_t *desc);
    dnnl_status_t (*attr)(const_dnnl_primitive_desc_t desc, const_dnnl_primitive_attr_t *attr);
    dnnl_status_t (*output_scales)(const_dnnl_primitive_attr_t attr, dnnl_dim_t *count, int *mask,
                                   const float **scales);
    dnnl_status_t (*scales)(const_dnnl_primitive_attr_t attr, int arg, dnnl_dim_t *count, int *mask,
                            const float **scales);
    dnnl_status_t (*zero_points)(const_dnnl_primitive_attr_t attr, int arg, dnnl_dim_t *count, int *mask,
                                 const int32_t **zero_points);
    dnnl_status_t (*fpmath_mode)(const_dnnl_primitive_attr_t attr, dnnl_fpmath_mode_t *mode);
    dnnl_status_t (*post_ops)(const_dnnl_primitive_attr_t attr, const_dnnl_post_ops_t *post_ops);
    int (*post_ops_len)(const_dnnl_post_ops_t post_ops);
    dnnl_primitive_kind_t (*post_op_kind)(const_dnnl_post_ops_t post_ops, int index);
    dnnl_status_t (*post_op_sum)(const_dnnl_post_ops_t post_ops, int index, float *scale, int32_t *zero_point,
                                 dnnl_data_type_t *dtype);
    dnnl_status_t (*post_op_eltwise)(const_dnnl_post_ops_t post_ops, int index, float *scale, dnnl_alg_kind_t *alg,
                                     float *alpha, float *beta);
    dnnl_status_t (*post_op_binary)(const_dnnl_post_ops_t post_ops, int index, dnnl_alg_kind_t *alg,
                                    const dnnl_memory_desc_t **src1);
    dnnl_status_t (*memory_handle)(const_dnnl_memory_t memory, void **handle);
    dnnl_status_t (*memory_desc)(const_dnnl_memory_t memory, const dnnl_memory_desc_t **desc);
} opd_dnnl_library;

/* Of the object that holds function; NULL: it lacks what is asked for. Looks names up the first time: not for hot paths. */
const opd_dnnl_library *opd_dnnl_library_of(const void *function);

/* A living primitive, made ready to be recorded. */
typedef struct opd_dnnl_primitive {
    _Atomic uint64_t handle; /* 0 = free, 1 = being filled */
    const opd_dnnl_library *library;
    const opd_op *op;
    uint64_t kind;       /* hash of the words: what makes a kind of call */
    uint32_t word_count; /* 0: known when it is executed only */
    bool is_watched;     /* matches the filter */
    uint8_t operand_count;
    uint32_t fixed_bits; /* operands whose numbers the primitive holds itself: fixed[] */
    int args[OPD_MAX_OPERANDS];
    int64_t starts[OPD_MAX_OPERANDS]; /* bytes from the memory's handle to element 0 */
    const void *fixed[OPD_MAX_OPERANDS];
    uint16_t address_at[OPD_MAX_OPERANDS];
    uint64_t words[OPD_DNNL_WORDS];
} opd_dnnl_primitive;

/* Packs what a primitive descriptor says. exec, count: arguments of an execution, whose memory says what the descriptor does not; NULL = none. */
void opd_dnnl_prepare(opd_dnnl_primitive *out, const opd_dnnl_library *library, const_dnnl_primitive_desc_t desc,
                      const dnnl_exec_arg_t *exec, int count);

/* Packs a product that is no primitive. Its operands are where out->fixed is to say. */
void opd_dnnl_prepare_product(opd_dnnl_primitive *out, opd_dnnl_facts *facts);

/* Finds the numbers that the primitive itself holds: those of the descriptor it was made from may not live as long. */
void opd_dnnl_pin(opd_dnnl_primitive *out, const_dnnl_primitive_t primitive);

/* The table of living primitives. note: also replaces what an earlier primitive at the same address left. */
void opd_dnnl_note(const opd_dnnl_library *library, const_dnnl_primitive_t primitive, const_dnnl_primitive_desc_t desc);
void opd_dnnl_forget(const_dnnl_primitive_t primitive);
const opd_dnnl_primitive *opd_dnnl_find(const_dnnl_primitive_t primitive);

/* Scales of sums, which no query tells: by their primitive descriptors. */
void opd_dnnl_note_scales(const_dnnl_primitive_desc_t desc, const float *scales, int count);
void opd_dnnl_copy_scales(const_dnnl_primitive_desc_t to, const_dnnl_primitive_desc_t from);
void opd_dnnl_forget_scales(const_dnnl_primitive_desc_t desc);
bool opd_dnnl_scales_of(float scales[OPD_DNNL_SOURCES], const_dnnl_primitive_desc_t desc);

/* One execution. */
typedef struct opd_dnnl_execution {
    const opd_dnnl_primitive *primitive;
    const opd_target *target;
    const dnnl_exec_arg_t *args;
    int count;
    const void *return_address;
} opd_dnnl_execution;

/* Publishes an execution, then reads its operands as the capture level asks. opd_interpose_end() ends it. */
void opd_dnnl_begin(opd_wrapped *frame, const opd_site *site, const opd_dnnl_execution *execution);

#endif
