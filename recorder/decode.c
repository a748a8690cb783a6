/* SPDX-License-Identifier: Apache-2.0 */
/* Records of a ring as calls and events: argument words by the contract, C API calls from their pieces. */
#include <stdio.h>
#include <string.h>

#include "collector.h"
#include "forms.h"
#include "packed.h"

#define PACKED_SYMBOL \
    "dnnl_primitive_execute" /* whose calls are packed, beside those of products named as what was called */
#define PRODUCT "dnnl_"

static uint64_t word_of(const opd_ring_record *record, uint32_t index)
{
    return index < record->size ? record->word[index] : 0;
}

bool opd_decode_part(opd_operand_part *out, const opd_ring_record *record, uint32_t index)
{
    uint64_t at = OPD_R_WORDS + record->words + (uint64_t)index * OPD_PART_WORDS;
    if (index >= record->operands || record->state < OPD_STATE_SUBMITTED || at + OPD_PART_WORDS > record->size) {
        return false;
    }
    memcpy(out, &record->word[at], sizeof(*out));
    return true;
}

static opd_status from_words(opd_call *out, const opd_ring_record *record)
{
    const opd_routine *routine = opd_routine_at((int)(word_of(record, OPD_R_WHO) >> 32 & 0xffff));
    const opd_name_pattern *pattern = opd_name_pattern_at((int)record->pattern);
    if (routine == NULL || pattern == NULL || OPD_R_WORDS + record->words > record->size) {
        return opd_fail(OPD_E_FORMAT, "a record in shared memory is not of this build");
    }
    uint32_t flags = (uint32_t)(word_of(record, OPD_R_MODULES) >> 32) & 0xffff;
    opd_status status = opd_call_from_words(out, routine, flags, &record->word[OPD_R_WORDS], (int)record->words);
    if (status != OPD_OK) {
        return status;
    }
    out->flags |= flags & (OPD_CALL_NESTED | OPD_CALL_FROM_LIBRARY | OPD_CALL_AMBIGUOUS);
    opd_routine_symbol(out->symbol, sizeof(out->symbol), routine, pattern);
    return OPD_OK;
}

/* Takes the next bytes of a packed call; false when the record ends before. */
static bool take(void *dst, size_t bytes, const uint8_t **at, const uint8_t *end)
{
    if ((size_t)(end - *at) < bytes) {
        return false;
    }
    memcpy(dst, *at, bytes);
    *at += bytes;
    return true;
}

static void bound_text(char *text, size_t size)
{
    text[size - 1] = '\0';
}

static void bound_value(opd_value *value)
{
    bound_text(value->name, sizeof(value->name));
    if (value->kind != OPD_VALUE_INTS) { /* text and ints share their place */
        bound_text(value->text, sizeof(value->text));
    } else if (value->i < 0 || value->i > OPD_MAX_INTS) {
        value->i = 0;
    }
}

/* What the program wrote is checked before anything follows it. */
static void settle_call(opd_call *call)
{
    bound_text(call->domain, sizeof(call->domain));
    bound_text(call->name, sizeof(call->name));
    bound_text(call->symbol, sizeof(call->symbol));
    const opd_routine *routine = strcmp(call->domain, "blas") == 0 ? opd_routine_find(call->name) : NULL;
    call->op = routine != NULL ? routine->op : opd_op_find(call->domain, call->name);
    for (int i = 0; i < call->symbol_count; i++) {
        bound_value(&call->symbols[i]);
    }
    for (int i = 0; i < call->attr_count; i++) {
        bound_value(&call->attrs[i]);
    }
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        bound_text(operand->name, sizeof(operand->name));
        if (operand->address == 0) {
            operand->address = (uint64_t)(uintptr_t)operand->view.data;
        }
        operand->view.storage = NULL;
        if ((operand->flags & OPD_OPERAND_ABSENT) != 0) {
            operand->view = (opd_tensor){ .dtype = OPD_DTYPE_NONE };
        } else if (opd_tensor_check(&operand->view) != OPD_OK) {
            memset(&operand->view, 0, sizeof(operand->view));
            operand->view.dtype = OPD_U8;
            operand->view.rank = 1;
        }
    }
    if (call->op != NULL && call->op->routines == NULL && !opd_call_fits(call)) {
        call->op = NULL;
    }
}

