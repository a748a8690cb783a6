/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON that strict parsers accept, and the arguments of an event as a JSON object, as the text formats share them.
 */
#ifndef OPD_VIEWER_EXPORT_JSON_TEXT_H
#define OPD_VIEWER_EXPORT_JSON_TEXT_H

#include <opsdebug/memory.h>
#include <opsdebug/packet.h>

/* A quoted string; bytes that are not UTF-8 become U+FFFD. */
void opd_json_text(opd_buffer *out, const char *text);
/* The shortest decimal that reads back as the same number; "NaN", "Inf" and "-Inf" as strings. */
void opd_json_real(opd_buffer *out, double value);
void opd_json_uint(opd_buffer *out, uint64_t value);
/* {"name": value, ...}; pointers as hexadecimal strings. */
void opd_json_notes(opd_buffer *out, const opd_note *notes, int count);
/* text as it is, bytes that are not UTF-8 as U+FFFD. */
void opd_utf8_text(opd_buffer *out, const char *text);
/* A text that stands for itself. */
void opd_json_raw(opd_buffer *out, const char *text);

#endif
