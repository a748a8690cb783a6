/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a session lives and how much of that place it takes. Shared memory is wanted; a container's may be a few
 * megabytes, and then the operand data get less, or the session goes to a folder for temporary files. Half of what is
 * free stays free: the program may need shared memory too.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "collector.h"

/*
 * File systems whose mapped pages, once made present, can be written for ever (numbers of statfs(2)). Where a rewrite
 * takes a new block (btrfs, zfs) or a server (nfs, fuse), a full disk would end the program by SIGBUS.
 */
static const unsigned long steady_kinds[] = {
    0x01021994, /* tmpfs */
    0x858458f6, /* ramfs */
    0xef53,     /* ext2, ext3, ext4 */
    0x58465342, /* xfs */
    0x794c7630, /* overlay, as containers have it over one of these */
};

#define DATA_ENOUGH    ((uint64_t)16 << 20) /* with room for this much data, no other place is looked for */
#define THREADS_WANTED 8u
#define THREADS_LEAST  1u

typedef struct place {
    char root[OPD_SESSION_PATH];
    uint64_t free;   /* bytes */
    uint64_t budget; /* of data that it has room for */
    bool is_steady, is_writable, is_usable;
} place;

uint32_t opd_place_roots(char roots[OPD_PLACE_ROOTS][OPD_SESSION_PATH])
{
    const char *const candidates[OPD_PLACE_ROOTS] = { getenv(OPD_PLACE_VARIABLE), OPD_SESSION_ROOT, getenv("TMPDIR"),
                                                      "/tmp" };
    uint32_t count = 0;
    for (size_t i = 0; i < OPD_PLACE_ROOTS; i++) {
        char real[PATH_MAX];
        bool is_new = candidates[i] != NULL && candidates[i][0] == '/' && realpath(candidates[i], real) != NULL &&
                      strlen(real) + sizeof("/ops-debug-4294967295-XXXXXX") < OPD_SESSION_PATH;
        for (uint32_t k = 0; is_new && k < count; k++) {
            is_new = strcmp(roots[k], real) != 0;
        }
        if (is_new) {
            memcpy(roots[count++], real, strlen(real) + 1);
        }
    }
    return count;
}

bool opd_place_next(opd_session_names *names)
{
    char prefix[64];
    snprintf(prefix, sizeof(prefix), "ops-debug-%u-", (unsigned)geteuid());
    if (names->count == 0) {
        names->count = opd_place_roots(names->roots);
    }
    while (names->at < names->count) {
        const char *root = names->roots[names->at];
        const struct dirent *entry;
        names->listing = names->listing != NULL ? names->listing : opendir(root);
        while (names->listing != NULL && (entry = readdir(names->listing)) != NULL) {
            struct stat status;
            int length = snprintf(names->directory, sizeof(names->directory), "%s/%s", root, entry->d_name);
            if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && length < (int)sizeof(names->directory) &&
                lstat(names->directory, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid()) {
                return true;
            }
        }
        if (names->listing != NULL) {
            closedir(names->listing);
            names->listing = NULL;
        }
        names->at++;
    }
    return false;
}

/* Bytes of a session with that many threads and no data; pages of the control file counted. */
static uint64_t fixed_bytes(uint32_t threads)
{
    return (sizeof(opd_control) + 4095) / 4096 * 4096 + opd_session_arena_offset(threads) - OPD_FORM_BYTES +
           (64 << 10); /* forms take what they need when they come */
}

/* Data for which there is room beside some threads and what is left to the program; in tight places nothing is left. */
static uint64_t data_room(uint64_t room)
{
    uint64_t wanted = fixed_bytes(THREADS_WANTED);
    uint64_t least = fixed_bytes(2);
    if (room / 2 > wanted + OPD_BUDGET_LEAST) {
        return room / 2 - wanted;
    }
    return room > least ? (room - least) / 2 : 0;
}

static bool is_steady_kind(unsigned long kind)
{
    for (size_t i = 0; i < OPD_COUNT(steady_kinds); i++) {
        if (steady_kinds[i] == kind) {
            return true;
        }
    }
    return false;
}