static opd_status from_pieces(opd_call *out, const opd_ring_record *record)
{
    const uint8_t *at = (const uint8_t *)&record->word[OPD_R_WORDS];
    const uint8_t *end = at + (size_t)record->words * 8;
    uint64_t counts = 0;
    memset(out, 0, sizeof(*out));
    bool is_good = OPD_R_WORDS + record->words <= record->size && take(&counts, sizeof(counts), &at, end);
    uint32_t symbols = (uint32_t)(counts & 255);
    uint32_t attrs = (uint32_t)(counts >> 8 & 255);
    uint32_t operands = (uint32_t)(counts >> 16 & 255);
    is_good = is_good && symbols <= OPD_MAX_SYMBOLS && attrs <= OPD_COUNT(out->attrs) && operands <= OPD_MAX_OPERANDS &&
              take(out, OPD_CALL_HEAD_BYTES, &at, end) && take(out->symbols, symbols * sizeof(opd_value), &at, end) &&
              take(out->attrs, attrs * sizeof(opd_value), &at, end) &&
              take(out->operands, operands * sizeof(opd_operand), &at, end);
    if (!is_good) {
        return opd_fail(OPD_E_FORMAT, "a packed call in shared memory is cut short");
    }
    out->symbol_count = (int32_t)symbols;
    out->attr_count = (int32_t)attrs;
    out->operand_count = (int32_t)operands;
    settle_call(out);
    return OPD_OK;
}

static opd_status from_form(opd_call *out, const opd_ring_record *record, const opd_process *process)
{
    uint64_t words[OPD_MAX_OPERANDS + OPD_MAX_ATTRS + OPD_MAX_OPERANDS];
    uint32_t count = record->words - 1;
    bool is_good = record->words > 0 && count <= OPD_COUNT(words) && OPD_R_WORDS + record->words <= record->size &&
                   opd_form_read(out, process, word_of(record, OPD_R_WORDS)) && opd_form_words(out) == count;
    if (!is_good) {
        return opd_fail(OPD_E_FORMAT, "a record in shared memory has no form");
    }
    memcpy(words, &record->word[OPD_R_WORDS + 1], count * sizeof(words[0]));
    opd_form_fill(out, words);
    settle_call(out);
    return OPD_OK;
}

static opd_status from_packed(opd_call *out, const opd_ring_record *record)
{
    uint32_t flags = (uint32_t)(word_of(record, OPD_R_MODULES) >> 32) & 0xffff;
    bool is_good =
        OPD_R_WORDS + record->words <= record->size && opd_unpack_call(out, &record->word[OPD_R_WORDS], record->words);
    if (!is_good) {
        return opd_fail(OPD_E_FORMAT, "a packed call in shared memory is cut short");
    }
    out->flags |= flags & (OPD_CALL_NESTED | OPD_CALL_FROM_LIBRARY | OPD_CALL_AMBIGUOUS);
    bool is_product = strncmp(out->name, PRODUCT, sizeof(PRODUCT) - 1) == 0;
    snprintf(out->symbol, sizeof(out->symbol), "%s", is_product ? out->name : PACKED_SYMBOL);
    settle_call(out);
    return OPD_OK;
}

static void take_parts(opd_call *call, const opd_ring_record *record)
{
    for (int i = 0; i < call->operand_count; i++) {
        opd_operand *operand = &call->operands[i];
        opd_operand_part part;
        operand->view.data = NULL;
        if (!opd_decode_part(&part, record, (uint32_t)i)) {
            continue;
        }
        operand->flags |= (uint32_t)part.flags;
        operand->before = part.before;
        operand->health_before = part.health_before;
        if (record->state == OPD_STATE_COMPLETE && (part.flags & OPD_PART_HAS_AFTER) != 0) {
            operand->after = part.after;
            operand->health_after = part.health_after;
        }
    }
}

/* FNV-1a over operand addresses and the call's number; for display. */
static uint64_t op_id(const opd_call *call)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int i = -1; i < call->operand_count; i++) {
        uint64_t word = i < 0 ? call->number : call->operands[i].address;
        for (int byte = 0; byte < 8; byte++) {
            hash = (hash ^ (word >> (8 * byte) & 255)) * UINT64_C(0x100000001b3);
        }
    }
    return hash;
}

