/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One small oneDNN eltwise for bench_recorder: recorder_dnnl execute N | create N. Prints ns of an execution, or of making and destroying the descriptor and the primitive
 * (which comes from the library's cache), in processor time.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <oneapi/dnnl/dnnl.h>

static void check(dnnl_status_t status)
{
    if (status != dnnl_success) {
        fprintf(stderr, "recorder_dnnl: oneDNN's status %d\n", (int)status);
        exit(1);
    }
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

int main(int count, char **words)
{
    static _Alignas(64) float src[64];
    static _Alignas(64) float dst[64];
    const dnnl_dims_t dims = { 64 };
    bool is_create = count == 3 && strcmp(words[1], "create") == 0;
    long times = count == 3 ? strtol(words[2], NULL, 10) : 0;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_memory_desc_t desc;
    dnnl_eltwise_desc_t op;
    dnnl_primitive_desc_t made;
    dnnl_primitive_t primitive;
    dnnl_memory_t memory[2];
    if (times <= 0) {
        fprintf(stderr, "usage: recorder_dnnl execute|create N\n");
        return 2;
    }
    check(dnnl_engine_create(&engine, dnnl_cpu, 0));
    check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    check(dnnl_memory_desc_init_by_tag(&desc, 1, dims, dnnl_f32, dnnl_a));
    check(dnnl_memory_create(&memory[0], &desc, engine, src));
    check(dnnl_memory_create(&memory[1], &desc, engine, dst));
    check(dnnl_eltwise_forward_desc_init(&op, dnnl_forward_inference, dnnl_eltwise_relu, &desc, 0, 0));
    const dnnl_exec_arg_t args[] = { { DNNL_ARG_SRC, memory[0] }, { DNNL_ARG_DST, memory[1] } };
    check(dnnl_primitive_desc_create(&made, &op, NULL, engine, NULL));
    check(dnnl_primitive_create(&primitive, made));
    check(dnnl_primitive_execute(primitive, stream, 2, args));
    double begin = seconds();
    for (long i = 0; i < times; i++) {
        if (is_create) {
            dnnl_primitive_desc_t again;
            dnnl_primitive_t another;
            check(dnnl_primitive_desc_create(&again, &op, NULL, engine, NULL));
            check(dnnl_primitive_create(&another, again));
            check(dnnl_primitive_destroy(another));
            check(dnnl_primitive_desc_destroy(again));
        } else {
            check(dnnl_primitive_execute(primitive, stream, 2, args));
        }
    }
    printf("%.2f\n", (seconds() - begin) * 1e9 / (double)times);
    return 0;
}
