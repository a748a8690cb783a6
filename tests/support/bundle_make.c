/* SPDX-License-Identifier: Apache-2.0 */
/* Random content for bundles, from a 64-bit mixer (splitmix64). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <opsdebug/memory.h>

#include "bundle_make.h"

uint64_t make_u64(make_random *random)
{
    uint64_t z = random->state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t make_below(make_random *random, uint64_t bound)
{
    return make_u64(random) % bound;
}

/* Small, large, zero, all ones. */
static uint64_t any_u64(make_random *random)
{
    switch (make_below(random, 4)) {
    case 0:
        return make_below(random, 1000);
    case 1:
        return 0;
    case 2:
        return UINT64_MAX - make_below(random, 3);
    default:
        return make_u64(random);
    }
}

static double any_double(make_random *random)
{
    uint64_t bits = make_u64(random);
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value; /* NaN payloads included */
}

void make_text(make_random *random, char *text, size_t size)
{
    size_t length = make_below(random, 4) == 0 ? size - 1 : (size_t)make_below(random, size);

    memset(text, 0, size);
    for (size_t i = 0; i < length; i++) {
        text[i] = (char)(1 + make_below(random, 255));
    }
}
#define MAKE_TEXT(random, field) make_text(random, field, sizeof(field))

void make_view(make_random *random, opd_tensor *view)
{
    do {
        *view =
            (opd_tensor){ .dtype = (opd_dtype)(1 + make_below(random, 15)), .rank = (int32_t)make_below(random, 9) };
        for (int i = 0; i < view->rank; i++) {
            view->shape[i] = (int64_t)make_below(random, 6);
            view->stride[i] = (int64_t)make_below(random, 41) - 20;
        }
        if (view->rank == 2 && make_below(random, 2)) {
            view->mask.kind = (uint8_t)(1 + make_below(random, 3));
            view->mask.unit = (uint8_t)make_below(random, 2);
            if (view->mask.kind == OPD_MASK_BAND) {
                view->mask.by_rows = (uint8_t)make_below(random, 2);
                view->mask.kl = (int64_t)make_below(random, 3);
                view->mask.ku = (int64_t)make_below(random, 3);
                view->mask.rows = (int64_t)make_below(random, 6);
                view->mask.cols = (int64_t)make_below(random, 6);
            }
        }
        view->storage_bytes = make_below(random, 2) ? any_u64(random) : 0;
    } while (opd_tensor_check(view) != OPD_OK);
    opd_error_clear();
}

void make_health(make_random *random, opd_health *health)
{
    *health = (opd_health){ .count = any_u64(random),
                            .nan = any_u64(random),
                            .pos_inf = any_u64(random),
                            .neg_inf = any_u64(random),
                            .subnormal = any_u64(random),
                            .zero = any_u64(random),
                            .min = any_double(random),
                            .max = any_double(random),
                            .mean = any_double(random),
                            .first_nan = (int64_t)any_u64(random),
                            .first_inf = -1 };
}

static void make_value(make_random *random, opd_value *value)
{
    *value = (opd_value){ .kind = (opd_value_kind)make_below(random, OPD_VALUE_INTS + 1),
                          .i = (int64_t)any_u64(random),
                          .re = any_double(random),
                          .im = any_double(random) };
    MAKE_TEXT(random, value->name);
    if (value->kind == OPD_VALUE_TEXT) {
        MAKE_TEXT(random, value->text);
    }
    if (value->kind != OPD_VALUE_INTS) {
        return;
    }
    value->i = (int64_t)make_below(random, OPD_MAX_INTS + 1);
    for (int64_t i = 0; i < value->i; i++) {
        value->ints[i] = (int64_t)any_u64(random);
    }
}

static void make_digest(make_random *random, opd_digest *digest)
{
    memset(digest, 0, sizeof(*digest));
    if (make_below(random, 3)) {
        for (size_t i = 0; i < sizeof(digest->bytes); i++) {
            digest->bytes[i] = (uint8_t)make_u64(random);
        }
    }
}

static void make_operand(make_random *random, opd_operand *operand)
{
    memset(operand, 0, sizeof(*operand));
    MAKE_TEXT(random, operand->name);
    operand->role = (opd_role)(1 + make_below(random, 3));
    operand->flags = (uint32_t)make_below(random, 64);
    make_view(random, &operand->view);
    operand->address = any_u64(random);
    make_digest(random, &operand->before);
    make_digest(random, &operand->after);
    if (make_below(random, 3) == 0) {
        make_health(random, &operand->health_before);
        make_health(random, &operand->health_after);
    }
}

