/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wrappers of oneDNN's C interface, in the preloaded object: executions are recorded; making and destroying of primitives keep the table of what
 * lives. oneDNN's own header declares them; nothing of the library is linked.
 */
#include <oneapi/dnnl/dnnl.h>

#include "dnnl_primitives.h"

OPD_DNNL_SITE(dnnl_primitive_create);
OPD_DNNL_SITE(dnnl_primitive_create_from_cache_blob);
OPD_DNNL_SITE(dnnl_primitive_destroy);
OPD_DNNL_SITE(dnnl_primitive_execute);
OPD_DNNL_SITE(dnnl_primitive_desc_clone);
OPD_DNNL_SITE(dnnl_primitive_desc_destroy);
OPD_DNNL_SITE(dnnl_sum_primitive_desc_create);

static void note(const opd_target *target, const_dnnl_primitive_t primitive, const_dnnl_primitive_desc_t desc)
{
    const opd_dnnl_library *library = opd_record_enabled ? opd_dnnl_library_of(target->function) : NULL;
    if (library != NULL) {
        opd_dnnl_note(library, primitive, desc);
    }
}

OPD_PUBLIC OPD_WRAPPER dnnl_status_t dnnl_primitive_create(dnnl_primitive_t *primitive,
                                                           const_dnnl_primitive_desc_t desc)
{
    const opd_target *target = opd_target_of(&dnnl_primitive_create_site, __builtin_return_address(0));
    OPD_DNNL_TRUE_OF(dnnl_primitive_create, target);
    dnnl_status_t status = true_dnnl_primitive_create(primitive, desc);
    if (status == dnnl_success) {
        note(target, *primitive, desc);
    }
    return status;
}

OPD_PUBLIC OPD_WRAPPER dnnl_status_t dnnl_primitive_create_from_cache_blob(dnnl_primitive_t *primitive,
                                                                           const_dnnl_primitive_desc_t desc,
                                                                           size_t size, const uint8_t *blob)
{
    const opd_target *target = opd_target_of(&dnnl_primitive_create_from_cache_blob_site, __builtin_return_address(0));
    OPD_DNNL_TRUE_OF(dnnl_primitive_create_from_cache_blob, target);
    dnnl_status_t status = true_dnnl_primitive_create_from_cache_blob(primitive, desc, size, blob);
    if (status == dnnl_success) {
        note(target, *primitive, desc);
    }
    return status;
}

OPD_PUBLIC OPD_WRAPPER dnnl_status_t dnnl_primitive_destroy(dnnl_primitive_t primitive)
{
    const opd_target *target = opd_target_of(&dnnl_primitive_destroy_site, __builtin_return_address(0));
    OPD_DNNL_TRUE_OF(dnnl_primitive_destroy, target);
    opd_dnnl_forget(primitive); /* before its address can be another's */
    return true_dnnl_primitive_destroy(primitive);
}

/* What is not in the table, and what only the arguments complete. */
static bool prepare_now(opd_dnnl_primitive *out, const opd_target *target, const_dnnl_primitive_t primitive,
                        const dnnl_exec_arg_t *args, int count)
{
    const opd_dnnl_library *library = opd_dnnl_library_of(target->function);
    const_dnnl_primitive_desc_t desc;
    if (library == NULL || library->primitive_desc(primitive, &desc) != dnnl_success) {
        return false;
    }
    opd_dnnl_prepare(out, library, desc, args, count);
    opd_dnnl_pin(out, primitive);
    return out->word_count > 0;
}

/* Its frame is large: not in the way of what is known. */
static __attribute__((noinline)) void begin_unknown(opd_wrapped *frame, const opd_dnnl_execution *execution,
                                                    const_dnnl_primitive_t primitive)
{
    opd_dnnl_primitive now;
    frame->slot = NULL;
    if (execution->args != NULL && prepare_now(&now, execution->target, primitive, execution->args, execution->count)) {
        opd_dnnl_execution known = *execution; /* what points to now ends with it */
        known.primitive = &now;
        opd_dnnl_begin(frame, &dnnl_primitive_execute_site, &known);
    }
}

OPD_PUBLIC OPD_WRAPPER dnnl_status_t dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                                            int nargs, const dnnl_exec_arg_t *args)
{
    const void *from = __builtin_return_address(0);
    const opd_target *target = opd_target_of(&dnnl_primitive_execute_site, from);
    OPD_DNNL_TRUE_OF(dnnl_primitive_execute, target);
    if (!opd_is_recorded(target)) {
        return true_dnnl_primitive_execute(primitive, stream, nargs, args);
    }
    opd_wrapped frame;
    opd_dnnl_execution execution = { /* without arguments it is oneDNN that refuses */
                                     .primitive = primitive != NULL && args != NULL ? opd_dnnl_find(primitive) : NULL,
                                     .target = target,
                                     .args = args,
                                     .count = nargs,
                                     .return_address = from
    };
    if (__builtin_expect(execution.primitive != NULL && execution.primitive->word_count > 0, 1)) {
        opd_dnnl_begin(&frame, &dnnl_primitive_execute_site, &execution);
    } else {
        begin_unknown(&frame, &execution, primitive);
    }
    dnnl_status_t status = true_dnnl_primitive_execute(primitive, stream, nargs, args);
    opd_interpose_end(&frame, NULL, 0);
    return status;
}

OPD_PUBLIC OPD_WRAPPER dnnl_status_t dnnl_primitive_desc_clone(dnnl_primitive_desc_t *desc,
                                                               const_dnnl_primitive_desc_t existing)
{
    const opd_target *target = opd_target_of(&dnnl_primitive_desc_clone_site, __builtin_return_address(0));
    OPD_DNNL_TRUE_OF(dnnl_primitive_desc_clone, target);
    dnnl_status_t status = true_dnnl_primitive_desc_clone(desc, existing);
    if (status == dnnl_success && opd_record_enabled) {
        opd_dnnl_copy_scales(*desc, existing);
    }
    return status;
}

OPD_PUBLIC OPD_WRAPPER dnnl_status_t dnnl_primitive_desc_destroy(dnnl_primitive_desc_t desc)
{
    const opd_target *target = opd_target_of(&dnnl_primitive_desc_destroy_site, __builtin_return_address(0));
    OPD_DNNL_TRUE_OF(dnnl_primitive_desc_destroy, target);
    opd_dnnl_forget_scales(desc);
    return true_dnnl_primitive_desc_destroy(desc);
}

/* NOLINTNEXTLINE(readability-function-size): the library's parameters */
OPD_PUBLIC OPD_WRAPPER dnnl_status_t dnnl_sum_primitive_desc_create(
    dnnl_primitive_desc_t *sum_primitive_desc, const dnnl_memory_desc_t *dst_desc, int n, const float *scales,
    const dnnl_memory_desc_t *src_descs, const_dnnl_primitive_attr_t attr, dnnl_engine_t engine)
{
    const opd_target *target = opd_target_of(&dnnl_sum_primitive_desc_create_site, __builtin_return_address(0));
    OPD_DNNL_TRUE_OF(dnnl_sum_primitive_desc_create, target);
    dnnl_status_t status =
        true_dnnl_sum_primitive_desc_create(sum_primitive_desc, dst_desc, n, scales, src_descs, attr, engine);
    if (status == dnnl_success && opd_record_enabled) {
        opd_dnnl_note_scales(*sum_primitive_desc, scales, n);
    }
    return status;
}
