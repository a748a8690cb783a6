/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Status codes and the thread's error text. Every function that can fail returns opd_status; the site
 * that fails calls opd_fail() once, callers pass the code up unchanged, and only a boundary that knows
 * more (a path, a call number) prepends to the text with opd_fail_in().
 */
#ifndef OPSDEBUG_STATUS_H
#define OPSDEBUG_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define OPD_PRINTF(format_index, first_argument) \
    __attribute__((format(printf, format_index, first_argument)))
#define OPD_PUBLIC __attribute__((visibility("default")))
#else
#define OPD_PRINTF(format_index, first_argument)
#define OPD_PUBLIC
#endif

/* name, pinned number, sentence */
#define OPD_STATUS_LIST(X)                                                     \
    X(OK, 0, "success")                                                        \
    X(E_NOMEM, 1, "out of memory")                                             \
    X(E_IO, 2, "input or output failed")                                       \
    X(E_FORMAT, 3, "the data is not in the expected format, or is damaged")    \
    X(E_VERSION, 4, "the format version is not supported")                     \
    X(E_LIMIT, 5, "a size or count is over its limit")                         \
    X(E_NOTFOUND, 6, "no such file, record, operator, call or symbol")         \
    X(E_INVALID, 7, "an argument, shape or attribute is not valid")            \
    X(E_UNSUPPORTED, 8, "this machine, library or build cannot do it")         \
    X(E_DECLINED, 9, "the variant declines this call")                         \
    X(E_TIMEOUT, 10, "the time limit was reached")                             \
    X(E_CHILD, 11, "a helper process ended without an answer")                 \
    X(E_NOFAILURE, 12, "the failure does not come back")                       \
    X(E_NAME, 13, "no operator, variant, attribute or stage has that name")    \
    X(E_SYNTAX, 14, "a text is not in the form that is wanted")

typedef enum opd_status {
#define OPD_X(name, number, text) OPD_##name = (number),
    OPD_STATUS_LIST(OPD_X)
#undef OPD_X
} opd_status;

/* Sets the thread's error text (at most 511 bytes, no allocation) and returns status. */
OPD_PUBLIC opd_status opd_fail(opd_status status, const char *format, ...) OPD_PRINTF(2, 3);

/* Prepends "<text>: " to the thread's error text and returns status. */
OPD_PUBLIC opd_status opd_fail_in(opd_status status, const char *format, ...) OPD_PRINTF(2, 3);
/* The same with a path, which the layer below may have named already. */
opd_status opd_fail_at(opd_status status, const char *path);

/* The thread's error text: one line, no newline; "" after opd_error_clear(). Borrowed until the next failure. */
OPD_PUBLIC const char *opd_error_text(void);
void opd_error_clear(void);
/* The status that the thread's error text was given with; OPD_OK after opd_error_clear(). */
opd_status opd_error_status(void);

/* "E_FORMAT" and its sentence; never NULL. */
const char *opd_status_name(opd_status status);
const char *opd_status_sentence(opd_status status);

#ifdef __cplusplus
}
#endif
#endif
