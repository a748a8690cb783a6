// SPDX-License-Identifier: Apache-2.0
// The routine's prototype and the call, in the form that was recorded: CBLAS (enumerations and integers by value, complex scalars
// by pointer) or Fortran (everything by pointer, hidden lengths of characters at the end).
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"

static bool is_sub_form(const opd_emitter *emit)
{
    return emit->is_cblas && emit->item->call.op->has_sub_form && !emit->is_direct;
}

static const char *return_type(const opd_emitter *emit)
{
    switch (opd_routine_returns(emit->routine)) {
    case OPD_F32:
        return "float";
    case OPD_F64:
        return "double";
    case OPD_C64:
        return is_sub_form(emit) ? "void" : "float _Complex";
    case OPD_C128:
        return is_sub_form(emit) ? "void" : "double _Complex";
    case OPD_DTYPE_NONE:
        return "void";
    default:
        return emit->is_cblas ? "size_t" : emit->int_type;
    }
}

/* A buffer of text that wraps at commas. */
typedef struct line {
    char text[256];
    int column;
    bool is_first;
    opd_buffer *out;
    int indent;
} line;

static void put(line *to, const char *item)
{
    int length = (int)strlen(item);
    if (!to->is_first) {
        opd_buffer_print(to->out, ",");
        to->column++;
        if (to->column + length + 2 > 100) {
            opd_buffer_print(to->out, "\n%*s", to->indent, "");
            to->column = to->indent;
        } else {
            opd_buffer_print(to->out, " ");
            to->column++;
        }
    }
    opd_buffer_print(to->out, "%s", item);
    to->column += length;
    to->is_first = false;
}

static void parameter(const opd_emitter *emit, const opd_arg *arg, char *text, size_t size)
{
    const char *type = opd_emit_type(arg->dtype);
    bool is_complex = opd_dtype_is_complex(arg->dtype);
    switch (arg->kind) {
    case OPD_ARG_CHOICE:
        snprintf(text, size, emit->is_cblas ? "int %s" : "const char *%s", arg->name);
        break;
    case OPD_ARG_INT:
        snprintf(text, size, emit->is_cblas ? "%s %s" : "const %s *%s", emit->int_type, arg->name);
        break;
    case OPD_ARG_SCALAR:
        if (emit->is_cblas && is_complex) {
            snprintf(text, size, "const void *%s", arg->name);
        } else {
            snprintf(text, size, emit->is_cblas ? "%s %s" : "const %s *%s", type, arg->name);
        }
        break;
    default:
        snprintf(text, size, "%s%s *%s", arg->is_output ? "" : "const ", is_complex ? "void" : type, arg->name);
        break;
    }
}

static int hidden_lengths(const opd_emitter *emit)
{
    int count = emit->has_order ? 1 : 0;
    for (int i = 0; i < emit->arg_count; i++) {
        count += emit->args[i].kind == OPD_ARG_CHOICE;
    }
    return emit->is_cblas ? 0 : count;
}

void opd_emit_prototype(opd_emitter *emit)
{
    char text[128];
    line to = { .out = emit->out, .is_first = true, .indent = 4 };
    snprintf(text, sizeof(text), "%s %s(", return_type(emit), emit->symbol);
    opd_buffer_print(emit->out, "%s", text);
    to.column = (int)strlen(text);
    if (emit->has_order) {
        put(&to, emit->is_cblas ? "int order" : "const char *order");
    }
    for (int i = 0; i < emit->arg_count; i++) {
        parameter(emit, &emit->args[i], text, sizeof(text));
        put(&to, text);
    }
    if (is_sub_form(emit)) {
        put(&to, "void *result");
    }
    for (int i = 0; i < hidden_lengths(emit); i++) {
        snprintf(text, sizeof(text), "size_t length%d", i + 1);
        put(&to, text);
    }
    opd_buffer_print(emit->out, ");\n");
}

static void choice(const opd_emitter *emit, const char *letters, uint64_t word, char *text, size_t size)
{
    char letter[OPD_CHOICE_TEXT];
    int64_t value = (int64_t)word;
    opd_choice_print(letter, value);
    if (emit->is_cblas && opd_choice_is_letter(value)) {
        snprintf(text, size, "%d /* %s */", opd_choice_to_cblas(letters, value), letter);
    } else if (emit->is_cblas) {
        snprintf(text, size, "%d", opd_choice_to_cblas(letters, value));
    } else if (isalnum((int)(value & 127)) != 0 && opd_choice_is_letter(value)) {
        snprintf(text, size, "\"%s\"", letter);
    } else {
        snprintf(text, size, "\"\\%03o\"", (unsigned)value & 255U);
    }
}

static double word_value(uint64_t word)
{
    double value = 0;
    memcpy(&value, &word, sizeof(value));
    return value;
}

