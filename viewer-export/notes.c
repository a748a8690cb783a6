/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of one event. No allocation: an event has a fixed room.
 */
#include <string.h>

#include "notes.h"

void opd_notes_clear(opd_notes *notes)
{
    notes->count = 0;
    notes->used = 0;
}

/* The two texts joined, in the notes' own room; NULL when there is none left. */
static const char *keep_text(opd_notes *notes, const char *first, const char *second)
{
    size_t first_size = strlen(first);
    size_t second_size = strlen(second);

    if (first_size + second_size + 1 > sizeof(notes->text) - notes->used) {
        return NULL;
    }
    char *text = notes->text + notes->used;
    (void)stpcpy(stpcpy(text, first), second);
    notes->used += first_size + second_size + 1;
    return text;
}

static void add_note(opd_notes *notes, const char *prefix, const char *name, const opd_note *value)
{
    const char *full_name = prefix[0] == '\0' ? name : keep_text(notes, prefix, name);
    const char *text = value->text == NULL ? NULL : keep_text(notes, "", value->text);
    bool is_kept = full_name != NULL && (value->text == NULL || text != NULL);

    if (!is_kept || notes->count >= OPD_NOTES_MAX - 1) {
        if (notes->count < OPD_NOTES_MAX) {
            notes->items[notes->count++] = (opd_note){ .name = "cut", .kind = OPD_NOTE_BOOL, .i = 1 };
        }
        return;
    }
    opd_note note = *value;
    note.name = full_name;
    note.text = text;
    notes->items[notes->count++] = note;
}

void opd_notes_int(opd_notes *notes, const char *prefix, const char *name, int64_t value)
{
    add_note(notes, prefix, name, &(opd_note){ .kind = OPD_NOTE_INT, .i = value });
}

void opd_notes_uint(opd_notes *notes, const char *prefix, const char *name, uint64_t value)
{
    add_note(notes, prefix, name, &(opd_note){ .kind = OPD_NOTE_UINT, .i = (int64_t)value });
}

void opd_notes_real(opd_notes *notes, const char *prefix, const char *name, double value)
{
    add_note(notes, prefix, name, &(opd_note){ .kind = OPD_NOTE_REAL, .real = value });
}

void opd_notes_bool(opd_notes *notes, const char *prefix, const char *name, bool value)
{
    add_note(notes, prefix, name, &(opd_note){ .kind = OPD_NOTE_BOOL, .i = value });
}

void opd_notes_pointer(opd_notes *notes, const char *prefix, const char *name, uint64_t value)
{
    add_note(notes, prefix, name, &(opd_note){ .kind = OPD_NOTE_POINTER, .i = (int64_t)value });
}

void opd_notes_text(opd_notes *notes, const char *prefix, const char *name, const char *text)
{
    add_note(notes, prefix, name, &(opd_note){ .kind = OPD_NOTE_TEXT, .text = text });
}

void opd_notes_digest(opd_notes *notes, const char *prefix, const char *name, const opd_digest *digest)
{
    char text[OPD_DIGEST_TEXT];

    if (!opd_digest_is_none(digest)) {
        opd_digest_print(text, digest);
        add_note(notes, prefix, name, &(opd_note){ .kind = OPD_NOTE_RARE_TEXT, .text = text });
    }
}

void opd_notes_flags(opd_notes *notes, const char *prefix, const char *name, uint32_t flags, const opd_flag_name *names,
                     size_t count)
{
    char text[256] = "";
    size_t used = 0;

    for (size_t i = 0; i < count; i++) {
        size_t size = strlen(names[i].name);
        if ((flags & names[i].flag) != 0 && used + size + 2 <= sizeof(text)) {
            if (used > 0) {
                text[used++] = ',';
            }
            memcpy(text + used, names[i].name, size + 1);
            used += size;
        }
    }
    if (used > 0) {
        opd_notes_text(notes, prefix, name, text);
    }
}
