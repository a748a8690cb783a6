/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `ops-debug record --attach PID -o OUT` starts a collector of its own and prints the session, then ends: so the program
 * is left without a child that it would wait for.
 */
#include "attach.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <opsdebug/memory.h>

/* Where ops-debug may be, from the directory of this object; then PATH. */
static const char *const places[] = { "%s/ops-debug", "%s/../bin/ops-debug", "%s/../../bin/ops-debug", "ops-debug" };

static void own_directory(char *path, size_t size)
{
    Dl_info info;
    path[0] = '\0';
    if (dladdr(places, &info) != 0 && info.dli_fname != NULL) {
        snprintf(path, size, "%s", info.dli_fname);
        char *slash = strrchr(path, '/');
        if (slash != NULL) {
            *slash = '\0';
        }
    }
}

/* Runs one candidate; what it prints goes to text. */
static bool ask(char *text, size_t size, const char *program, const char *out)
{
    int ends[2];
    int child;
    char pid[16];
    snprintf(pid, sizeof(pid), "%d", getpid());
    const char *const words[] = { program, "record", "--attach", pid, "-o", out, NULL };
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    bool is_started = posix_spawnp(&child, program, &actions, NULL, (char *const *)(uintptr_t)words, environ) == 0;
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    size_t used = 0;
    ssize_t got = 1;
    while (is_started && got > 0 && used + 1 < size && memchr(text, '\n', used) == NULL) {
        got = read(ends[0], text + used, size - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    text[used] = '\0';
    close(ends[0]);
    int status = 0;
    while (is_started && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return is_started && WIFEXITED(status) && WEXITSTATUS(status) == 0 && strchr(text, '\n') != NULL;
}

opd_status opd_attach_collector(char session[OPD_SESSION_PATH], const char *out)
{
    char directory[4096];
    char program[4352];
    char text[OPD_SESSION_PATH];
    own_directory(directory, sizeof(directory));
    for (size_t i = 0; i < OPD_COUNT(places); i++) {
        snprintf(program, sizeof(program), places[i], directory);
        if (i + 1 < OPD_COUNT(places) && access(program, X_OK) != 0) {
            continue;
        }
        if (ask(text, sizeof(text), program, out)) {
            text[strcspn(text, "\n")] = '\0';
            memcpy(session, text, sizeof(text));
            return OPD_OK;
        }
    }
    return opd_fail(OPD_E_NOTFOUND, "no collector: ops-debug was not found, or could not start one for %s", out);
}
