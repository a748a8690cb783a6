/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, making and execution of oneDNN primitives for test programs. */
#include "dnnl_frame.h"

#include <string.h>

dnnl_engine_t engine;
dnnl_stream_t stream;

static uint32_t state = 1;
bool is_all_ones;

static float random_float(void)
{
    state = state * 1664525U + 1013904223U;
    return (float)(state >> 8) / (float)(1 << 23) - 1.0F;
}

dnnl_memory_desc_t plain(int rank, const dnnl_dim_t *dims)
{
    dnnl_memory_desc_t desc;
    dnnl_dims_t all;
    dnnl_dims_t strides;
    dnnl_dim_t stride = 1;
    for (int d = rank - 1; d >= 0; d--) {
        all[d] = dims[d];
        strides[d] = stride;
        stride *= dims[d];
    }
    CHECK(dnnl_memory_desc_init_by_strides(&desc, rank, all, dnnl_f32, strides));
    return desc;
}

dnnl_memory_desc_t typed(int rank, const dnnl_dim_t *dims, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
    dnnl_memory_desc_t desc;
    dnnl_dims_t all;
    memcpy(all, dims, (size_t)rank * sizeof all[0]);
    CHECK(dnnl_memory_desc_init_by_tag(&desc, rank, all, type, tag));
    return desc;
}

dnnl_memory_desc_t tagged(int rank, const dnnl_dim_t *dims, dnnl_format_tag_t tag)
{
    return typed(rank, dims, dnnl_f32, tag);
}

/* By a reorder, which makes the padding zero. */
static void fill_blocks(dnnl_memory_t to, const dnnl_memory_desc_t *desc)
{
    dnnl_memory_desc_t from = plain(desc->ndims, desc->dims);
    size_t count = dnnl_memory_desc_get_size(&from) / sizeof(float);
    float *values = malloc(count * sizeof(float));
    dnnl_primitive_desc_t reorder_desc;
    dnnl_primitive_t reorder;
    dnnl_memory_t memory;
    for (size_t i = 0; values != NULL && i < count; i++) {
        values[i] = random_float() * (desc->data_type == dnnl_s8 ? 50 : 1);
    }
    CHECK(dnnl_memory_create(&memory, &from, engine, values));
    CHECK(dnnl_reorder_primitive_desc_create(&reorder_desc, &from, engine, desc, engine, NULL));
    CHECK(dnnl_primitive_create(&reorder, reorder_desc));
    const dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, memory }, { DNNL_ARG_TO, to } };
    CHECK(dnnl_primitive_execute(reorder, stream, 2, args));
    CHECK(dnnl_stream_wait(stream));
    dnnl_memory_destroy(memory);
    CHECK(dnnl_primitive_destroy(reorder));
    CHECK(dnnl_primitive_desc_destroy(reorder_desc));
    free(values);
}

void add_memory(run *r, int arg, const dnnl_memory_desc_t *desc)
{
    size_t bytes = dnnl_memory_desc_get_size(desc);
    void *memory = aligned_alloc(64, (bytes + 127) / 64 * 64);
    dnnl_memory_t object;
    if (memory == NULL) {
        exit(1);
    }
    memset(memory, 0, bytes);
    for (size_t i = 0; desc->data_type == dnnl_f32 && i < bytes / sizeof(float); i++) {
        ((float *)memory)[i] = is_all_ones ? 1 : arg == DNNL_ARG_VARIANCE ? 0.5F : random_float();
    }
    for (size_t i = 0; (desc->data_type == dnnl_s8 || desc->data_type == dnnl_u8) && i < bytes; i++) {
        ((int8_t *)memory)[i] = (int8_t)(random_float() * 25 + (desc->data_type == dnnl_u8 ? 25 : 0));
    }
    for (size_t i = 0; desc->data_type == dnnl_s32 && i < bytes / sizeof(int32_t); i++) {
        ((int32_t *)memory)[i] = (int32_t)(random_float() * 100);
    }
    CHECK(dnnl_memory_create(&object, desc, engine, memory));
    if (desc->format_kind == dnnl_blocked && desc->format_desc.blocking.inner_nblks > 0 && !is_all_ones) {
        fill_blocks(object, desc);
    }
    r->memory[r->count] = memory;
    r->args[r->count++] = (dnnl_exec_arg_t){ arg, object };
}

void start(run *r, const void *op, dnnl_primitive_attr_t attr, dnnl_primitive_desc_t hint)
{
    memset(r, 0, sizeof *r);
    CHECK(dnnl_primitive_desc_create(&r->desc, op, attr, engine, hint));
}

void execute(run *r, const int *args, const run *forward)
{
    CHECK(dnnl_primitive_create(&r->primitive, r->desc));
    for (const int *arg = args; *arg != 0; arg++) {
        const dnnl_memory_desc_t *desc = dnnl_primitive_desc_query_md(r->desc, dnnl_query_exec_arg_md, *arg);
        if (desc != NULL && desc->ndims > 0) {
            add_memory(r, *arg, desc);
        }
        for (int i = 0; forward != NULL && i < forward->count && desc != NULL && desc->ndims > 0; i++) {
            const dnnl_memory_desc_t *source;
            CHECK(dnnl_memory_get_memory_desc(forward->args[i].memory, &source));
            if (forward->args[i].arg == *arg && dnnl_memory_desc_equal(source, desc) != 0) {
                memcpy(r->memory[r->count - 1], forward->memory[i], dnnl_memory_desc_get_size(desc));
            }
        }
    }
    CHECK(dnnl_primitive_execute(r->primitive, stream, r->count, r->args));
    CHECK(dnnl_stream_wait(stream));
}

void end(run *r)
{
    for (int i = 0; i < r->count; i++) {
        dnnl_memory_destroy(r->args[i].memory);
        free(r->memory[i]);
    }
    CHECK(dnnl_primitive_destroy(r->primitive));
    CHECK(dnnl_primitive_desc_destroy(r->desc));
}