static void look_at(place *at, uint64_t budget)
{
    struct statfs info;
    at->is_steady = statfs(at->root, &info) == 0 && is_steady_kind((unsigned long)info.f_type & 0xffffffffu);
    if (!at->is_steady) {
        return;
    }
    bool is_unlimited = info.f_blocks == 0; /* a tmpfs or ramfs without a limit */
    at->free = is_unlimited ? UINT64_MAX / 4 : (uint64_t)info.f_bavail * (uint64_t)info.f_frsize;
    at->is_writable = access(at->root, W_OK | X_OK) == 0;
    at->is_usable = at->is_writable && at->free >= fixed_bytes(THREADS_LEAST);
    uint64_t room = data_room(at->free);
    at->budget = room < budget ? OPD_ARENA_CHUNKS * opd_session_chunk_bytes(room) : budget;
}

static void print_bytes(char text[32], uint64_t bytes)
{
    bool is_small = bytes < (10u << 20);
    snprintf(text, 32, "%llu %s", (unsigned long long)(bytes >> (is_small ? 10 : 20)), is_small ? "KiB" : "MiB");
}

/* What the user asked for and does not get. */
static void tell(char *text, size_t size, const place *first, const place *chosen, uint64_t budget)
{
    char has[32];
    char gets[32];
    char wanted[32];
    print_bytes(has, first->free);
    print_bytes(gets, chosen->budget);
    print_bytes(wanted, budget);
    size_t used = 0;
    text[0] = '\0';
    if (!first->is_steady) {
        used = (size_t)snprintf(text, size, "%s is on a file system that could end the program when it is full",
                                first->root);
    } else if (!first->is_writable) {
        used = (size_t)snprintf(text, size, "%s cannot be written", first->root);
    } else if (chosen != first || chosen->budget < budget) {
        used = (size_t)snprintf(text, size, "%s has %s free", first->root, has);
    }
    if (chosen != first) {
        used += (size_t)snprintf(text + used, size - used, ": the rings are in %s", chosen->root);
    }
    if (chosen->budget < budget) {
        snprintf(text + used, size - used, "%s operand data gets %s instead of %s", chosen != first ? "," : ":", gets,
                 wanted);
    }
}

/* The first with enough room, else the one with the most. */
static place *choose(place *places, uint32_t count, uint64_t budget)
{
    place *best = NULL;
    uint64_t enough = budget < DATA_ENOUGH ? budget : DATA_ENOUGH;
    for (uint32_t i = 0; i < count; i++) {
        place *at = &places[i];
        bool is_roomy = at->free >= fixed_bytes(THREADS_WANTED) && at->budget >= enough;
        if (at->is_usable && is_roomy) {
            return at;
        }
        if (at->is_usable && (best == NULL || at->free > best->free)) {
            best = at;
        }
    }
    return best;
}

opd_status opd_place_session(char directory[OPD_SESSION_PATH], uint64_t *budget, opd_record_report *report)
{
    char roots[OPD_PLACE_ROOTS][OPD_SESSION_PATH];
    place places[OPD_PLACE_ROOTS] = { 0 };
    char has[32];
    uint32_t count = opd_place_roots(roots);
    for (uint32_t i = 0; i < count; i++) {
        memcpy(places[i].root, roots[i], sizeof(roots[i]));
        look_at(&places[i], *budget);
    }
    int error = ENOSPC;
    place *chosen;
    while ((chosen = choose(places, count, *budget)) != NULL) {
        snprintf(directory, OPD_SESSION_PATH, "%.120s/ops-debug-%u-XXXXXX", chosen->root, (unsigned)geteuid());
        if (mkdtemp(directory) != NULL) {
            tell(report->reduced, sizeof(report->reduced), &places[0], chosen, *budget);
            *budget = chosen->budget;
            return OPD_OK;
        }
        error = errno;
        chosen->is_usable = false;
    }
    directory[0] = '\0';
    if (count == 0) {
        return opd_fail(OPD_E_IO, "neither %s nor a folder for temporary files is there", OPD_SESSION_ROOT);
    }
    print_bytes(has, places[0].free);
    return opd_fail(OPD_E_IO, "no room for the session: %s has %s free (%s); %s names another folder", places[0].root,
                    has, strerror(error), OPD_PLACE_VARIABLE);
}
