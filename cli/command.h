/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command is one const struct in its own cmd_<name>.c and one line in commands.def; dispatch, help, man page and the
 * sources of the program come from that list. Options go through argp; a command's own options start with an
 * opd_shared, which every command has.
 */
#ifndef OPD_CLI_COMMAND_H
#define OPD_CLI_COMMAND_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

#include <opsdebug/status.h>

enum {
    OPD_EXIT_OK = 0,    /* done, nothing wrong found */
    OPD_EXIT_FOUND = 1, /* a failure found or reproduced; a difference */
    OPD_EXIT_USAGE = 2,
    OPD_EXIT_TROUBLE = 3, /* could not run */
    /* of `record`, which otherwise ends as the program did; as env(1) has them */
    OPD_EXIT_RECORDER = 125,
    OPD_EXIT_NOT_EXECUTABLE = 126,
    OPD_EXIT_NO_PROGRAM = 127,
};

typedef struct opd_shared {
    bool is_json;  /* one document on stdout, nothing else there */
    bool is_quiet; /* errors only; the exit status is the answer */
    int verbosity;
} opd_shared;

typedef struct opd_command opd_command;
struct opd_command {
    const char *name;
    const char *synopsis; /* after the name: "BUNDLE -o FILE" */
    const char *summary;  /* one line */
    const char *details;  /* further lines of the help text; NULL = none */
    const char *examples; /* one per line */
    const struct argp_option *options;
    argp_parser_t parse; /* state->input is the command's options */
    unsigned parse_flags;
    int (*run)(const opd_command *self, int argc, char **argv); /* the exit status */
};

extern const opd_command *const opd_commands[];
extern const int opd_command_count;

/* Parses argv into options, whose first member is shared; ends the program on --help, --version and usage errors. */
void opd_command_parse(const opd_command *self, opd_shared *shared, int argc, char **argv);

/* Ends the program with the line "ops-debug COMMAND: TEXT; see ops-debug COMMAND --help" and status 2. */
_Noreturn void opd_usage_error(const struct argp_state *state, const char *format, ...) OPD_PRINTF(2, 3);
/* The same for a word that argp refused: the one before argv[next], or that one. tables: all options, NULL-terminated. */
_Noreturn void opd_usage_refused(const char *command, const struct argp_option *const tables[], char *const *argv,
                                 int next);

/* Argument values. On a bad one they end the program by opd_usage_error: flag, what is wrong, what is legal. */
uint64_t opd_parse_count(const struct argp_state *state, const char *flag, const char *text, uint64_t low,
                         uint64_t high);
uint64_t opd_parse_bytes(const struct argp_state *state, const char *flag, const char *text); /* "256M" */

/* Takes the next positional argument into slots[*count]; a usage error when there are more than `most`. */
void opd_take_argument(const struct argp_state *state, const char **slots, int *count, int most, const char *arg);

/* "BUNDLE -o FILE" of a command that makes one file of another; a member of its options. */
typedef struct opd_conversion {
    const char *path;
    int path_count;
    const char *out;
} opd_conversion;
#define OPD_CONVERSION_OPTION(file, doc) \
    {                                    \
        "output", 'o', file, 0, doc, 0   \
    }
/* ARGP_ERR_UNKNOWN when the key is none of these; a usage error when one of the two files is not named. */
error_t opd_conversion_parse(int key, char *arg, const struct argp_state *state, opd_conversion *files,
                             const char *file);
/* Kinds of file that commands write: name, how it is called, a text near the start of every one; of a bundle none. */
#define OPD_OUTPUT_LIST(X)                                           \
    X(BUNDLE, "bundle of ops-debug", NULL)                           \
    X(PROGRAM, "program of ops-debug", "cc -std=c17 -Wall -Wextra ") \
    X(JUNIT, "JUnit report", "<testsuite")                           \
    X(PERFETTO, "trace of ops-debug", "opsdebug.producer")           \
    X(CHROME, "trace of ops-debug", "{\"otherData\":{\"base_ns\"")   \
    X(CSV, "table of ops-debug", "type,pid,tid,row,name,")

typedef enum opd_output_kind {
#define OPD_X(name, called, mark) OPD_OUTPUT_##name,
    OPD_OUTPUT_LIST(OPD_X)
#undef OPD_X
} opd_output_kind;
/*
 * May out, the value of flag, be written as a file of this kind? other: a file of the same command.
 * errors    E_INVALID the name is empty or leads to other; E_IO a file is there that is neither empty nor of the kind,
 *           or something else than a regular file.
 */
opd_status opd_output_check(const char *flag, const char *out, const char *other, opd_output_kind kind);
/* The same for -o, against the bundle that is read. */
opd_status opd_conversion_check(const opd_conversion *files, opd_output_kind kind);

/* Prints the thread's error text as the program's one line; OPD_EXIT_USAGE of a name that nothing has and of a malformed text, else OPD_EXIT_TROUBLE. */
int opd_trouble(void);
/* A line for standard error when the command has ended; in the error's line when that is how it ends. Threads: the main one. */
void opd_remark(const char *format, ...) OPD_PRINTF(1, 2);
/* Says it now: what follows is of something else. */
void opd_remark_say(void);
/* An opd_loss_fn: a line on standard error for each tensor; context is a uint64_t that counts them. */
void opd_loss_say(void *count, const char *text);

/* Prints the man page, made from the table of commands. */
int opd_manual_print(void);

#endif
