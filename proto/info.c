/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small records. Struct and message use the same field names, so that one list per record gives both directions:
 * N is a number, T a text.
 */
#include "info.h"

#include <string.h>

#include "bundle.pb-c.h"
#include "capped.h"

/* clang-format off */
#define HEADER_FIELDS(N, T) \
    N(version) T(producer) T(kind) N(created_realtime_ns) N(created_monotonic_ns) N(pid) T(program) T(command) T(capture)
#define ENVIRONMENT_FIELDS(N, T) \
    T(cpu_model) T(isa) T(kernel) T(libc) N(cpu_count) N(l1d_bytes) N(l2_bytes) N(l3_bytes) N(mxcsr) T(variables)
#define MODULE_FIELDS(N, T) T(path) T(build_id) T(core) T(config) N(start) N(end) N(threads)
#define THREAD_FIELDS(N, T) N(pid) N(tid) T(name)
#define EVENT_FIELDS(N, T) T(kind) T(name) N(thread) N(time_ns) N(value)
#define FAILURE_FIELDS(N, T) \
    N(outcome) N(thread) N(call_number) T(operand) N(bad_count) N(signal) N(signal_code) N(fault_address) N(pc) \
    T(pc_symbol) N(distance) T(label) N(confidence) T(reason) N(time_ns)
#define FRAME_FIELDS(N, T) N(address) N(module) T(symbol)
#define STACK_FIELDS(N, T) N(thread) N(state) T(name) N(call_number) N(is_cut)
#define CRASH_FIELDS(N, T) \
    N(thread) N(access) N(address) N(place) T(operand) N(distance) N(is_overflow) N(threads) N(silent)
#define COUNT_FIELDS(N, T)   N(thread) N(number) N(calls) N(ns) N(is_rest)
#define LINEAGE_FIELDS(N, T) T(parent) T(step) T(verdict)

#define PUT_NUMBER(field) \
    message.field = from->field; \
    message.has_##field = from->field != 0;
#define PUT_TEXT(field) \
    message.field = capped_borrow(from->field, strnlen(from->field, sizeof(from->field))); \
    message.has_##field = message.field.len > 0;
#define GET_NUMBER(field) to->field = message->field;
#define GET_TEXT(field) take_text(to->field, sizeof(to->field), message->field);
/* clang-format on */

static void take_text(char *to, size_t size, ProtobufCBinaryData from)
{
    size_t length = from.len < size ? from.len : size - 1;

    memset(to, 0, size);
    if (length > 0) {
        memcpy(to, from.data, length);
    }
}

static opd_status pack(opd_buffer *out, const ProtobufCMessage *message)
{
    uint8_t *room = opd_buffer_reserve(out, protobuf_c_message_get_packed_size(message));

    if (room) {
        protobuf_c_message_pack(message, room);
    }
    return out->status;
}

opd_status info_put_header(opd_buffer *out, const opd_header_info *from)
{
    Opsdebug__Header message = OPSDEBUG__HEADER__INIT;

    HEADER_FIELDS(PUT_NUMBER, PUT_TEXT)
    return pack(out, &message.base);
}

opd_status info_put_environment(opd_buffer *out, const opd_environment_info *from)
{
    Opsdebug__Environment message = OPSDEBUG__ENVIRONMENT__INIT;

    ENVIRONMENT_FIELDS(PUT_NUMBER, PUT_TEXT)
    return pack(out, &message.base);
}

opd_status info_put_module(opd_buffer *out, const opd_module *from, uint32_t number)
{
    Opsdebug__Module message = OPSDEBUG__MODULE__INIT;

    MODULE_FIELDS(PUT_NUMBER, PUT_TEXT)
    message.number = number;
    message.has_number = 1;
    return pack(out, &message.base);
}

opd_status info_put_thread(opd_buffer *out, const opd_thread_info *from)
{
    Opsdebug__Thread message = OPSDEBUG__THREAD__INIT;

    THREAD_FIELDS(PUT_NUMBER, PUT_TEXT)
    return pack(out, &message.base);
}

opd_status info_put_event(opd_buffer *out, const opd_event *from)
{
    Opsdebug__Event message = OPSDEBUG__EVENT__INIT;

    EVENT_FIELDS(PUT_NUMBER, PUT_TEXT)
    return pack(out, &message.base);
}

