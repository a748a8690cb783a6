/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Terminal output: libsmartcols draws the tables, fitted to the width on a terminal and whole when piped.
 */
#include "screen.h"

#include <libsmartcols.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <opsdebug/memory.h>

const char *opd_paint_on(FILE *to, opd_paint paint)
{
    const char *no_color = getenv("NO_COLOR");
    return (no_color != NULL && no_color[0] != '\0') || !opd_outlet_is_terminal(to) ? "" : opd_outlet_mark(paint);
}

#define LINES_EVERY_S 2

static opd_progress_to progress_to = OPD_PROGRESS_TERMINAL;

void opd_progress_set(opd_progress_to to)
{
    progress_to = to;
}

void opd_progress(const char *format, ...)
{
    static time_t last;
    bool is_terminal = opd_outlet_is_terminal(stderr);
    struct timespec now = { .tv_sec = 0 };
    if (progress_to == OPD_PROGRESS_NOBODY || (!is_terminal && progress_to != OPD_PROGRESS_ANYWHERE)) {
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    flockfile(stderr);
    if (is_terminal || last == 0 || now.tv_sec - last >= LINES_EVERY_S) {
        va_list arguments;
        last = now.tv_sec;
        fputs(is_terminal ? opd_outlet_mark(OPD_PAINT_BLANK_LINE) : "ops-debug: ", stderr);
        va_start(arguments, format);
        vfprintf(stderr, format, arguments);
        va_end(arguments);
        fputs(is_terminal ? "" : "\n", stderr);
        fflush(stderr);
    }
    funlockfile(stderr);
}

void opd_progress_done(void)
{
    if (progress_to != OPD_PROGRESS_NOBODY && opd_outlet_is_terminal(stderr)) {
        fputs(opd_outlet_mark(OPD_PAINT_BLANK_LINE), stderr);
    }
}

void opd_print_next(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%snext:%s ", opd_paint_on(stdout, OPD_PAINT_BOLD), opd_paint_on(stdout, OPD_PAINT_OFF));
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
}

struct opd_table {
    struct libscols_table *table;
    struct libscols_line *line;
    bool has_failed;
};

opd_status opd_table_new(opd_table **out, const char *const *titles, int columns)
{
    opd_table *made = NULL;
    opd_status status = opd_alloc((void **)&made, sizeof *made);
    if (status != OPD_OK) {
        return status;
    }
    made->table = scols_new_table();
    if (made->table == NULL) {
        opd_free(made);
        return opd_fail(OPD_E_NOMEM, "out of memory for a table");
    }
    scols_table_enable_maxout(made->table, 0);
    for (int i = 0; i < columns; i++) {
        bool is_right = titles[i][0] == '>';
        int flags = is_right ? SCOLS_FL_RIGHT : i == columns - 1 ? SCOLS_FL_TRUNC : 0;
        if (scols_table_new_column(made->table, titles[i] + is_right, 0, flags) == NULL) {
            made->has_failed = true;
        }
    }
    *out = made;
    return OPD_OK;
}

void opd_table_row(opd_table *table)
{
    table->line = scols_table_new_line(table->table, NULL);
    table->has_failed |= table->line == NULL;
}

void opd_table_cell(opd_table *table, int column, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (table->line == NULL || scols_line_set_data(table->line, (size_t)column, text) != 0) {
        table->has_failed = true;
    }
}

void opd_table_free(opd_table *table)
{
    if (table != NULL) {
        scols_unref_table(table->table);
        opd_free(table);
    }
}

opd_status opd_table_print(opd_table *table)
{
    bool has_failed = table->has_failed || scols_print_table(table->table) != 0;
    opd_table_free(table);
    return has_failed ? opd_fail(OPD_E_NOMEM, "out of memory for a table") : OPD_OK;
}
