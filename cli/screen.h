/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What depends on the output being a terminal: colour, tables that fit its width, the progress line on standard error.
 */
#ifndef OPD_CLI_SCREEN_H
#define OPD_CLI_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

#include <opsdebug/status.h>

#include "outlet.h"

/* The mark of outlet.h for `to`, or "" when it is no terminal or NO_COLOR is set. */
const char *opd_paint_on(FILE *to, opd_paint paint);

/* Who is told of progress; terminals only, until it is called. */
typedef enum opd_progress_to { OPD_PROGRESS_NOBODY, OPD_PROGRESS_TERMINAL, OPD_PROGRESS_ANYWHERE } opd_progress_to;
void opd_progress_set(opd_progress_to to);
/*
 * A line on standard error that the next one overwrites; where that is no terminal, a line of its own, at most one in two
 * seconds. threads: safe.
 */
void opd_progress(const char *format, ...) OPD_PRINTF(1, 2);
void opd_progress_done(void);

/* "next: COMMAND", the way on after a finding. */
void opd_print_next(const char *format, ...) OPD_PRINTF(1, 2);

/* A table on standard output. titles: one per column; a title that starts with '>' is right-aligned. */
typedef struct opd_table opd_table;
opd_status opd_table_new(opd_table **out, const char *const *titles, int columns);
void opd_table_row(opd_table *table);
void opd_table_cell(opd_table *table, int column, const char *format, ...) OPD_PRINTF(3, 4);
void opd_table_free(opd_table *table);
/* Prints and frees; errors: E_NOMEM when any row or cell could not be kept. */
opd_status opd_table_print(opd_table *table);

#endif