opd_status info_put_failure(opd_buffer *out, const opd_failure *from)
{
    Opsdebug__Failure message = OPSDEBUG__FAILURE__INIT;
    int64_t index[OPD_MAX_RANK];

    if (from->index_rank > OPD_MAX_RANK) {
        return opd_fail(OPD_E_INVALID, "a failure's index of rank %d cannot be written", from->index_rank);
    }
    FAILURE_FIELDS(PUT_NUMBER, PUT_TEXT)
    memcpy(index, from->index, sizeof(index));
    message.index = index;
    message.n_index = from->index_rank > 0 ? (size_t)from->index_rank : 0;
    message.is_located = from->index_rank >= 0;
    message.has_is_located = message.is_located;
    return pack(out, &message.base);
}

opd_status info_put_count(opd_buffer *out, const opd_count *from)
{
    Opsdebug__Count message = OPSDEBUG__COUNT__INIT;

    COUNT_FIELDS(PUT_NUMBER, PUT_TEXT)
    return pack(out, &message.base);
}

opd_status info_put_lineage(opd_buffer *out, const opd_lineage *from)
{
    Opsdebug__Lineage message = OPSDEBUG__LINEAGE__INIT;

    LINEAGE_FIELDS(PUT_NUMBER, PUT_TEXT)
    return pack(out, &message.base);
}

static void put_frame(Opsdebug__Frame *to, const opd_frame *from)
{
    Opsdebug__Frame message = OPSDEBUG__FRAME__INIT;

    FRAME_FIELDS(PUT_NUMBER, PUT_TEXT)
    *to = message;
}

opd_status info_put_backtrace(opd_buffer *out, const opd_stack *from)
{
    Opsdebug__Backtrace message = OPSDEBUG__BACKTRACE__INIT;
    Opsdebug__Frame *items = NULL;
    uint64_t registers[OPD_REGISTERS];
    size_t n = from->frame_count;
    opd_status status = opd_alloc_array((void **)&items, n + 1, sizeof(*items));

    if (status == OPD_OK) {
        status = opd_alloc_array((void **)&message.frame, n + 1, sizeof(void *));
    }
    if (status == OPD_OK) {
        for (size_t i = 0; i < n; i++) {
            put_frame(&items[i], &from->frames[i]);
            message.frame[i] = &items[i];
        }
        message.n_frame = n;
        STACK_FIELDS(PUT_NUMBER, PUT_TEXT)
        memcpy(registers, from->registers, sizeof(registers));
        message.registers = registers;
        message.n_registers = from->state != OPD_STACK_PLAIN && from->state != OPD_STACK_SILENT ? OPD_REGISTERS : 0;
        status = pack(out, &message.base);
    }
    opd_free(message.frame);
    opd_free(items);
    return status;
}

opd_status info_put_crash(opd_buffer *out, const opd_crash_info *from)
{
    Opsdebug__Crash message = OPSDEBUG__CRASH__INIT;
    int64_t index[OPD_MAX_RANK];
    uint64_t limits[2 * OPD_LIMITS];

    CRASH_FIELDS(PUT_NUMBER, PUT_TEXT)
    memcpy(index, from->index, sizeof(index));
    memcpy(limits, from->limits, sizeof(limits));
    message.index = index;
    message.n_index = from->index_rank > 0 && from->index_rank <= OPD_MAX_RANK ? (size_t)from->index_rank : 0;
    message.limit = limits;
    message.n_limit = OPD_COUNT(limits);
    return pack(out, &message.base);
}

opd_status info_get_header(opd_header_info *to, const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *base = NULL;
    opd_status status = capped_unpack(&base, &opsdebug__header__descriptor, bytes, size);

    if (status == OPD_OK) {
        const Opsdebug__Header *message = (const Opsdebug__Header *)base;
        HEADER_FIELDS(GET_NUMBER, GET_TEXT)
        capped_free(base);
    }
    return status;
}

opd_status info_get_environment(opd_environment_info *to, const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *base = NULL;
    opd_status status = capped_unpack(&base, &opsdebug__environment__descriptor, bytes, size);

    if (status == OPD_OK) {
        const Opsdebug__Environment *message = (const Opsdebug__Environment *)base;
        ENVIRONMENT_FIELDS(GET_NUMBER, GET_TEXT)
        capped_free(base);
    }
    return status;
}

opd_status info_get_module(opd_module *to, uint32_t *number, const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *base = NULL;
    opd_status status = capped_unpack(&base, &opsdebug__module__descriptor, bytes, size);

    if (status == OPD_OK) {
        const Opsdebug__Module *message = (const Opsdebug__Module *)base;
        MODULE_FIELDS(GET_NUMBER, GET_TEXT)
        *number = message->number;
        capped_free(base);
    }
    return status;
}