void make_call(make_random *random, opd_call *call)
{
    memset(call, 0, sizeof(*call));
    if (make_below(random, 2)) {
        memcpy(call->domain, "blas", sizeof("blas"));
        snprintf(call->name, sizeof(call->name), "%s", make_below(random, 2) ? "dgemm" : "no-such-routine");
    } else {
        MAKE_TEXT(random, call->domain);
        MAKE_TEXT(random, call->name);
    }
    MAKE_TEXT(random, call->symbol);
    call->dtype = (opd_dtype)make_below(random, 16);
    call->flags = (uint32_t)make_u64(random);
    call->bad_arg = (int32_t)make_below(random, 30) - 2;
    call->order = (int32_t)(call->flags % 1000) - 500;
    call->pid = (uint32_t)(1000 + make_below(random, 2));
    call->thread = (uint32_t)(1000 + make_below(random, 5));
    call->number = any_u64(random);
    call->op_id = make_u64(random);
    call->depth = (uint32_t)make_below(random, 3);
    call->provider = (uint32_t)make_below(random, 5);
    call->caller = (uint32_t)make_below(random, 5);
    call->begin_ns = any_u64(random);
    call->queued_ns = any_u64(random);
    call->start_ns = any_u64(random);
    call->end_ns = any_u64(random);
    call->sync_ns = any_u64(random);
    call->seed = any_u64(random);
    call->mxcsr = (uint32_t)any_u64(random);
    call->symbol_count = (int32_t)make_below(random, OPD_MAX_SYMBOLS + 1);
    for (int i = 0; i < call->symbol_count; i++) {
        make_value(random, &call->symbols[i]);
    }
    call->attr_count = (int32_t)make_below(random, OPD_COUNT(call->attrs) + 1);
    for (int i = 0; i < call->attr_count; i++) {
        make_value(random, &call->attrs[i]);
    }
    call->operand_count = (int32_t)make_below(random, OPD_MAX_OPERANDS + 1);
    for (int i = 0; i < call->operand_count; i++) {
        make_operand(random, &call->operands[i]);
    }
}

void make_header(make_random *random, opd_header_info *header)
{
    *header = (opd_header_info){ .version = OPD_FORMAT_VERSION,
                                 .created_realtime_ns = any_u64(random),
                                 .created_monotonic_ns = any_u64(random),
                                 .pid = 1000 };
    MAKE_TEXT(random, header->producer);
    header->producer[0] = 'p'; /* an empty one is filled in */
    MAKE_TEXT(random, header->kind);
    MAKE_TEXT(random, header->program);
    MAKE_TEXT(random, header->command);
    MAKE_TEXT(random, header->capture);
}

void make_environment(make_random *random, opd_environment_info *environment)
{
    memset(environment, 0, sizeof(*environment));
    MAKE_TEXT(random, environment->cpu_model);
    MAKE_TEXT(random, environment->isa);
    MAKE_TEXT(random, environment->kernel);
    MAKE_TEXT(random, environment->libc);
    environment->cpu_count = (uint32_t)any_u64(random);
    environment->l1d_bytes = (uint32_t)any_u64(random);
    environment->l2_bytes = (uint32_t)any_u64(random);
    environment->l3_bytes = (uint32_t)any_u64(random);
    environment->mxcsr = (uint32_t)any_u64(random);
    MAKE_TEXT(random, environment->variables);
}

void make_module(make_random *random, opd_module *module)
{
    memset(module, 0, sizeof(*module));
    MAKE_TEXT(random, module->path);
    MAKE_TEXT(random, module->build_id);
    MAKE_TEXT(random, module->core);
    MAKE_TEXT(random, module->config);
    module->start = any_u64(random);
    module->end = any_u64(random);
    module->threads = (int32_t)make_below(random, 100) - 1;
}

void make_event(make_random *random, opd_event *event)
{
    memset(event, 0, sizeof(*event));
    MAKE_TEXT(random, event->kind);
    MAKE_TEXT(random, event->name);
    event->thread = (uint32_t)any_u64(random);
    event->time_ns = any_u64(random);
    event->value = (int64_t)any_u64(random);
}

