/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the program with the recorder in front of its libraries. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit_port.h"
#include "collector.h"

/* Where the preloaded object may be, from the directory of this program. */
static const char *const preload_places[] = {
    "%s/opsdebug-preload.so",
    "%s/../opsdebug-preload.so",
    "%s/../" OPD_LIBDIR "/opsdebug/opsdebug-preload.so",
    "%s/../lib/opsdebug/opsdebug-preload.so",
};

/* Where the folder of the Python module may be. */
static const char *const torch_places[] = {
    "%s/torch/opsdebug_torch.py",
    "%s/../torch/opsdebug_torch.py",
    "%s/../libexec/opsdebug/torch/opsdebug_torch.py",
};

/* The first of places that exists, as a path without links. */
static bool find_beside(char *path, size_t size, const char *const *places, size_t count)
{
    char own[4096];
    char candidate[4352];
    ssize_t length = readlink("/proc/self/exe", own, sizeof(own) - 1);
    own[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(own, '/');
    if (slash == NULL) {
        return false;
    }
    *slash = '\0';
    for (size_t i = 0; i < count; i++) {
        char real[4096];
        snprintf(candidate, sizeof(candidate), places[i], own);
        if (realpath(candidate, real) != NULL) {
            return snprintf(path, size, "%s", real) < (int)size;
        }
    }
    return false;
}

static bool find_preload(char *path, size_t size, const char *given)
{
    char own[4096];
    if (given != NULL) {
        return realpath(given, own) != NULL && snprintf(path, size, "%s", own) < (int)size;
    }
    return find_beside(path, size, preload_places, OPD_COUNT(preload_places));
}

/* PYTHONPATH with the folder of our module before what the user has there, and a mark for the module. */
static opd_status torch_value(opd_buffer *value)
{
    char path[4096];
    if (!find_beside(path, sizeof(path), torch_places, OPD_COUNT(torch_places))) {
        return opd_fail(OPD_E_IO, "opsdebug_torch.py is not in torch/ beside this program nor in ../libexec/opsdebug");
    }
    *strrchr(path, '/') = '\0';
    if (strchr(path, ':') != NULL) {
        return opd_fail(OPD_E_LIMIT, "--torch: %s has ':' in its name, which PYTHONPATH cannot hold", path);
    }
    const char *user = getenv("PYTHONPATH");
    bool has_user = user != NULL && user[0] != '\0';
    opd_buffer_print(value, "PYTHONPATH=%s%s%s", path, has_user ? ":" : "", has_user ? user : "");
    opd_buffer_append(value, "", 1);
    return value->status;
}

bool opd_launch_find(char *path, size_t size, const char *name)
{
    if (strchr(name, '/') != NULL) {
        return snprintf(path, size, "%s", name) < (int)size && access(path, F_OK) == 0;
    }
    const char *at = getenv("PATH");
    at = at != NULL ? at : "/bin:/usr/bin";
    while (*at != '\0') {
        size_t length = strcspn(at, ":");
        struct stat status;
        snprintf(path, size, "%.*s%s%s", (int)length, at, length > 0 ? "/" : "", name);
        if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0) {
            return true;
        }
        at += length + (at[length] == ':');
    }
    return false;
}

/* LD_PRELOAD: an ASan runtime if one is needed and must come first, the recorder, what the user has there. */
static opd_status preload_value(opd_buffer *value, opd_collector *collector, const opd_record_options *options)
{
    char path[4096];
    char link[192];
    char program[4096];
    if (!find_preload(path, sizeof(path), options->preload)) {
        return opd_fail(OPD_E_IO, "opsdebug-preload.so is not beside this program nor in its library folder");
    }
    if (strpbrk(path, " :") != NULL) { /* separators of the list: give it another name */
        snprintf(link, sizeof(link), "%s/preload.so", collector->directory);
        if (symlink(path, link) != 0) {
            return opd_fail(OPD_E_LIMIT, "%s: %s", link, strerror(errno));
        }
        snprintf(path, sizeof(path), "%s", link);
    }
    const char *user = getenv("LD_PRELOAD");
    opd_object_facts facts = { .is_elf = false };
    if (opd_launch_find(program, sizeof(program), options->argv[0])) {
        opd_object_examine(&facts, program, false);
    }
    if (!facts.needs_asan) {
        opd_object_examine(&facts, path, false);
    }
    bool has_asan = user != NULL && strstr(user, "libasan") != NULL;
    if (facts.needs_asan && !has_asan) {
        opd_buffer_print(value, "LD_PRELOAD=%s:%s", facts.asan, path);
    } else if (has_asan) {
        /* the user's list begins with the runtime: we follow its first entry */
        size_t first = strcspn(user, " :");
        opd_buffer_print(value, "LD_PRELOAD=%.*s:%s%s", (int)first, user, path, user + first);
        user = NULL;
    } else {
        opd_buffer_print(value, "LD_PRELOAD=%s", path);
    }
    if (user != NULL && user[0] != '\0') {
        opd_buffer_print(value, ":%s", user);
    }
    return value->status;
}

/*
 * LD_AUDIT: the shim that is beside the recorder, then what the user has there: in that order both are called for a dlsym (see
 * audit_shim.c). Without one (another processor, not installed) the program is recorded by LD_PRELOAD alone.
 */
