/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a command: argp with the options every command shares, help text with its examples, and the values that
 * options take.
 */
#include "command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <opsdebug/bundle.h>
#include <opsdebug/memory.h>

#include "screen.h"

#define HELP_FORMAT "ARGP_HELP_FMT"

enum { KEY_JSON = 0x1000, KEY_USAGE };

static const struct argp_option shared_options[] = {
    { "json", KEY_JSON, NULL, 0, "Print one JSON document on standard output", -2 },
    { "verbose", 'v', NULL, 0, "Say more", -2 },
    { "quiet", 'q', NULL, 0, "Say nothing but errors; the exit status is the answer", -2 },
    { "help", '?', NULL, 0, "Give this help list", -1 },
    { "usage", KEY_USAGE, NULL, 0, "Give a short usage message", -1 },
    { 0 },
};

/* The flag that silences argp's errors silences its help too. Ends the program. */
static void print_help(struct argp_state *state, unsigned what)
{
    state->flags &= ~(unsigned)ARGP_NO_ERRS;
    argp_state_help(state, stdout, what);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): argp_parser_t */
static error_t parse_shared(int key, char *arg, struct argp_state *state)
{
    opd_shared *shared = state->input;
    (void)arg;
    switch (key) {
    case KEY_JSON:
        shared->is_json = true;
        return 0;
    case 'v':
        shared->verbosity++;
        return 0;
    case 'q':
        shared->is_quiet = true;
        return 0;
    case '?':
        print_help(state, ARGP_HELP_STD_HELP);
        return 0;
    case KEY_USAGE:
        print_help(state, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

typedef struct binding {
    const opd_command *command;
    opd_shared *shared;
    int refused; /* the word after the one that argp refused */
} binding;

/* Hands every key to the command with its own options as input. */
static error_t parse_own(int key, char *arg, struct argp_state *state)
{
    binding *bound = state->input;
    if (key == ARGP_KEY_INIT) {
        state->child_inputs[0] = bound->shared;
        return 0;
    }
    if (key == ARGP_KEY_ERROR) {
        bound->refused = state->next;
        return 0;
    }
    state->input = bound->shared;
    error_t result = bound->command->parse(key, arg, state);
    state->input = bound;
    return result;
}

/* Line ends of the source are blanks; argp breaks the lines. */
static void add_paragraph(opd_buffer *doc, const char *text)
{
    while (*text != '\0') {
        int length = (int)strcspn(text, "\n");
        bool has_more = text[length] == '\n';
        opd_buffer_print(doc, "%.*s%s", length, text, has_more ? " " : "\n\n");
        text += length + has_more;
    }
}

void opd_command_parse(const opd_command *self, opd_shared *shared, int argc, char **argv)
{
    static const struct argp shared_argp = { shared_options, parse_shared, NULL, NULL, NULL, NULL, NULL };
    const struct argp_child children[] = { { &shared_argp, 0, NULL, 0 }, { 0 } };
    char title[64];
    snprintf(title, sizeof title, "ops-debug %s", self->name);
    opd_buffer doc;
    opd_buffer_init(&doc, 1 << 16);
    opd_buffer_print(&doc, "%s\v", self->summary);
    if (self->details != NULL) {
        add_paragraph(&doc, self->details);
    }
    opd_buffer_print(&doc, "Examples:\n%s%c", self->examples, 0);
    if (doc.status != OPD_OK) {
        exit(opd_trouble());
    }
    binding bound = { self, shared, 0 };
    const struct argp argp = {
        self->options, parse_own, self->synopsis, (const char *)doc.bytes, children, NULL, NULL
    };
    char *name = argv[0];
    argv[0] = title;
    /* Only for the parser: what `record` starts must see the environment as it was. */
    bool is_ours = getenv(HELP_FORMAT) == NULL && setenv(HELP_FORMAT, "rmargin=100,no-dup-args-note", 0) == 0;
    if (argp_parse(&argp, argc, argv, self->parse_flags | ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &bound) != 0) {
        const struct argp_option *const tables[] = { self->options, shared_options, NULL };
        opd_usage_refused(self->name, tables, argv, bound.refused);
    }
    argv[0] = name;
    if (is_ours) {
        unsetenv(HELP_FORMAT);
    }
    opd_progress_set(shared->is_quiet        ? OPD_PROGRESS_NOBODY
                     : shared->verbosity > 0 ? OPD_PROGRESS_ANYWHERE
                                             : OPD_PROGRESS_TERMINAL);
    opd_buffer_done(&doc);
}

uint64_t opd_parse_count(const struct argp_state *state, const char *flag, const char *text, uint64_t low,
                         uint64_t high)
{
    char *end = NULL;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || value < low || value > high) {
        opd_usage_error(state, "%s: '%s' is not a whole number from %" PRIu64 " to %" PRIu64, flag, text, low, high);
    }
    return value;
}

uint64_t opd_parse_bytes(const struct argp_state *state, const char *flag, const char *text)
{
    static const char suffixes[] = "KMGT";
    char *end = NULL;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    bool is_bad = errno != 0 || end == text || text[0] == '-';
    unsigned shift = 0;
    if (!is_bad && *end != '\0') {
        const char *suffix = strchr(suffixes, *end);
        is_bad = suffix == NULL || end[1] != '\0';
        shift = is_bad ? 0 : 10 * (unsigned)(suffix - suffixes + 1);
    }
    if (is_bad || value == 0 || value > UINT64_MAX >> shift) {
        opd_usage_error(state, "%s: '%s' is not a size; give bytes or a number with K, M, G or T, such as 256M", flag,
                        text);
    }
    return value << shift;
}

void opd_take_argument(const struct argp_state *state, const char **slots, int *count, int most, const char *arg)
{
    if (arg[0] == '\0') {
        opd_usage_error(state, "an argument is empty");
    }
    if (*count == most) {
        opd_usage_error(state, "'%s' is one argument too many", arg);
    }
    slots[(*count)++] = arg;
}

error_t opd_conversion_parse(int key, char *arg, const struct argp_state *state, opd_conversion *files,
                             const char *file)
{
    switch (key) {
    case 'o':
        files->out = arg;
        return 0;
    case ARGP_KEY_ARG:
        opd_take_argument(state, &files->path, &files->path_count, 1, arg);
        return 0;
    case ARGP_KEY_END:
        if (files->path == NULL || files->out == NULL) {
            opd_usage_error(state, "give a bundle and -o %s", file);
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* Do both names lead to one file, or would they? */
static bool is_same_file(const char *a, const char *b)
{
    struct stat one;
    struct stat two;
    if (stat(a, &one) == 0 && stat(b, &two) == 0) {
        return one.st_dev == two.st_dev && one.st_ino == two.st_ino;
    }
    return strcmp(a, b) == 0;
}

/* Is the text in the first few thousand bytes of the file? */
static bool has_mark(const char *path, const char *mark)
{
    char start[4096];
    FILE *file = fopen(path, "rbe");
    if (file == NULL) {
        return false;
    }
    size_t size = fread(start, 1, sizeof start, file);
    (void)fclose(file);
    return memmem(start, size, mark, strlen(mark)) != NULL;
}

static bool is_of_kind(const char *path, const char *mark)
{
    if (mark != NULL) {
        return has_mark(path, mark);
    }
    opd_bundle *bundle = NULL;
    bool is_bundle = opd_bundle_open(&bundle, path) == OPD_OK;
    opd_bundle_close(bundle);
    return is_bundle;
}

opd_status opd_output_check(const char *flag, const char *out, const char *other, opd_output_kind kind)
{
    static const struct {
        const char *called, *mark;
    } kinds[] = {
#define OPD_X(name, called, mark) [OPD_OUTPUT_##name] = { called, mark },
        OPD_OUTPUT_LIST(OPD_X)
#undef OPD_X
    };
    struct stat info;
    if (out[0] == '\0') {
        return opd_fail(OPD_E_INVALID, "%s: the name of the file is empty", flag);
    }
    bool is_there = stat(out, &info) == 0;
    /* Files are written aside and renamed: a device or a pipe would be replaced, not written to. */
    if (is_there && !S_ISREG(info.st_mode)) {
        return opd_fail(OPD_E_IO, "%s: cannot create %s: %s", flag, out,
                        S_ISDIR(info.st_mode) ? "it is a directory" : "it is no regular file");
    }
    if (is_same_file(out, other)) {
        return opd_fail(OPD_E_INVALID, "%s: %s has another part in this command; give another name", flag, out);
    }
    if (is_there && info.st_size > 0 && !is_of_kind(out, kinds[kind].mark)) {
        return opd_fail(OPD_E_IO, "%s: %s is there and is no %s: remove it, or give another name", flag, out,
                        kinds[kind].called);
    }
    return OPD_OK;
}

opd_status opd_conversion_check(const opd_conversion *files, opd_output_kind kind)
{
    return opd_output_check("-o", files->out, files->path, kind);
}

static char remark[1024];

void opd_remark_say(void)
{
    if (remark[0] != '\0') {
        fprintf(stderr, "ops-debug: %s\n", remark);
        remark[0] = '\0';
    }
}

void opd_remark(const char *format, ...)
{
    static bool is_set_up;
    va_list arguments;
    opd_remark_say();
    is_set_up = is_set_up || atexit(opd_remark_say) == 0;
    va_start(arguments, format);
    vsnprintf(remark, sizeof remark, format, arguments);
    va_end(arguments);
    if (!is_set_up) {
        opd_remark_say();
    }
}

int opd_trouble(void)
{
    fprintf(stderr, "ops-debug: %s", opd_error_text());
    fprintf(stderr, remark[0] != '\0' ? " (%s)\n" : "%s\n", remark);
    remark[0] = '\0';
    bool is_usage = opd_error_status() == OPD_E_NAME || opd_error_status() == OPD_E_SYNTAX;
    return is_usage ? OPD_EXIT_USAGE : OPD_EXIT_TROUBLE;
}

void opd_loss_say(void *count, const char *text)
{
    uint64_t *lost = count;
    fprintf(stderr, "ops-debug: left out: %s\n", text);
    *lost += 1;
}