/*
 * A library with 64-bit integers under names that have 32-bit ones elsewhere: what looks illegal may be an upper half that
 * was not read. How many bits an integer has cannot be seen in a Fortran call, and the bytes behind a 32-bit one are not ours.
 */
static void check_width(opd_call *call, const opd_process *process)
{
    char config[sizeof(process->modules[0].config)];
    if ((call->flags & OPD_CALL_BAD_ARGS) == 0 || (call->flags & OPD_CALL_ILP64) != 0 || call->provider == 0 ||
        call->provider > OPD_PROCESS_MODULES) {
        return;
    }
    memcpy(config, process->modules[call->provider - 1].config, sizeof(config));
    config[sizeof(config) - 1] = '\0';
    if (strstr(config, "USE64BITINT") != NULL) {
        call->flags |= OPD_CALL_ABI_SUSPECT;
    }
}

/* Less what the recorder itself does between the two time stamps. */
static uint64_t end_of(const opd_call *call, const opd_collector *collector, const opd_process *process, uint64_t ticks)
{
    uint64_t end = opd_ticks_to_ns(&collector->ticks, ticks);
    uint64_t own = (uint64_t)((double)process->slice_ticks * collector->ticks.ns_per_tick);
    return end > call->begin_ns && end - call->begin_ns > own ? end - own : call->begin_ns;
}

opd_status opd_decode_call(opd_call *out, const opd_collector *collector, const opd_watched *watched,
                           const opd_ring_record *record)
{
    opd_status status = OPD_E_FORMAT;
    if (record->kind == OPD_RECORD_BLAS) {
        status = from_words(out, record);
    } else if (record->kind == OPD_RECORD_CALL) {
        status = from_pieces(out, record);
    } else if (record->kind == OPD_RECORD_FORM) {
        status = from_form(out, record, watched->process);
    } else if (record->kind == OPD_RECORD_PACKED) {
        status = from_packed(out, record);
    }
    if (status != OPD_OK) {
        return status;
    }
    uint64_t modules = word_of(record, OPD_R_MODULES);
    bool is_complete = record->state == OPD_STATE_COMPLETE;
    out->flags |= is_complete ? 0 : OPD_CALL_IN_FLIGHT;
    out->pid = (uint32_t)watched->pid;
    out->thread = (uint32_t)word_of(record, OPD_R_WHO);
    out->number = word_of(record, OPD_R_NUMBER);
    out->depth = record->depth;
    out->provider = (uint32_t)(modules & 0xffff);
    out->caller = (uint32_t)(modules >> 16 & 0xffff);
    out->mxcsr = (uint32_t)(modules >> 48) & OPD_MXCSR_CONTROL;
    out->begin_ns = opd_ticks_to_ns(&collector->ticks, word_of(record, OPD_R_BEGIN));
    out->start_ns = out->begin_ns;
    out->end_ns = is_complete ? end_of(out, collector, watched->process, word_of(record, OPD_R_END)) : 0;
    out->seed = word_of(record, OPD_R_SEED);
    check_width(out, watched->process);
    take_parts(out, record);
    out->op_id = op_id(out);
    return OPD_OK;
}

opd_status opd_decode_event(opd_event *out, const opd_collector *collector, const opd_ring_record *record)
{
    const size_t name_words = sizeof(out->name) / 8;
    if (record->kind != OPD_RECORD_EVENT || record->words < 1 + 3 + name_words ||
        OPD_R_WORDS + record->words > record->size) {
        return opd_fail(OPD_E_FORMAT, "a record in shared memory is not an event");
    }
    const uint64_t *words = &record->word[OPD_R_WORDS];
    memset(out, 0, sizeof(*out));
    out->value = (int64_t)words[0];
    memcpy(out->kind, words + 1, sizeof(out->kind));
    memcpy(out->name, words + 4, sizeof(out->name));
    bound_text(out->kind, sizeof(out->kind));
    bound_text(out->name, sizeof(out->name));
    out->thread = (uint32_t)word_of(record, OPD_R_WHO);
    out->time_ns = opd_ticks_to_ns(&collector->ticks, word_of(record, OPD_R_BEGIN));
    return OPD_OK;
}