static opd_status audit_value(opd_buffer *value, opd_collector *collector, const opd_record_options *options)
{
    char preload[4096];
    char path[4352];
    char link[192];
    const char *user = getenv("LD_AUDIT");
    if (options->without_audit || !find_preload(preload, sizeof(preload), options->preload)) {
        return OPD_OK;
    }
    char *slash = strrchr(preload, '/');
    *(slash != NULL ? slash : preload) = '\0';
    snprintf(path, sizeof(path), "%s/" OPD_AUDIT_SONAME, preload);
    if (access(path, R_OK) != 0) {
        return OPD_OK;
    }
    if (strchr(path, ':') != NULL) { /* the separator of the list */
        snprintf(link, sizeof(link), "%s/" OPD_AUDIT_SONAME, collector->directory);
        if (symlink(path, link) != 0) {
            return OPD_OK;
        }
        snprintf(path, sizeof(path), "%s", link);
    }
    bool has_user = user != NULL && user[0] != '\0';
    opd_buffer_print(value, "LD_AUDIT=%s%s%s", path, has_user ? ":" : "", has_user ? user : "");
    opd_buffer_append(value, "", 1);
    return value->status;
}

/* The environment of the program: ours with these variables in place of its own. NULL = stays as it is. */
#define OWN_VARIABLES 5
static opd_status make_environment(char ***out, char *const own[OWN_VARIABLES])
{
    size_t count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    void *block;
    opd_status status = opd_alloc_array(&block, count + OWN_VARIABLES + 1, sizeof(char *));
    if (status != OPD_OK) {
        return status;
    }
    char **list = block;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_replaced = false;
        for (size_t k = 0; k < OWN_VARIABLES; k++) {
            is_replaced = is_replaced || (own[k] != NULL && strncmp(environ[i], own[k], strcspn(own[k], "=") + 1) == 0);
        }
        if (!is_replaced) {
            list[used++] = environ[i];
        }
    }
    for (size_t k = 0; k < OWN_VARIABLES; k++) {
        if (own[k] != NULL) {
            list[used++] = own[k];
        }
    }
    *out = list;
    return OPD_OK;
}

/* A file without a first line that names its interpreter is the shell's, as with execvp. */
static int spawn_script(int *pid, char *const *argv, char **environment)
{
    char path[4096];
    size_t count = 0;
    void *block;
    while (argv[count] != NULL) {
        count++;
    }
    if (count == 0 || !opd_launch_find(path, sizeof(path), argv[0])) {
        return ENOENT;
    }
    if (opd_alloc_array(&block, count + 2, sizeof(char *)) != OPD_OK) {
        return ENOMEM;
    }
    char **words = block;
    words[0] = (char *)(uintptr_t) "/bin/sh";
    words[1] = path;
    memcpy(words + 2, argv + 1, count * sizeof(char *));
    int error = posix_spawn(pid, words[0], NULL, NULL, words, environment);
    opd_free(block);
    return error;
}

/* Needs no descriptor and no copy of our memory, so it works within limits that the program itself can live with. */
static opd_status start(int *pid, char *const *argv, char **environment)
{
    int child = 0;
    int error = posix_spawnp(&child, argv[0], NULL, NULL, argv, environment);
    if (error == ENOEXEC) {
        error = spawn_script(&child, argv, environment);
    }
    switch (error) {
    case 0:
        *pid = child;
        return OPD_OK;
    case ENOENT:
    case ENOTDIR:
        return opd_fail(OPD_E_NOTFOUND, "%s: %s", argv[0], strerror(error));
    case EAGAIN:
    case ENOMEM:
        return opd_fail(OPD_E_NOMEM, "no process can be started beside this one: %s", strerror(error));
    default:
        return opd_fail(OPD_E_UNSUPPORTED, "%s: %s", argv[0], strerror(error));
    }
}

opd_status opd_launch(int *pid, opd_collector *collector, const opd_record_options *options)
{
    opd_buffer preload;
    opd_buffer audit;
    opd_buffer python;
    opd_buffer_init(&preload, 65536);
    opd_buffer_init(&audit, 65536);
    opd_buffer_init(&python, 65536);
    char session[224];
    char **environment = NULL;
    opd_status status = OPD_OK;
    if (collector == NULL) { /* no session could be made: the program runs unrecorded */
        opd_buffer_done(&audit);
        opd_buffer_done(&preload);
        opd_buffer_done(&python);
        return start(pid, options->argv, environ);
    }
    snprintf(session, sizeof(session), OPD_SESSION_VARIABLE "=%s", collector->directory);
    status = preload_value(&preload, collector, options);
    if (status == OPD_OK) {
        opd_buffer_append(&preload, "", 1);
        status = preload.status;
    }
    if (status == OPD_OK && options->torch) {
        status = torch_value(&python);
    }
    char mark[] = "OPSDEBUG_TORCH=1";
    if (status == OPD_OK) {
        status = audit_value(&audit, collector, options);
    }
    if (status == OPD_OK) {
        char *const own[OWN_VARIABLES] = { (char *)preload.bytes, session, audit.size > 0 ? (char *)audit.bytes : NULL,
                                           options->torch ? (char *)python.bytes : NULL, options->torch ? mark : NULL };
        status = make_environment(&environment, own);
    }
    if (status == OPD_OK) {
        status = start(pid, options->argv, environment);
    }
    opd_free(environment);
    opd_buffer_done(&audit);
    opd_buffer_done(&python);
    opd_buffer_done(&preload);
    return status;
}