opd_status info_get_thread(opd_thread_info *to, const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *base = NULL;
    opd_status status = capped_unpack(&base, &opsdebug__thread__descriptor, bytes, size);

    if (status == OPD_OK) {
        const Opsdebug__Thread *message = (const Opsdebug__Thread *)base;
        THREAD_FIELDS(GET_NUMBER, GET_TEXT)
        capped_free(base);
    }
    return status;
}

opd_status info_get_event(opd_event *to, const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *base = NULL;
    opd_status status = capped_unpack(&base, &opsdebug__event__descriptor, bytes, size);

    if (status == OPD_OK) {
        const Opsdebug__Event *message = (const Opsdebug__Event *)base;
        EVENT_FIELDS(GET_NUMBER, GET_TEXT)
        capped_free(base);
    }
    return status;
}

opd_status info_get_failure(opd_failure *to, const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *base = NULL;
    opd_status status = capped_unpack(&base, &opsdebug__failure__descriptor, bytes, size);

    if (status != OPD_OK) {
        return status;
    }
    const Opsdebug__Failure *message = (const Opsdebug__Failure *)base;
    if (message->n_index > OPD_MAX_RANK) {
        status = opd_fail(OPD_E_FORMAT, "failure: an index of rank %zu", message->n_index);
    } else {
        FAILURE_FIELDS(GET_NUMBER, GET_TEXT)
        memset(to->index, 0, sizeof(to->index));
        for (size_t i = 0; i < message->n_index; i++) {
            to->index[i] = message->index[i];
        }
        to->index_rank = message->is_located ? (int32_t)message->n_index : -1;
    }
    capped_free(base);
    return status;
}

opd_status info_get_count(opd_count *to, const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *base = NULL;
    opd_status status = capped_unpack(&base, &opsdebug__count__descriptor, bytes, size);

    if (status == OPD_OK) {
        const Opsdebug__Count *message = (const Opsdebug__Count *)base;
        COUNT_FIELDS(GET_NUMBER, GET_TEXT)
        capped_free(base);
    }
    return status;
}

opd_status info_get_lineage(opd_lineage *to, const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *base = NULL;
    opd_status status = capped_unpack(&base, &opsdebug__lineage__descriptor, bytes, size);

    if (status == OPD_OK) {
        const Opsdebug__Lineage *message = (const Opsdebug__Lineage *)base;
        LINEAGE_FIELDS(GET_NUMBER, GET_TEXT)
        capped_free(base);
    }
    return status;
}

static void get_frame(opd_frame *to, const Opsdebug__Frame *message){ FRAME_FIELDS(GET_NUMBER, GET_TEXT) }

opd_status info_get_crash(opd_crash_info *to, const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *base = NULL;
    opd_status status = capped_unpack(&base, &opsdebug__crash__descriptor, bytes, size);

    if (status != OPD_OK) {
        return status;
    }
    const Opsdebug__Crash *message = (const Opsdebug__Crash *)base;
    *to = (opd_crash_info){ .index_rank = -1 };
    CRASH_FIELDS(GET_NUMBER, GET_TEXT)
    for (size_t i = 0; i < message->n_index && i < OPD_MAX_RANK; i++) {
        to->index[i] = message->index[i];
        to->index_rank = (int32_t)i + 1;
    }
    for (size_t i = 0; i < message->n_limit && i < OPD_COUNT(to->limits) * OPD_COUNT(to->limits[0]); i++) {
        to->limits[i / 2][i % 2] = message->limit[i];
    }
    capped_free(base);
    return OPD_OK;
}

opd_status info_get_backtrace(opd_backtrace *backtrace, const uint8_t *bytes, size_t size)
{
    ProtobufCMessage *base = NULL;
    opd_frame *frames = NULL;
    opd_status status = capped_unpack(&base, &opsdebug__backtrace__descriptor, bytes, size);

    if (status != OPD_OK) {
        return status;
    }
    const Opsdebug__Backtrace *message = (const Opsdebug__Backtrace *)base;
    status = opd_alloc_array((void **)&frames, message->n_frame + 1, sizeof(*frames));
    if (status == OPD_OK) {
        for (size_t i = 0; i < message->n_frame; i++) {
            get_frame(&frames[i], message->frame[i]);
        }
        *backtrace = (opd_backtrace){ .frames = frames };
        opd_stack *to = &backtrace->stack;
        STACK_FIELDS(GET_NUMBER, GET_TEXT)
        for (size_t i = 0; i < message->n_registers && i < OPD_REGISTERS; i++) {
            to->registers[i] = message->registers[i];
        }
        to->frames = frames;
        to->frame_count = (uint32_t)message->n_frame;
    }
    capped_free(base);
    return status;
}
