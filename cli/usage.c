/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Usage errors, one line each. argp and getopt would print two or three and name no way on; they are kept silent, and what they
 * refused is looked up here.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/memory.h>

#include "command.h"

static void start_line(const char *command)
{
    fprintf(stderr, "ops-debug %s: ", command);
}

static _Noreturn void end_line(const char *command)
{
    fprintf(stderr, "; see ops-debug %s --help\n", command);
    exit(OPD_EXIT_USAGE);
}

_Noreturn void opd_usage_error(const struct argp_state *state, const char *format, ...)
{
    /* argv[0] is "ops-debug COMMAND" */
    const char *space = strchr(state->argv[0], ' ');
    const char *command = space != NULL ? space + 1 : state->argv[0];
    va_list arguments;
    start_line(command);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    end_line(command);
}

static bool is_last(const struct argp_option *option)
{
    return option->name == NULL && option->key == 0 && option->doc == NULL;
}

typedef struct match {
    const struct argp_option *option;
    int count; /* of options that the word may mean; an exact name counts alone */
} match;

static match find_long(const struct argp_option *const tables[], const char *name, size_t length)
{
    match found = { NULL, 0 };
    for (; *tables != NULL; tables++) {
        for (const struct argp_option *option = *tables; !is_last(option); option++) {
            if (option->name == NULL || strncmp(option->name, name, length) != 0) {
                continue;
            }
            if (strlen(option->name) == length) {
                return (match){ option, 1 };
            }
            found.option = option;
            found.count++;
        }
    }
    return found;
}

static const struct argp_option *find_short(const struct argp_option *const tables[], char letter)
{
    for (; *tables != NULL; tables++) {
        for (const struct argp_option *option = *tables; !is_last(option); option++) {
            if (option->key == letter) {
                return option;
            }
        }
    }
    return NULL;
}

/* What is wrong with "--name[=value]"; false when nothing is. */
static bool explain_long(char *text, size_t size, const struct argp_option *const tables[], const char *word)
{
    size_t length = strcspn(word + 2, "=");
    bool has_value = word[2 + length] == '=';
    match found = find_long(tables, word + 2, length);
    if (found.count == 0) {
        snprintf(text, size, "unknown option --%.*s", (int)length, word + 2);
    } else if (found.count > 1) {
        snprintf(text, size, "option --%.*s may mean several", (int)length, word + 2);
    } else if (found.option->arg == NULL && has_value) {
        snprintf(text, size, "option --%s takes no value", found.option->name);
    } else if (found.option->arg != NULL && !has_value) {
        snprintf(text, size, "option --%s needs a value, %s", found.option->name, found.option->arg);
    } else {
        return false;
    }
    return true;
}

/* What is wrong with "-abc". */
static bool explain_short(char *text, size_t size, const struct argp_option *const tables[], const char *word)
{
    for (const char *letter = word + 1; *letter != '\0'; letter++) {
        const struct argp_option *option = find_short(tables, *letter);
        if (option == NULL) {
            snprintf(text, size, "unknown option -%c", *letter);
            return true;
        }
        if (option->arg != NULL) {
            snprintf(text, size, "option -%c needs a value, %s", *letter, option->arg);
            return letter[1] == '\0';
        }
    }
    return false;
}

_Noreturn void opd_usage_refused(const char *command, const struct argp_option *const tables[], char *const *argv,
                                 int next)
{
    char text[512];
    /* getopt stays at a word of several letters until it has read the last one. */
    for (int i = next - 1; i <= next; i++) {
        const char *word = i > 0 ? argv[i] : NULL;
        if (word == NULL || word[0] != '-' || word[1] == '\0') {
            continue;
        }
        if (word[1] == '-' ? explain_long(text, sizeof text, tables, word)
                           : explain_short(text, sizeof text, tables, word)) {
            start_line(command);
            fputs(text, stderr);
            end_line(command);
        }
    }
    start_line(command);
    fputs("its options cannot be read", stderr);
    end_line(command);
}
