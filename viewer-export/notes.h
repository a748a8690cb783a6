/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arguments of one event being drawn, with the room for their names and texts.
 */
#ifndef OPD_VIEWER_EXPORT_NOTES_H
#define OPD_VIEWER_EXPORT_NOTES_H

#include <opsdebug/bundle.h>
#include <opsdebug/packet.h>

/* A call needs at most 20 + attributes + symbols + 18 per operand. */
#define OPD_NOTES_MAX 256

typedef struct opd_notes {
    opd_note items[OPD_NOTES_MAX];
    int count;
    size_t used;
    char text[24576];
} opd_notes;

void opd_notes_clear(opd_notes *notes);
/* "<prefix><name>"; "" = no prefix. Names and texts are copied. What finds no room is left out and the note "cut" says so. */
void opd_notes_int(opd_notes *notes, const char *prefix, const char *name, int64_t value);
void opd_notes_uint(opd_notes *notes, const char *prefix, const char *name, uint64_t value);
void opd_notes_real(opd_notes *notes, const char *prefix, const char *name, double value);
void opd_notes_bool(opd_notes *notes, const char *prefix, const char *name, bool value);
void opd_notes_pointer(opd_notes *notes, const char *prefix, const char *name, uint64_t value);
void opd_notes_text(opd_notes *notes, const char *prefix, const char *name, const char *text);
/* Nothing when the digest was not taken. */
void opd_notes_digest(opd_notes *notes, const char *prefix, const char *name, const opd_digest *digest);

/* Names of the bits set in flags, joined by commas; nothing when none is. */
typedef struct opd_flag_name {
    uint32_t flag;
    const char *name;
} opd_flag_name;
void opd_notes_flags(opd_notes *notes, const char *prefix, const char *name, uint32_t flags, const opd_flag_name *names,
                     size_t count);

#endif