void make_failure(make_random *random, opd_failure *failure)
{
    memset(failure, 0, sizeof(*failure));
    failure->outcome = (opd_outcome)make_below(random, 14);
    failure->thread = (uint32_t)any_u64(random);
    failure->call_number = any_u64(random);
    MAKE_TEXT(random, failure->operand);
    failure->index_rank = (int32_t)make_below(random, OPD_MAX_RANK + 2) - 1;
    for (int i = 0; i < failure->index_rank; i++) {
        failure->index[i] = (int64_t)any_u64(random);
    }
    failure->bad_count = any_u64(random);
    failure->signal = (int32_t)make_below(random, 64);
    failure->signal_code = (int32_t)make_below(random, 64) - 32;
    failure->fault_address = any_u64(random);
    failure->pc = any_u64(random);
    MAKE_TEXT(random, failure->pc_symbol);
    failure->distance = (int64_t)any_u64(random);
    MAKE_TEXT(random, failure->label);
    failure->confidence = (float)make_below(random, 96) / 100.0f;
    MAKE_TEXT(random, failure->reason);
    failure->time_ns = any_u64(random);
}

void make_frame(make_random *random, opd_frame *frame)
{
    memset(frame, 0, sizeof(*frame));
    frame->address = any_u64(random);
    frame->module = (uint32_t)make_below(random, 9);
    MAKE_TEXT(random, frame->symbol);
}

void make_lineage(make_random *random, opd_lineage *lineage)
{
    memset(lineage, 0, sizeof(*lineage));
    MAKE_TEXT(random, lineage->parent);
    MAKE_TEXT(random, lineage->step);
    MAKE_TEXT(random, lineage->verdict);
}

static void check_same_value(const opd_value *got, const opd_value *want)
{
    assert_memory_equal(got->name, want->name, sizeof(got->name));
    assert_int_equal(got->kind, want->kind);
    assert_int_equal(got->i, want->i);
    assert_memory_equal(&got->re, &want->re, sizeof(got->re));
    assert_memory_equal(&got->im, &want->im, sizeof(got->im));
    assert_memory_equal(got->text, want->text, sizeof(got->text));
}

static void check_same_operand(const opd_operand *got, const opd_operand *want)
{
    opd_tensor view = want->view;

    view.data = NULL;
    view.storage = NULL;
    assert_memory_equal(got->name, want->name, sizeof(got->name));
    assert_int_equal(got->role, want->role);
    assert_int_equal(got->flags, want->flags);
    assert_int_equal(got->view.dtype, view.dtype);
    assert_int_equal(got->view.rank, view.rank);
    assert_memory_equal(got->view.shape, view.shape, sizeof(view.shape));
    assert_memory_equal(got->view.stride, view.stride, sizeof(view.stride));
    assert_memory_equal(&got->view.mask, &view.mask, sizeof(view.mask));
    assert_null(got->view.data);
    assert_null(got->view.storage);
    assert_true(got->view.storage_bytes == view.storage_bytes);
    assert_true(got->address == want->address);
    assert_memory_equal(&got->before, &want->before, sizeof(want->before));
    assert_memory_equal(&got->after, &want->after, sizeof(want->after));
    assert_memory_equal(&got->health_before, &want->health_before, sizeof(want->health_before));
    assert_memory_equal(&got->health_after, &want->health_after, sizeof(want->health_after));
}

void check_same_call(const opd_call *got, const opd_call *want)
{
    assert_memory_equal(got->domain, want->domain, sizeof(want->domain));
    assert_memory_equal(got->name, want->name, sizeof(want->name));
    assert_memory_equal(got->symbol, want->symbol, sizeof(want->symbol));
    assert_int_equal(got->dtype, want->dtype);
    assert_int_equal(got->flags, want->flags);
    assert_int_equal(got->bad_arg, want->bad_arg);
    assert_int_equal(got->order, want->order);
    assert_int_equal(got->pid, want->pid);
    assert_int_equal(got->thread, want->thread);
    assert_true(got->number == want->number);
    assert_true(got->op_id == want->op_id);
    assert_int_equal(got->depth, want->depth);
    assert_int_equal(got->provider, want->provider);
    assert_int_equal(got->caller, want->caller);
    assert_true(got->begin_ns == want->begin_ns);
    assert_true(got->queued_ns == want->queued_ns);
    assert_true(got->start_ns == want->start_ns);
    assert_true(got->end_ns == want->end_ns);
    assert_true(got->sync_ns == want->sync_ns);
    assert_true(got->seed == want->seed);
    assert_int_equal(got->symbol_count, want->symbol_count);
    for (int i = 0; i < want->symbol_count; i++) {
        check_same_value(&got->symbols[i], &want->symbols[i]);
    }
    assert_int_equal(got->attr_count, want->attr_count);
    for (int i = 0; i < want->attr_count; i++) {
        check_same_value(&got->attrs[i], &want->attrs[i]);
    }
    assert_int_equal(got->operand_count, want->operand_count);
    for (int i = 0; i < want->operand_count; i++) {
        check_same_operand(&got->operands[i], &want->operands[i]);
    }
}

