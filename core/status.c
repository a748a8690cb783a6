/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status names and the thread's error text. The text is a fixed thread-local array in the initial-exec model: reading
 * or writing it never allocates and never enters the loader, so it may be used inside a recorded program.
 */
#include <opsdebug/status.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/memory.h>

/* Macros where clang-tidy reads this: tests/support/analyzer.h. */
#undef opd_fail
#undef opd_fail_in

#define TEXT_BYTES 512

static __thread char error_text[TEXT_BYTES] __attribute__((tls_model("initial-exec")));
static __thread opd_status error_status __attribute__((tls_model("initial-exec")));

/* Texts quote names out of files: control characters must not reach a terminal or break the one line. */
static void make_one_line(char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '\n' || c == '\t') {
            *text = ' ';
        } else if (c < 0x20 || c == 0x7f) {
            *text = '?';
        }
    }
}

opd_status opd_fail(opd_status status, const char *format, ...)
{
    char text[TEXT_BYTES]; /* arguments may point into error_text */
    va_list list;
    va_start(list, format);
    if (vsnprintf(text, sizeof(text), format, list) < 0) {
        text[0] = '\0';
    }
    va_end(list);
    make_one_line(text);
    memcpy(error_text, text, sizeof(error_text));
    error_status = status;
    return status;
}

/* Cuts at the end of text; keeps it terminated. */
static void append(char *text, size_t *used, const char *more)
{
    while (*more != '\0' && *used < TEXT_BYTES - 1) {
        text[(*used)++] = *more++;
    }
    text[*used] = '\0';
}

opd_status opd_fail_in(opd_status status, const char *format, ...)
{
    char text[TEXT_BYTES];
    va_list list;
    va_start(list, format);
    int length = vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    if (length < 0) {
        text[0] = '\0';
        length = 0;
    }
    size_t used = (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;
    append(text, &used, ": ");
    append(text, &used, error_text);
    make_one_line(text);
    memcpy(error_text, text, sizeof(error_text));
    error_status = status;
    return status;
}

opd_status opd_fail_at(opd_status status, const char *path)
{
    return strstr(error_text, path) != NULL ? status : opd_fail_in(status, "%s", path);
}

const char *opd_error_text(void)
{
    return error_text;
}

void opd_error_clear(void)
{
    error_text[0] = '\0';
    error_status = OPD_OK;
}

opd_status opd_error_status(void)
{
    return error_status;
}

static const struct {
    opd_status status;
    const char *name;
    const char *sentence;
} statuses[] = {
#define OPD_X(id, number, text) { OPD_##id, #id, text },
    OPD_STATUS_LIST(OPD_X)
#undef OPD_X
};

const char *opd_status_name(opd_status status)
{
    for (size_t i = 0; i < OPD_COUNT(statuses); i++) {
        if (statuses[i].status == status) {
            return statuses[i].name;
        }
    }
    return "E_UNKNOWN";
}

const char *opd_status_sentence(opd_status status)
{
    for (size_t i = 0; i < OPD_COUNT(statuses); i++) {
        if (statuses[i].status == status) {
            return statuses[i].sentence;
        }
    }
    return "unknown status";
}
