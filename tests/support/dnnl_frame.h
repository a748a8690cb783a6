/* SPDX-License-Identifier: Apache-2.0 */
/* What programs that run oneDNN primitives share: memory with numbers in it, a primitive made, executed, destroyed. */
#ifndef OPD_TESTS_DNNL_FRAME_H
#define OPD_TESTS_DNNL_FRAME_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include <oneapi/dnnl/dnnl.h>

#define CHECK(call)                                                  \
    do {                                                             \
        dnnl_status_t status_ = (call);                              \
        if (status_ != dnnl_success) {                               \
            fprintf(stderr, "%s: status %d\n", #call, (int)status_); \
            exit(1);                                                 \
        }                                                            \
    } while (0)
#define ARGS_MAX 32

extern dnnl_engine_t engine;
extern dnnl_stream_t stream;
extern bool is_all_ones;

/* A primitive, its descriptor, and what it is executed with. */
typedef struct run {
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[ARGS_MAX];
    void *memory[ARGS_MAX];
    int count;
} run;

/* Plain row-major f32. */
dnnl_memory_desc_t plain(int rank, const dnnl_dim_t *dims);
dnnl_memory_desc_t tagged(int rank, const dnnl_dim_t *dims, dnnl_format_tag_t tag);
dnnl_memory_desc_t typed(int rank, const dnnl_dim_t *dims, dnnl_data_type_t type, dnnl_format_tag_t tag);
void add_memory(run *r, int arg, const dnnl_memory_desc_t *desc);
void start(run *r, const void *op, dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint);
/* Memory for those of args that the primitive has; what the forward run has too comes from it. */
void execute(run *r, const int *args, const run *forward);
void end(run *r);

#endif
