/* SPDX-License-Identifier: Apache-2.0 */
/* Packing and unpacking of forms. A form without its text is about 100 bytes per operand, so that a thousand fit. */
#include "forms.h"

#include <string.h>

typedef struct form_head {
    char domain[OPD_NAME];
    char name[OPD_NAME];
    char symbol[48];
    uint32_t dtype, flags;
    int32_t attr_count, operand_count;
} form_head;

typedef struct form_value {
    char name[OPD_NAME];
    uint64_t kind;
    int64_t i;
    double re, im;
} form_value;

typedef struct form_operand {
    char name[OPD_NAME];
    uint32_t role, flags;
    uint32_t dtype;
    int32_t rank;
} form_operand;

_Static_assert(sizeof(form_head) % 8 == 0 && sizeof(form_value) % 8 == 0 && sizeof(form_operand) % 8 == 0,
               "packed as words");

/* What a value has beside its head. */
static size_t tail_of(uint64_t kind)
{
    return kind == OPD_VALUE_TEXT || kind == OPD_VALUE_INTS ? sizeof(((opd_value *)0)->text) : 0;
}

static size_t packed_bytes(const opd_call *call)
{
    size_t bytes = sizeof(form_head);
    for (int i = 0; i < call->attr_count; i++) {
        bytes += sizeof(form_value) + tail_of(call->attrs[i].kind);
    }
    for (int i = 0; i < call->operand_count; i++) {
        bytes += sizeof(form_operand) + 16 * (size_t)call->operands[i].view.rank;
    }
    return bytes;
}

static bool is_plausible(const opd_call *call)
{
    bool is_good = call->symbol_count == 0 && call->attr_count >= 0 &&
                   (size_t)call->attr_count <= OPD_COUNT(call->attrs) && call->operand_count >= 0 &&
                   call->operand_count <= OPD_MAX_OPERANDS;
    for (int i = 0; is_good && i < call->operand_count; i++) {
        is_good = call->operands[i].view.rank >= 0 && call->operands[i].view.rank <= OPD_MAX_RANK &&
                  call->operands[i].view.mask.kind == OPD_MASK_NONE;
    }
    return is_good;
}

static uint8_t *put(uint8_t *at, const void *from, size_t bytes)
{
    memcpy(at, from, bytes);
    return at + bytes;
}

static void pack(uint8_t *at, const opd_call *call)
{
    form_head head = { .dtype = (uint32_t)call->dtype,
                       .flags = call->flags,
                       .attr_count = call->attr_count,
                       .operand_count = call->operand_count };
    memcpy(head.domain, call->domain, sizeof(head.domain));
    memcpy(head.name, call->name, sizeof(head.name));
    memcpy(head.symbol, call->symbol, sizeof(head.symbol));
    at = put(at, &head, sizeof(head));
    for (int i = 0; i < call->attr_count; i++) {
        const opd_value *value = &call->attrs[i];
        form_value made = { .kind = (uint64_t)value->kind, .i = value->i, .re = value->re, .im = value->im };
        memcpy(made.name, value->name, sizeof(made.name));
        at = put(at, &made, sizeof(made));
        at = put(at, value->text, tail_of(made.kind));
    }
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        form_operand made = { .role = (uint32_t)operand->role,
                              .flags = operand->flags,
                              .dtype = (uint32_t)operand->view.dtype,
                              .rank = operand->view.rank };
        memcpy(made.name, operand->name, sizeof(made.name));
        at = put(at, &made, sizeof(made));
        at = put(at, operand->view.shape, 8 * (size_t)made.rank);
        at = put(at, operand->view.stride, 8 * (size_t)made.rank);
    }
}

uint32_t opd_form_add(opd_process *process, const opd_call *call, bool (*populate)(void *start, uint64_t bytes))
{
    if (!is_plausible(call)) {
        return 0;
    }
    opd_forms *forms = &process->forms;
    uint64_t bytes = packed_bytes(call);
    uint32_t index = atomic_load(&forms->count);
    if (index >= OPD_FORM_COUNT || atomic_load(&forms->used) + bytes > OPD_FORM_BYTES) {
        return 0; /* asked again for every call: no counter may grow */
    }
    uint64_t offset = atomic_fetch_add(&forms->used, bytes);
    index = offset + bytes <= OPD_FORM_BYTES ? atomic_fetch_add(&forms->count, 1) : OPD_FORM_COUNT;
    if (index >= OPD_FORM_COUNT || !populate(process->form_bytes + offset, bytes)) {
        return 0;
    }
    pack(process->form_bytes + offset, call);
    atomic_store_explicit(&forms->places[index], (uint32_t)offset + 1, memory_order_release);
    return index + 1;
}

