/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands between the program and the terminal. Every text of every command goes through it, wherever it came from, so that a file
 * cannot make the terminal do anything: control characters are shown as '?'.
 */
#ifndef OPD_CLI_OUTLET_H
#define OPD_CLI_OUTLET_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Puts it before standard output and standard error; to be called once, before anything is printed. Line ends and tabs pass. UTF-8
 * passes, its control characters do not. Where it cannot be put (no memory), the streams stay as they are, and are no terminals.
 */
void opd_outlet_open(void);
/* Of stdout or stderr, which have no file number any more. */
bool opd_outlet_is_terminal(const FILE *to);

/* What this program itself asks of a terminal: name, sequence. */
#define OPD_PAINT_LIST(X) \
    X(OFF, "\033[0m")     \
    X(BOLD, "\033[1m")    \
    X(RED, "\033[1;31m")  \
    X(GREEN, "\033[32m")  \
    X(YELLOW, "\033[33m") \
    X(BLANK_LINE, "\r\033[K") /* of the progress line */

typedef enum opd_paint {
#define OPD_X(name, sequence) OPD_PAINT_##name,
    OPD_PAINT_LIST(OPD_X)
#undef OPD_X
} opd_paint;

/* The text that becomes the sequence on its way to a terminal: random in each process, so that no file can hold it. */
const char *opd_outlet_mark(opd_paint paint);

#endif
