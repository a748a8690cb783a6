/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder makes of a primitive descriptor, asked of a library that is made of a few functions here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "dnnl_primitives.h"
#include "packed.h"

static dnnl_engine_kind_t engine_kind;

static dnnl_status_t query(const_dnnl_primitive_desc_t desc, dnnl_query_t what, int index, void *result)
{
    static const char *const name = "ours";
    static const dnnl_primitive_kind_t kind = dnnl_reorder;
    (void)desc;
    (void)index;
    switch (what) {
    case dnnl_query_engine:
        return dnnl_success;
    case dnnl_query_primitive_kind:
        memcpy(result, &kind, sizeof kind);
        return dnnl_success;
    case dnnl_query_impl_info_str:
        memcpy(result, &name, sizeof name);
        return dnnl_success;
    default:
        return dnnl_unimplemented;
    }
}

static const dnnl_memory_desc_t *query_md(const_dnnl_primitive_desc_t desc, dnnl_query_t what, int arg)
{
    static const dnnl_memory_desc_t vector = { .ndims = 1,
                                               .dims = { 3 },
                                               .data_type = dnnl_f32,
                                               .padded_dims = { 3 },
                                               .format_kind = dnnl_blocked,
                                               .format_desc = { .blocking = { .strides = { 1 } } } };
    (void)desc;
    return what == dnnl_query_exec_arg_md && (arg == DNNL_ARG_FROM || arg == DNNL_ARG_TO) ? &vector : NULL;
}

static dnnl_status_t kind_of(dnnl_engine_t engine, dnnl_engine_kind_t *kind)
{
    (void)engine;
    *kind = engine_kind;
    return dnnl_success;
}

static dnnl_status_t no_attributes(const_dnnl_primitive_desc_t desc, const_dnnl_primitive_attr_t *attr)
{
    (void)desc;
    *attr = NULL;
    return dnnl_success;
}

static const opd_dnnl_library library = {
    .is_whole = true, .query = query, .query_md = query_md, .engine_kind = kind_of, .attr = no_attributes
};

static void primitives_of_the_cpu_are_recorded(void **state)
{
    static opd_dnnl_primitive primitive;
    static opd_call call;
    (void)state;
    engine_kind = dnnl_cpu;
    opd_dnnl_prepare(&primitive, &library, NULL, NULL, 0);
    assert_true(opd_unpack_call(&call, primitive.words, primitive.word_count));
    assert_string_equal(call.name, "reorder");
    assert_int_equal(call.operand_count, 2);
}

static void primitives_of_other_engines_are_not(void **state)
{
    static opd_dnnl_primitive primitive;
    (void)state;
    engine_kind = dnnl_gpu;
    opd_dnnl_prepare(&primitive, &library, NULL, NULL, 0);
    assert_int_equal(primitive.word_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primitives_of_the_cpu_are_recorded),
        cmocka_unit_test(primitives_of_other_engines_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