typedef struct memory_sink {
    opd_sink base;
    memory_file *file;
} memory_sink;

static opd_status sink_write(opd_sink *sink, const void *bytes, size_t size)
{
    memory_file *file = ((memory_sink *)sink)->file;
    opd_status status = opd_grow((void **)&file->bytes, file->size + size, 1);

    if (status == OPD_OK) {
        memcpy(file->bytes + file->size, bytes, size);
        file->size += size;
    }
    return status;
}

static opd_status sink_flush(opd_sink *sink)
{
    (void)sink;
    return OPD_OK;
}

static opd_status sink_close(opd_sink *sink)
{
    opd_free(sink);
    return OPD_OK;
}

opd_sink *make_sink(memory_file *file)
{
    memory_sink *sink = NULL;

    *file = (memory_file){ 0 };
    assert_int_equal(opd_alloc((void **)&sink, sizeof(*sink)), OPD_OK);
    sink->base = (opd_sink){ .write = sink_write, .flush = sink_flush, .close = sink_close };
    sink->file = file;
    return &sink->base;
}

static void write_small_records(opd_writer *writer, make_random *random)
{
    opd_environment_info environment;
    opd_module module;
    opd_event event;
    opd_failure failure;
    opd_frame frames[3];
    opd_lineage lineage;
    uint32_t number = 0;

    make_environment(random, &environment);
    assert_int_equal(opd_writer_environment(writer, &environment), OPD_OK);
    for (uint32_t i = 0; i < 2; i++) {
        make_module(random, &module);
        assert_int_equal(opd_writer_module(writer, &number, &module), OPD_OK);
    }
    assert_int_equal(opd_writer_thread(writer, 1000, 1000, "main"), OPD_OK);
    make_event(random, &event);
    assert_int_equal(opd_writer_event(writer, &event), OPD_OK);
    make_failure(random, &failure);
    assert_int_equal(opd_writer_failure(writer, &failure), OPD_OK);
    for (int i = 0; i < 3; i++) {
        make_frame(random, &frames[i]);
    }
    assert_int_equal(opd_writer_backtrace(writer, 1000, frames, 3), OPD_OK);
    make_lineage(random, &lineage);
    assert_int_equal(opd_writer_lineage(writer, &lineage), OPD_OK);
}

/* A call y = alpha x + y with data of its own. */
static void write_call_with_data(opd_writer *writer, make_random *random, uint64_t number)
{
    float x[6];
    float y[6];
    opd_call call;

    for (int i = 0; i < 6; i++) {
        x[i] = (float)make_below(random, 100);
        y[i] = (float)make_below(random, 100) / 3.0f;
    }
    memset(&call, 0, sizeof(call));
    memcpy(call.domain, "blas", sizeof("blas"));
    memcpy(call.name, "saxpy", sizeof("saxpy"));
    memcpy(call.symbol, "cblas_saxpy", sizeof("cblas_saxpy"));
    call.dtype = OPD_F32;
    call.pid = 1000;
    call.thread = 1000;
    call.number = number;
    call.begin_ns = 1000 * number;
    call.end_ns = call.begin_ns + 500;
    call.operand_count = 2;
    memcpy(call.operands[0].name, "x", sizeof("x"));
    call.operands[0].role = OPD_ROLE_IN;
    memcpy(call.operands[1].name, "y", sizeof("y"));
    call.operands[1].role = OPD_ROLE_INOUT;
    assert_int_equal(opd_tensor_contiguous(&call.operands[0].view, OPD_F32, 1, (int64_t[]){ 6 }, x), OPD_OK);
    assert_int_equal(opd_tensor_contiguous(&call.operands[1].view, OPD_F32, 1, (int64_t[]){ 6 }, y), OPD_OK);
    assert_int_equal(opd_writer_call_with_data(writer, &call), OPD_OK);
    assert_int_equal(opd_writer_flush(writer), OPD_OK);
}

void make_bundle(memory_file *file, uint64_t seed, int calls)
{
    make_random random = { seed };
    opd_header_info header;
    opd_writer *writer = NULL;

    make_header(&random, &header);
    assert_int_equal(opd_writer_open_sink(&writer, make_sink(file), &header), OPD_OK);
    write_small_records(writer, &random);
    for (int i = 0; i < calls; i++) {
        write_call_with_data(writer, &random, (uint64_t)i + 1);
    }
    assert_int_equal(opd_writer_close(writer), OPD_OK);
}
