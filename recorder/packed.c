/* SPDX-License-Identifier: Apache-2.0 */
/* Packing and unpacking of calls. What is unpacked lay in memory that the program can write: everything is checked. */
#include "packed.h"

#include <string.h>

#include <opsdebug/memory.h>

typedef struct packing {
    uint64_t *words;
    uint32_t count, capacity;
    bool is_full;
} packing;

static void put(packing *to, uint64_t word)
{
    if (to->count < to->capacity) {
        to->words[to->count++] = word;
    } else {
        to->is_full = true;
    }
}

/* head bytes, the length of the text, the text. */
static void put_text(packing *to, const uint8_t *head, uint32_t head_bytes, const char *text)
{
    uint8_t line[8 + 72] = { 0 };
    size_t length = strnlen(text, 64);
    for (uint32_t i = 0; i < head_bytes; i++) {
        line[i] = head[i];
    }
    line[head_bytes] = (uint8_t)length;
    memcpy(line + head_bytes + 1, text, length);
    for (size_t at = 0; at < head_bytes + 1 + length; at += 8) {
        uint64_t word;
        memcpy(&word, line + at, sizeof(word));
        put(to, word);
    }
}

static void put_double(packing *to, double value)
{
    uint64_t word;
    memcpy(&word, &value, sizeof(word));
    put(to, word);
}

static void put_value(packing *to, const opd_value *value)
{
    int64_t ints = value->kind == OPD_VALUE_INTS && value->i >= 0 && value->i <= OPD_MAX_INTS ? value->i : 0;
    const uint8_t head[2] = { (uint8_t)value->kind, (uint8_t)ints };
    put_text(to, head, sizeof(head), value->name);
    switch (value->kind) {
    case OPD_VALUE_INT:
        put(to, (uint64_t)value->i);
        break;
    case OPD_VALUE_REAL:
        put_double(to, value->re);
        break;
    case OPD_VALUE_TEXT:
        put_text(to, NULL, 0, value->text);
        break;
    case OPD_VALUE_INTS:
        for (int64_t i = 0; i < ints; i++) {
            put(to, (uint64_t)value->ints[i]);
        }
        break;
    default:
        to->is_full = true; /* no packed form */
        break;
    }
}

