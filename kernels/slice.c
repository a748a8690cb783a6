/* SPDX-License-Identifier: Apache-2.0 */
/* Pieces of a contract's or a wish's text: cut, compared, read as numbers. */
#include "slice.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>

opd_slice opd_slice_of(const char *text)
{
    return (opd_slice){ text, text != NULL ? (int)strlen(text) : 0 };
}

opd_slice opd_slice_trim(opd_slice text)
{
    while (text.size > 0 && isspace((unsigned char)text.at[0])) {
        text.at++;
        text.size--;
    }
    while (text.size > 0 && isspace((unsigned char)text.at[text.size - 1])) {
        text.size--;
    }
    return text;
}

bool opd_slice_equal(opd_slice a, opd_slice b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.at, b.at, (size_t)a.size) == 0);
}

bool opd_slice_is(opd_slice text, const char *word)
{
    return opd_slice_equal(text, opd_slice_of(word));
}

bool opd_slice_is_name(opd_slice text)
{
    for (int i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.at[i];
        if (c != '_' && !(i > 0 ? isalnum(c) : isalpha(c))) {
            return false;
        }
    }
    return text.size > 0;
}

bool opd_slice_drop(opd_slice *text, const char *ending)
{
    int size = (int)strlen(ending);
    if (text->size < size || memcmp(text->at + text->size - size, ending, (size_t)size) != 0) {
        return false;
    }
    text->size -= size;
    return true;
}

bool opd_slice_next(opd_slice *item, opd_slice *rest, char separator)
{
    *rest = opd_slice_trim(*rest);
    if (rest->size == 0) {
        return false;
    }
    int depth = 0;
    int i = 0;
    for (; i < rest->size; i++) {
        char c = rest->at[i];
        depth += (c == '(' || c == '[') - (c == ')' || c == ']');
        if (depth == 0 && c == separator) {
            break;
        }
    }
    *item = opd_slice_trim((opd_slice){ rest->at, i });
    i += i < rest->size;
    *rest = (opd_slice){ rest->at + i, rest->size - i };
    return true;
}

opd_slice opd_slice_head(opd_slice item, opd_slice *arguments)
{
    const char *open = memchr(item.at, '(', (size_t)item.size);
    if (open == NULL) {
        *arguments = (opd_slice){ item.at + item.size, 0 };
        return item;
    }
    int size = (int)(open - item.at);
    int inner = item.size - size - 2;
    *arguments = (opd_slice){ open + 1, inner > 0 ? inner : 0 };
    return (opd_slice){ item.at, size };
}

enum { NUMBER_TEXT = 64 };

/* A copy with an end, '.' as the locale has it: strtod() of a recorded program may expect another. */
static bool copy_number(char text[NUMBER_TEXT], opd_slice from, const char *point)
{
    if (from.size <= 0 || from.size >= NUMBER_TEXT || isspace((unsigned char)from.at[0])) {
        return false;
    }
    memcpy(text, from.at, (size_t)from.size);
    text[from.size] = '\0';
    char *found = strchr(text, '.');
    if (found != NULL && point[0] != '\0' && point[1] == '\0') {
        *found = point[0];
    }
    return true;
}

bool opd_slice_int(int64_t *out, opd_slice text)
{
    char copy[NUMBER_TEXT];
    char *end = NULL;
    if (!copy_number(copy, text, ".")) {
        return false;
    }
    errno = 0;
    long long value = strtoll(copy, &end, 10);
    if (*end != '\0' || errno != 0) {
        return false;
    }
    *out = value;
    return true;
}

bool opd_slice_real(double *out, opd_slice text)
{
    char copy[NUMBER_TEXT];
    char *end = NULL;
    if (!copy_number(copy, text, localeconv()->decimal_point)) {
        return false;
    }
    double value = strtod(copy, &end);
    if (*end != '\0') {
        return false;
    }
    *out = value;
    return true;
}

int opd_slice_ints(int64_t *values, int capacity, opd_slice text)
{
    if (text.size >= 2 && text.at[0] == '[' && text.at[text.size - 1] == ']') {
        text = (opd_slice){ text.at + 1, text.size - 2 };
    }
    int count = 0;
    opd_slice item;
    while (opd_slice_next(&item, &text, ',')) {
        if (count == capacity || !opd_slice_int(&values[count], item)) {
            return -1;
        }
        count++;
    }
    return count;
}
