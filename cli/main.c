/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug: finds the command in the table and runs it. After the command, standard output must have been written
 * without error, or the exit status says so.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <opsdebug/memory.h>

#include "command.h"
#include "nearest.h"
#include "outlet.h"

#define OPD_COMMAND(id) extern const opd_command opd_command_##id;
#include "commands.def"
#undef OPD_COMMAND

const opd_command *const opd_commands[] = {
#define OPD_COMMAND(id) &opd_command_##id,
#include "commands.def"
#undef OPD_COMMAND
};
const int opd_command_count = OPD_COUNT(opd_commands);

const char *argp_program_version = "ops-debug " OPD_VERSION;

/* At exit rather than after run(): argp ends the program itself after --help. */
static void check_output(void)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "ops-debug: standard output: %s\n", strerror(errno));
        _exit(OPD_EXIT_TROUBLE);
    }
}

static void print_help(FILE *to)
{
    fprintf(to, "Usage: ops-debug COMMAND [OPTION...]\n"
                "Record, replay, reduce, group and view failures of numerical operators.\n\n"
                "Commands:\n");
    for (int i = 0; i < opd_command_count; i++) {
        fprintf(to, "  %-10s %s\n", opd_commands[i]->name, opd_commands[i]->summary);
    }
    fprintf(to, "\nExample:\n"
                "  ops-debug record -o run/ -- /usr/bin/python3 program.py\n"
                "  ops-debug show run/\n\n"
                "ops-debug COMMAND --help tells the options and gives examples. Exit status: 0 nothing wrong found,\n"
                "1 a failure found or reproduced, 2 usage, 3 could not run.\n");
}

static const opd_command *find_command(const char *name)
{
    for (int i = 0; i < opd_command_count; i++) {
        if (strcmp(name, opd_commands[i]->name) == 0) {
            return opd_commands[i];
        }
    }
    opd_nearest nearest = { .word = name };
    for (int i = 0; i < opd_command_count; i++) {
        opd_nearest_try(&nearest, "", opd_commands[i]->name);
    }
    bool is_meant = opd_nearest_is_meant(&nearest);
    fprintf(stderr, "ops-debug: '%s' is not a command%s%s%s; ops-debug --help lists them\n", name,
            is_meant ? ", did you mean " : "", is_meant ? nearest.name : "", is_meant ? "?" : "");
    return NULL;
}

static int run_command(int argc, char **argv)
{
    const opd_command *command = find_command(argv[0]);
    return command != NULL ? command->run(command, argc, argv) : OPD_EXIT_USAGE;
}

/* "help" and "help COMMAND" */
static int help(int argc, char **argv)
{
    static char option[] = "--help";
    if (argc == 1) {
        print_help(stdout);
        return OPD_EXIT_OK;
    }
    if (argc > 2) {
        fprintf(stderr, "ops-debug: help: '%s' is one argument too many\n", argv[2]);
        return OPD_EXIT_USAGE;
    }
    char *arguments[] = { argv[1], option, NULL };
    return run_command(2, arguments);
}

int main(int argc, char **argv)
{
    opd_outlet_open();
    atexit(check_output);
    opd_fail_without_signal(SIGXFSZ);
    if (argc < 2) {
        print_help(stderr);
        return OPD_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        return help(argc - 1, argv + 1);
    }
    if (strcmp(name, "--version") == 0) {
        printf("%s\n", argp_program_version);
        return OPD_EXIT_OK;
    }
    if (strcmp(name, "--man") == 0) {
        return opd_manual_print();
    }
    return run_command(argc - 1, argv + 1);
}
