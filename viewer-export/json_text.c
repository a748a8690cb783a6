/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text of JSON values. Written by hand rather than by a tree library: a trace is streamed.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"

void opd_json_raw(opd_buffer *out, const char *text)
{
    opd_buffer_append(out, text, strlen(text));
}

/* Bytes of the UTF-8 character at text, 0 when there is none: overlong forms, surrogates and numbers over U+10FFFF are none. */
static size_t character_size(const unsigned char *text)
{
    static const struct {
        unsigned char mask, head, least;
        size_t size;
    } forms[] = { { 0x80, 0x00, 0x00, 1 }, { 0xe0, 0xc0, 0xc2, 2 }, { 0xf0, 0xe0, 0xe0, 3 }, { 0xf8, 0xf0, 0xf0, 4 } };
    size_t size = 0;

    for (size_t i = 0; i < OPD_COUNT(forms); i++) {
        if ((text[0] & forms[i].mask) == forms[i].head && text[0] >= forms[i].least) {
            size = forms[i].size;
        }
    }
    for (size_t i = 1; i < size; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool is_overlong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    bool is_surrogate = text[0] == 0xed && text[1] >= 0xa0;
    bool is_beyond = text[0] > 0xf4 || (text[0] == 0xf4 && text[1] >= 0x90);
    return is_overlong || is_surrogate || is_beyond ? 0 : size;
}

static void put_special(opd_buffer *out, unsigned char byte)
{
    switch (byte) {
    case '"':
        opd_json_raw(out, "\\\"");
        break;
    case '\\':
        opd_json_raw(out, "\\\\");
        break;
    case '\n':
        opd_json_raw(out, "\\n");
        break;
    case '\t':
        opd_json_raw(out, "\\t");
        break;
    default:
        opd_buffer_print(out, "\\u%04x", byte);
        break;
    }
}

static bool is_special(unsigned char byte)
{
    return byte < 0x20 || byte == '"' || byte == '\\';
}

/* Copies well-formed characters, of which is_json leaves special ones to put_special. */
static void put_characters(opd_buffer *out, const char *text, bool is_json)
{
    const unsigned char *at = (const unsigned char *)text;

    while (*at != '\0') {
        const unsigned char *plain = at;
        size_t size = 0;
        while (*at != '\0' && !(is_json && is_special(*at)) && (size = character_size(at)) > 0) {
            at += size;
        }
        opd_buffer_append(out, plain, (size_t)(at - plain));
        if (*at == '\0') {
            return;
        }
        if (is_json && is_special(*at)) {
            put_special(out, *at);
        } else {
            opd_json_raw(out, "\xef\xbf\xbd");
        }
        at++;
    }
}

void opd_utf8_text(opd_buffer *out, const char *text)
{
    put_characters(out, text, false);
}

void opd_json_text(opd_buffer *out, const char *text)
{
    opd_json_raw(out, "\"");
    put_characters(out, text, true);
    opd_json_raw(out, "\"");
}

void opd_json_uint(opd_buffer *out, uint64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value != 0);
    opd_buffer_append(out, digits + at, sizeof(digits) - at);
}

void opd_json_real(opd_buffer *out, double value)
{
    char text[32];

    if (!isfinite(value)) {
        opd_json_raw(out, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Inf\"" : "\"-Inf\"");
        return;
    }
    int size = 0;
    for (int digits = 15; digits <= 17; digits++) {
        size = snprintf(text, sizeof(text), "%.*g", digits, value);
        if (strtod(text, NULL) == value) {
            break;
        }
    }
    opd_buffer_append(out, text, (size_t)size);
}

static void put_note(opd_buffer *out, const opd_note *note)
{
    switch (note->kind) {
    case OPD_NOTE_INT:
        if (note->i < 0) {
            opd_json_raw(out, "-");
        }
        opd_json_uint(out, note->i < 0 ? (uint64_t)0 - (uint64_t)note->i : (uint64_t)note->i);
        break;
    case OPD_NOTE_UINT:
        opd_json_uint(out, (uint64_t)note->i);
        break;
    case OPD_NOTE_REAL:
        opd_json_real(out, note->real);
        break;
    case OPD_NOTE_TEXT:
    case OPD_NOTE_RARE_TEXT:
        opd_json_text(out, note->text);
        break;
    case OPD_NOTE_BOOL:
        opd_json_raw(out, note->i != 0 ? "true" : "false");
        break;
    case OPD_NOTE_POINTER:
        opd_buffer_print(out, "\"0x%llx\"", (unsigned long long)note->i);
        break;
    }
}

void opd_json_notes(opd_buffer *out, const opd_note *notes, int count)
{
    opd_json_raw(out, "{");
    for (int i = 0; i < count; i++) {
        if (i > 0) {
            opd_json_raw(out, ",");
        }
        opd_json_text(out, notes[i].name);
        opd_json_raw(out, ":");
        put_note(out, &notes[i]);
    }
    opd_json_raw(out, "}");
}
