/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops-debug new: a project for an operator of one's own that builds and passes its test as it is.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <opsdebug/kernel.h>

#include "document.h"
#include "phrases.h"
#include "project.h"
#include "screen.h"

#define PLACEHOLDER "@NAME@"

typedef struct new_options {
    opd_shared shared;
    const char *name;
    int name_count;
    const char *folder;
} new_options;

static const struct argp_option options[] = {
    { "output", 'o', "DIR", 0, "The folder to make; default: NAME", 0 },
    { 0 },
};

/* A name goes into file names, CMake and the contract. */
static bool is_name(const char *name)
{
    size_t size = strlen(name);
    bool is_good = size > 0 && size < OPD_NAME && !isdigit((unsigned char)name[0]);
    for (size_t i = 0; i < size && is_good; i++) {
        unsigned char c = (unsigned char)name[i];
        is_good = c < 128 && (isalnum(c) || c == '_');
    }
    return is_good;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    new_options *o = state->input;
    switch (key) {
    case 'o':
        o->folder = arg;
        return 0;
    case ARGP_KEY_ARG:
        opd_take_argument(state, &o->name, &o->name_count, 1, arg);
        return 0;
    case ARGP_KEY_END:
        if (o->name == NULL) {
            opd_usage_error(state, "name the operator");
        }
        if (!is_name(o->name)) {
            opd_usage_error(state, "'%s': a name is a C identifier (letters, digits, _) of at most %d bytes", o->name,
                            OPD_NAME - 1);
        }
        if (o->folder != NULL && o->folder[0] == '\0') {
            opd_usage_error(state, "-o: the folder's name is empty");
        }
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The text with the name in its places. */
static bool print_named(FILE *to, const char *text, const char *name)
{
    const char *at = NULL;
    while ((at = strstr(text, PLACEHOLDER)) != NULL) {
        fwrite(text, 1, (size_t)(at - text), to);
        fputs(name, to);
        text = at + sizeof PLACEHOLDER - 1;
    }
    fputs(text, to);
    return ferror(to) == 0;
}

static opd_status name_file(char path[PATH_MAX], const new_options *o, const opd_project_file *file)
{
    bool is_named = strncmp(file->name, PLACEHOLDER, sizeof PLACEHOLDER - 1) == 0;
    int size = snprintf(path, PATH_MAX, "%s/%s%s", o->folder, is_named ? o->name : "",
                        file->name + (is_named ? sizeof PLACEHOLDER - 1 : 0));
    return size < PATH_MAX ? OPD_OK : opd_fail(OPD_E_INVALID, "new: the folder's name is too long");
}

static opd_status write_file(const new_options *o, const opd_project_file *file)
{
    char path[PATH_MAX];
    opd_status status = name_file(path, o, file);
    if (status != OPD_OK) {
        return status;
    }
    FILE *to = fopen(path, "wxe");
    if (to == NULL) {
        return opd_fail(OPD_E_IO, "%s: %s", path, strerror(errno));
    }
    bool is_written = print_named(to, file->text, o->name);
    is_written &= fclose(to) == 0;
    if (!is_written || (file->is_executable && chmod(path, 0755) != 0)) {
        return opd_fail(OPD_E_IO, "%s: %s", path, strerror(errno));
    }
    return OPD_OK;
}

/* Nothing is left half made. */
static void remove_all(const new_options *o)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < opd_project_file_count; i++) {
        if (name_file(path, o, &opd_project_files[i]) == OPD_OK) {
            unlink(path);
        }
    }
    rmdir(o->folder);
}

static opd_status make_project(const new_options *o)
{
    char reason[512];
    if (mkdir(o->folder, 0777) != 0) {
        return opd_fail(errno == EEXIST ? OPD_E_INVALID : OPD_E_IO, "new: cannot make the folder %s: %s", o->folder,
                        errno == EEXIST ? "it exists already; name another with -o" : strerror(errno));
    }
    opd_status status = OPD_OK;
    for (size_t i = 0; i < opd_project_file_count && status == OPD_OK; i++) {
        status = write_file(o, &opd_project_files[i]);
    }
    if (status != OPD_OK) {
        snprintf(reason, sizeof reason, "%s", opd_error_text());
        remove_all(o);
        return opd_fail(status, "%s", reason);
    }
    return OPD_OK;
}

static void report(const new_options *o)
{
    char path[PATH_MAX];
    char word[4096];
    json_t *files = json_array();
    for (size_t i = 0; i < opd_project_file_count; i++) {
        if (name_file(path, o, &opd_project_files[i]) != OPD_OK) {
            continue;
        }
        json_array_append_new(files, opd_document_text(path));
        if (!o->shared.is_json && !o->shared.is_quiet) {
            printf("%-12s %s\n", i == 0 ? "written" : "", path);
        }
    }
    opd_phrase_shell(word, sizeof word, o->folder);
    if (!o->shared.is_json && !o->shared.is_quiet) {
        opd_print_next("cmake -S %s -B %s/build && cmake --build %s/build && ctest --test-dir %s/build", word, word,
                       word, word);
    }
    if (o->shared.is_json) {
        json_t *document = json_object();
        opd_document_put(document, "folder", opd_document_text(o->folder));
        opd_document_put(document, "files", files);
        opd_document_print(document, OPD_EXIT_OK);
    } else {
        json_decref(files);
    }
}

static int run(const opd_command *self, int argc, char **argv)
{
    new_options o = { 0 };
    opd_command_parse(self, &o.shared, argc, argv);
    o.folder = o.folder != NULL ? o.folder : o.name;
    if (make_project(&o) != OPD_OK) {
        return opd_trouble();
    }
    report(&o);
    return OPD_EXIT_OK;
}

const opd_command opd_command_new = {
    .name = "new",
    .synopsis = "NAME [-o DIR]",
    .summary = "Make a project for an operator of your own: contract, definition, variants, test",
    .examples = "  ops-debug new my_norm\n"
                "  ops-debug new my_norm -o src/my_norm\n",
    .options = options,
    .parse = parse,
    .run = run,
};