void opd_forms_copy(opd_process *to, const opd_process *from, bool (*populate)(void *start, uint64_t bytes))
{
    uint64_t used = atomic_load(&from->forms.used);
    uint32_t count = atomic_load(&from->forms.count);
    used = used < OPD_FORM_BYTES ? used : OPD_FORM_BYTES;
    count = count < OPD_FORM_COUNT ? count : OPD_FORM_COUNT;
    if (used == 0 || !populate(to->form_bytes, used)) {
        /* Numbers given before the fork must not come again for other forms. */
        atomic_store(&to->forms.count, count > 0 ? OPD_FORM_COUNT : 0);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        /* A form that another thread was at when the process forked stays without a place: it is never used. */
        uint32_t place = atomic_load(&from->forms.places[i]);
        atomic_store(&to->forms.places[i], place);
    }
    memcpy(to->form_bytes, from->form_bytes, used);
    atomic_store(&to->forms.used, used);
    atomic_store(&to->forms.count, count);
}

/* --------------------------------------------------------------------------------------------------- reading */

typedef struct cursor {
    const uint8_t *at, *end;
} cursor;

static bool take(void *out, cursor *from, size_t bytes)
{
    if ((size_t)(from->end - from->at) < bytes) {
        return false;
    }
    memcpy(out, from->at, bytes);
    from->at += bytes;
    return true;
}

static bool read_value(opd_value *out, cursor *from)
{
    form_value packed;
    if (!take(&packed, from, sizeof(packed))) {
        return false;
    }
    *out = (opd_value){ .kind = (opd_value_kind)packed.kind, .i = packed.i, .re = packed.re, .im = packed.im };
    memcpy(out->name, packed.name, sizeof(out->name));
    return packed.kind <= OPD_VALUE_INTS && take(out->text, from, tail_of(packed.kind));
}

static bool read_operand(opd_operand *out, cursor *from)
{
    form_operand packed;
    if (!take(&packed, from, sizeof(packed)) || packed.rank < 0 || packed.rank > OPD_MAX_RANK) {
        return false;
    }
    *out = (opd_operand){ .role = (opd_role)packed.role, .flags = packed.flags };
    memcpy(out->name, packed.name, sizeof(out->name));
    out->view.dtype = (opd_dtype)packed.dtype;
    out->view.rank = packed.rank;
    return take(out->view.shape, from, 8 * (size_t)packed.rank) &&
           take(out->view.stride, from, 8 * (size_t)packed.rank);
}

bool opd_form_read(opd_call *out, const opd_process *process, uint64_t number)
{
    form_head head;
    uint32_t place = number > 0 && number <= OPD_FORM_COUNT
                         ? atomic_load_explicit(&process->forms.places[number - 1], memory_order_acquire)
                         : 0;
    if (place == 0 || place > OPD_FORM_BYTES) {
        return false;
    }
    cursor from = { process->form_bytes + place - 1, process->form_bytes + OPD_FORM_BYTES };
    memset(out, 0, sizeof(*out));
    bool is_good = take(&head, &from, sizeof(head)) && head.attr_count >= 0 &&
                   (size_t)head.attr_count <= OPD_COUNT(out->attrs) && head.operand_count >= 0 &&
                   head.operand_count <= OPD_MAX_OPERANDS;
    if (!is_good) {
        return false;
    }
    memcpy(out->domain, head.domain, sizeof(out->domain));
    memcpy(out->name, head.name, sizeof(out->name));
    memcpy(out->symbol, head.symbol, sizeof(out->symbol));
    out->dtype = (opd_dtype)head.dtype;
    out->flags = head.flags;
    out->attr_count = head.attr_count;
    out->operand_count = head.operand_count;
    for (int i = 0; is_good && i < head.attr_count; i++) {
        is_good = read_value(&out->attrs[i], &from);
    }
    for (int i = 0; is_good && i < head.operand_count; i++) {
        is_good = read_operand(&out->operands[i], &from);
    }
    return is_good;
}

void opd_form_fill(opd_call *call, const uint64_t *words)
{
    for (int i = 0; i < call->operand_count; i++) {
        call->operands[i].view.data = (void *)(uintptr_t)*words;
        call->operands[i].address = *words++;
    }
    for (int i = 0; i < call->attr_count; i++) {
        opd_value *value = &call->attrs[i];
        if (value->kind == OPD_VALUE_INT) {
            value->i = (int64_t)*words++;
        } else if (value->kind == OPD_VALUE_REAL) {
            memcpy(&value->re, words++, sizeof(value->re));
        }
    }
}