static void scalar(const opd_emitter *emit, const opd_arg *arg, const uint64_t *words, char *text, size_t size)
{
    char re[48];
    char im[48];
    const char *type = opd_emit_type(arg->dtype);
    opd_emit_number(re, sizeof(re), arg->dtype, word_value(words[0]));
    if (opd_dtype_is_complex(arg->dtype)) {
        opd_emit_number(im, sizeof(im), arg->dtype, word_value(words[1]));
        snprintf(text, size, "(%s[]){ %s, %s }", type, re, im);
    } else if (emit->is_cblas) {
        snprintf(text, size, "%s", re);
    } else {
        snprintf(text, size, "&(%s){ %s }", type, re);
    }
}

static int operand_named(const opd_call *call, const char *name)
{
    for (int i = 0; i < call->operand_count; i++) {
        if (strcmp(call->operands[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static void pointer(const opd_emitter *emit, const opd_arg *arg, char *text, size_t size)
{
    int operand = operand_named(&emit->item->call, arg->name);
    int which = operand < 0 ? -1 : emit->array_of[operand];
    if (which < 0) {
        snprintf(text, size, "NULL");
        return;
    }
    const opd_emit_array *array = &emit->arrays[which];
    size_t offset = emit->pointer_of[operand] - array->low;
    size_t part = opd_dtype_size(opd_dtype_real(array->dtype));
    if (offset == 0) {
        snprintf(text, size, "%s", array->name);
    } else {
        snprintf(text, size, "%s + %zu", array->name, offset / part);
    }
}

static void argument(const opd_emitter *emit, int which, char *text, size_t size)
{
    const opd_arg *arg = &emit->args[which];
    const uint64_t *words = emit->words + emit->word_of[which];
    switch (arg->kind) {
    case OPD_ARG_CHOICE:
        choice(emit, arg->letters, words[0], text, size);
        break;
    case OPD_ARG_INT:
        if (emit->is_cblas) {
            snprintf(text, size, "%lld", (long long)words[0]);
        } else {
            snprintf(text, size, "&(%s){ %lld }", emit->int_type, (long long)words[0]);
        }
        break;
    case OPD_ARG_SCALAR:
        scalar(emit, arg, words, text, size);
        break;
    default:
        pointer(emit, arg, text, size);
        break;
    }
}

/* "result_data[0] = (int)" and the like, before the call. */
static void print_target(opd_emitter *emit)
{
    const opd_call *call = &emit->item->call;
    for (int o = 0; o < call->operand_count; o++) {
        const opd_operand *operand = &call->operands[o];
        if ((operand->flags & OPD_OPERAND_RETURNED) == 0 || is_sub_form(emit)) {
            continue;
        }
        if (opd_dtype_is_complex(operand->view.dtype)) {
            opd_buffer_print(emit->out, "*(%s *)%s_data = ", return_type(emit), operand->name);
        } else {
            const char *cast = opd_dtype_is_float(operand->view.dtype) ? "" : emit->is_cblas ? "(int)" : "";
            opd_buffer_print(emit->out, "%s_data[0] = %s", operand->name, cast);
        }
    }
}

bool opd_emit_sets_mode(const opd_call *call)
{
    uint32_t mxcsr = call->mxcsr & OPD_MXCSR_CONTROL;
    return mxcsr != 0 && mxcsr != OPD_MXCSR_DEFAULT;
}

void opd_emit_call(opd_emitter *emit)
{
    char text[OPD_MODE_TEXT];
    line to = { .out = emit->out, .is_first = true, .indent = 8, .column = 40 };
    if (opd_emit_sets_mode(&emit->item->call)) {
        uint32_t mxcsr = emit->item->call.mxcsr & OPD_MXCSR_CONTROL;
        opd_mxcsr_describe(text, sizeof(text), mxcsr);
        opd_buffer_print(emit->out, "    _mm_setcsr(0x%x); /* %s */\n", (unsigned)mxcsr, text);
    }
    opd_buffer_print(emit->out, "    ");
    print_target(emit);
    opd_buffer_print(emit->out, "%s(", emit->symbol);
    if (emit->has_order) {
        choice(emit, "RC", emit->words[0], text, sizeof(text));
        put(&to, text);
    }
    for (int i = 0; i < emit->arg_count; i++) {
        argument(emit, i, text, sizeof(text));
        put(&to, text);
    }
    if (is_sub_form(emit)) {
        const opd_call *call = &emit->item->call;
        for (int o = 0; o < call->operand_count; o++) {
            if ((call->operands[o].flags & OPD_OPERAND_RETURNED) != 0) {
                snprintf(text, sizeof(text), "%s_data", call->operands[o].name);
                put(&to, text);
            }
        }
    }
    for (int i = 0; i < hidden_lengths(emit); i++) {
        put(&to, "1");
    }
    opd_buffer_print(emit->out, ");\n");
    if (opd_emit_sets_mode(&emit->item->call)) {
        opd_buffer_print(emit->out, "    _mm_setcsr(0x%x);\n", (unsigned)OPD_MXCSR_DEFAULT);
    }
}
