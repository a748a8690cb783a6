/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of collectors that were killed stay in shared memory for `ops-debug salvage`. A new session removes those that
 * nobody will ask for: their output folder is gone, they are older than a day, or DEAD_KEPT newer ones wait already.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <opsdebug/memory.h>

#include "collector.h"

#define DEAD_KEPT   8u
#define DEAD_LISTED 256u
#define DAY_SECONDS ((time_t)24 * 60 * 60)

typedef struct dead_session {
    char directory[OPD_SESSION_PATH];
    int64_t time;  /* of its last change */
    bool is_stray; /* its output is gone */
} dead_session;

/* Is a process that writes there still at work? Judged by pid alone: a reused one only delays the removal. */
static bool has_writers(const char *directory)
{
    DIR *listing = opendir(directory);
    const struct dirent *entry;
    bool is_found = listing == NULL;
    while (listing != NULL && !is_found && (entry = readdir(listing)) != NULL) {
        long pid = strtol(entry->d_name, NULL, 10);
        is_found = pid > 0 && opd_session_start_time((int)pid) != 0;
    }
    if (listing != NULL) {
        closedir(listing);
    }
    return is_found;
}

/* Are the folder of the bundles, or that of the one bundle, gone? */
static bool is_output_gone(const char *out)
{
    char folder[4096];
    snprintf(folder, sizeof(folder), "%.4095s", out);
    if (access(folder, F_OK) == 0) {
        return false;
    }
    char *slash = strrchr(folder, '/');
    if (opd_collector_is_single(folder) && slash != NULL) {
        *slash = '\0';
    }
    return access(folder, F_OK) != 0;
}

/* The head of the control page is the same in every build; the path in it is looked at in sessions of this one. */
static bool is_dead(dead_session *session)
{
    static opd_control control; /* too large for the stack of a library; one thread sets up sessions */
    char path[OPD_SESSION_PATH + 16];
    struct stat status;
    if (lstat(session->directory, &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != geteuid()) {
        return false;
    }
    session->time = status.st_mtime;
    session->is_stray = false;
    snprintf(path, sizeof(path), "%s/%s", session->directory, OPD_CONTROL_FILE);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t got = file >= 0 ? pread(file, &control, sizeof(control), 0) : 0;
    bool is_ours = got == (ssize_t)sizeof(control) && opd_session_is_ours(&control);
    if (file >= 0) {
        close(file);
    }
    if (got < (ssize_t)(offsetof(opd_control, collector_start) + sizeof(control.collector_start)) ||
        control.magic != OPD_SESSION_MAGIC) {
        return time(NULL) - session->time > DAY_SECONDS; /* being made, or a wreck */
    }
    if (opd_session_is_attended(&control) || has_writers(session->directory)) {
        return false;
    }
    session->is_stray = is_ours && is_output_gone(control.out);
    return true;
}

static int compare_newest(const void *a, const void *b)
{
    const dead_session *left = a;
    const dead_session *right = b;
    return left->time < right->time ? 1 : left->time > right->time ? -1 : strcmp(left->directory, right->directory);
}

void opd_collector_sweep(void)
{
    void *block;
    uint32_t count = 0;
    if (opd_alloc_array(&block, DEAD_LISTED, sizeof(dead_session)) != OPD_OK) {
        return;
    }
    dead_session *dead = block;
    opd_session_names names = { .count = 0 };
    while (opd_place_next(&names)) {
        if (count < DEAD_LISTED) {
            memcpy(dead[count].directory, names.directory, sizeof(names.directory));
            count += is_dead(&dead[count]);
        }
    }
    qsort(dead, count, sizeof(dead[0]), compare_newest);
    for (uint32_t i = 0; i < count; i++) {
        if (dead[i].is_stray || i >= DEAD_KEPT || time(NULL) - dead[i].time > DAY_SECONDS) {
            opd_collector_remove(dead[i].directory);
        }
    }
    opd_free(dead);
}
