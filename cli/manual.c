/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The man page, printed from the table of commands so that it cannot disagree with --help.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "command.h"

/* Text as troff: backslashes and hyphens escaped, a leading dot or quote protected. */
static void put(const char *text)
{
    bool is_line_start = true;
    for (const char *c = text; *c != '\0'; c++) {
        if (is_line_start && (*c == '.' || *c == '\'')) {
            fputs("\\&", stdout);
        }
        if (*c == '\\') {
            fputs("\\e", stdout);
        } else if (*c == '-') {
            fputs("\\-", stdout);
        } else {
            putchar(*c);
        }
        is_line_start = *c == '\n';
    }
}

static void put_option(const struct argp_option *option)
{
    fputs(".TP\n", stdout);
    if (option->key > 0 && option->key < 0x80 && isalnum(option->key)) {
        printf("\\-%c, ", option->key);
    }
    fputs("\\-\\-", stdout);
    put(option->name);
    if (option->arg != NULL) {
        fputs("=\\fI", stdout);
        put(option->arg);
        fputs("\\fR", stdout);
    }
    putchar('\n');
    put(option->doc);
    putchar('\n');
}

static void put_command(const opd_command *command)
{
    fputs(".SS \"", stdout);
    put(command->name);
    putchar(' ');
    put(command->synopsis);
    fputs("\"\n", stdout);
    put(command->summary);
    fputs(".\n", stdout);
    if (command->details != NULL) {
        put(command->details);
        putchar('\n');
    }
    for (const struct argp_option *option = command->options; option != NULL && option->name != NULL; option++) {
        if ((option->flags & OPTION_HIDDEN) == 0) {
            put_option(option);
        }
    }
    fputs(".PP\n.nf\n", stdout);
    put(command->examples);
    fputs(".fi\n", stdout);
}

int opd_manual_print(void)
{
    fputs(
        ".TH OPS\\-DEBUG 1 \"\" \"ops\\-debug " OPD_VERSION "\" \"User Commands\"\n"
        ".SH NAME\nops\\-debug \\- record, replay, reduce, group and view failures of numerical operators\n"
        ".SH SYNOPSIS\n.B ops\\-debug\n.I COMMAND\n[\\fIOPTION\\fR...]\n"
        ".SH DESCRIPTION\nRuns an unmodified program with a flight recorder around its numerical operators; a failure\n"
        "freezes a bundle (.opsb) that can be replayed bit for bit, reduced to the smallest call that still fails,\n"
        "grouped with others, and opened in ui.perfetto.dev.\n"
        ".PP\nEvery command takes \\fB\\-\\-json\\fR (one document on standard output; of \\fBrecord\\fR on standard\nerror, the other being the program's), \\fB\\-v\\fR, \\fB\\-q\\fR and "
        "\\fB\\-\\-help\\fR.\n"
        ".SH COMMANDS\n",
        stdout);
    for (int i = 0; i < opd_command_count; i++) {
        put_command(opd_commands[i]);
    }
    fputs(
        ".SH EXIT STATUS\n.TP\n0\ndone, nothing wrong found\n.TP\n1\na failure found or reproduced, or a difference\n"
        ".TP\n2\nusage\n.TP\n3\ncould not run: input or output, a damaged or foreign file, a missing library\n"
        ".PP\n\\fBrecord\\fR ends as the program ended (its status; its signal is raised again); 125 when ops\\-debug itself\n"
        "fails, 126 and 127 when the program cannot be executed or found.\n"
        ".SH ENVIRONMENT\n.TP\nNO_COLOR\nwhen set, no colour is used\n.TP\nOPSDEBUG_SHM_DIR\na folder for the rings of "
        "\\fBrecord\\fR in place of /dev/shm\n.TP\nOPSDEBUG_STORE\ndirectory in which the tensors "
        "of thin bundles are looked up\n",
        stdout);
    return OPD_EXIT_OK;
}