static void put_operand(packing *to, const opd_operand *operand, uint16_t *address_at)
{
    const opd_tensor *view = &operand->view;
    const uint8_t head[4] = { (uint8_t)operand->role, (uint8_t)view->dtype, (uint8_t)view->rank,
                              (uint8_t)operand->flags };
    to->is_full |=
        view->rank < 0 || view->rank > OPD_MAX_RANK || view->mask.kind != OPD_MASK_NONE || operand->flags > UINT8_MAX;
    put_text(to, head, sizeof(head), operand->name);
    *address_at = (uint16_t)to->count;
    put(to, operand->address);
    for (int32_t d = 0; d < view->rank && !to->is_full; d++) {
        put(to, (uint64_t)view->shape[d]);
    }
    for (int32_t d = 0; d < view->rank && !to->is_full; d++) {
        put(to, (uint64_t)view->stride[d]);
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): written through packing */
uint32_t opd_pack_call(uint64_t *words, uint32_t capacity, const opd_call *call, uint16_t address_at[OPD_MAX_OPERANDS])
{
    packing to = { .words = words, .capacity = capacity };
    put(&to, (uint64_t)call->symbol_count | (uint64_t)call->attr_count << 8 | (uint64_t)call->operand_count << 16 |
                 (uint64_t)call->dtype << 24);
    put_text(&to, NULL, 0, call->domain);
    put_text(&to, NULL, 0, call->name);
    for (int i = 0; i < call->symbol_count; i++) {
        put_value(&to, &call->symbols[i]);
    }
    for (int i = 0; i < call->attr_count; i++) {
        put_value(&to, &call->attrs[i]);
    }
    for (int i = 0; i < call->operand_count; i++) {
        put_operand(&to, &call->operands[i], &address_at[i]);
    }
    return to.is_full ? 0 : to.count;
}

typedef struct unpacking {
    const uint64_t *words;
    uint32_t at, count;
    bool is_short;
} unpacking;

static uint64_t take(unpacking *from)
{
    if (from->at < from->count) {
        return from->words[from->at++];
    }
    from->is_short = true;
    return 0;
}

static void take_text(unpacking *from, uint8_t *head, uint32_t head_bytes, char *text, size_t size)
{
    const uint8_t *bytes = (const uint8_t *)(from->words + from->at);
    size_t room = (size_t)(from->count - from->at) * 8;
    if (room == 0) {
        from->is_short = true;
        return;
    }
    size_t length = bytes[head_bytes];
    if (length >= size || head_bytes + 1 + length > room) {
        from->is_short = true;
        return;
    }
    if (head_bytes > 0) {
        memcpy(head, bytes, head_bytes);
    }
    memcpy(text, bytes + head_bytes + 1, length);
    text[length] = '\0';
    from->at += (uint32_t)((head_bytes + 1 + length + 7) / 8);
}

static void take_value(unpacking *from, opd_value *value)
{
    uint8_t head[2] = { 0, 0 };
    uint64_t word;
    memset(value, 0, sizeof(*value));
    take_text(from, head, sizeof(head), value->name, sizeof(value->name));
    value->kind = (opd_value_kind)head[0];
    switch (value->kind) {
    case OPD_VALUE_INT:
        value->i = (int64_t)take(from);
        break;
    case OPD_VALUE_REAL:
        word = take(from);
        memcpy(&value->re, &word, sizeof(word));
        break;
    case OPD_VALUE_TEXT:
        take_text(from, NULL, 0, value->text, sizeof(value->text));
        break;
    case OPD_VALUE_INTS:
        value->i = head[1] <= OPD_MAX_INTS ? head[1] : 0;
        for (int64_t i = 0; i < value->i; i++) {
            value->ints[i] = (int64_t)take(from);
        }
        break;
    default:
        from->is_short = true;
        break;
    }
}

static void take_operand(unpacking *from, opd_operand *operand)
{
    uint8_t head[4] = { 0, 0, 0, 0 };
    memset(operand, 0, sizeof(*operand));
    take_text(from, head, sizeof(head), operand->name, sizeof(operand->name));
    operand->role = (opd_role)(head[0] & OPD_ROLE_INOUT);
    operand->view.dtype = (opd_dtype)head[1];
    operand->view.rank = head[2] <= OPD_MAX_RANK ? head[2] : 0;
    operand->flags = head[3];
    operand->address = take(from);
    for (int32_t d = 0; d < operand->view.rank; d++) {
        operand->view.shape[d] = (int64_t)take(from);
    }
    for (int32_t d = 0; d < operand->view.rank; d++) {
        operand->view.stride[d] = (int64_t)take(from);
    }
    from->is_short |= opd_tensor_check(&operand->view) != OPD_OK;
}

bool opd_unpack_call(opd_call *out, const uint64_t *words, uint32_t count)
{
    unpacking from = { .words = words, .count = count };
    uint64_t counts = take(&from);
    memset(out, 0, offsetof(opd_call, symbols));
    out->symbol_count = (int32_t)(counts & 255);
    out->attr_count = (int32_t)(counts >> 8 & 255);
    out->operand_count = (int32_t)(counts >> 16 & 255);
    out->dtype = (opd_dtype)(counts >> 24 & 255);
    if (out->symbol_count > OPD_MAX_SYMBOLS || out->attr_count > (int32_t)OPD_COUNT(out->attrs) ||
        out->operand_count > OPD_MAX_OPERANDS) {
        return false;
    }
    take_text(&from, NULL, 0, out->domain, sizeof(out->domain));
    take_text(&from, NULL, 0, out->name, sizeof(out->name));
    for (int i = 0; i < out->symbol_count; i++) {
        take_value(&from, &out->symbols[i]);
    }
    for (int i = 0; i < out->attr_count; i++) {
        take_value(&from, &out->attrs[i]);
    }
    for (int i = 0; i < out->operand_count; i++) {
        take_operand(&from, &out->operands[i]);
    }
    return !from.is_short;
}
