/* SPDX-License-Identifier: Apache-2.0 */
/* What a killed collector left: its unfinished runs are mended, and the rings in shared memory written out. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <opsdebug/memory.h>

#include "collector.h"

#define LAST_WRITE_CALLS (UINT64_C(1) << 20)

/* The first trouble stays first. */
static void note_trouble(opd_record_report *report, const char *path)
{
    if (report->trouble[0] == '\0') {
        snprintf(report->trouble, sizeof(report->trouble), "%s: %s", path, opd_error_text());
    }
}

static void note_lost(void *context, const char *text)
{
    opd_record_report *report = context;
    if (report->trouble[0] == '\0') {
        snprintf(report->trouble, sizeof(report->trouble), "a tensor is left out: %s", text);
    }
}

static void note_mended(opd_record_report *report, const char *path)
{
    if (report->bundles < OPD_COUNT(report->bundle_paths)) {
        snprintf(report->bundle_paths[report->bundles], sizeof(report->bundle_paths[0]), "%.511s", path);
    }
    report->bundles++;
}

typedef struct written_list {
    opd_written *items;
    size_t count;
} written_list;

static void keep_last(written_list *list, const opd_written *call)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].pid == call->pid && list->items[i].tid == call->tid) {
            if (call->begin_ns > list->items[i].begin_ns) { /* of a later image, perhaps */
                list->items[i] = *call;
            }
            return;
        }
    }
    if (opd_grow((void **)&list->items, list->count + 1, sizeof(*list->items)) == OPD_OK) {
        list->items[list->count++] = *call;
    }
}

/* The last calls of the threads in a mended run: of the last write before the end, no more than the rings hold. */
static void note_written(written_list *list, const char *path)
{
    opd_bundle *bundle;
    if (opd_bundle_open(&bundle, path) != OPD_OK) {
        return;
    }
    const opd_header_info *header = opd_bundle_header(bundle);
    uint64_t left = strcmp(header->kind, "run") == 0 ? LAST_WRITE_CALLS : 0;
    for (uint64_t i = opd_bundle_call_count(bundle); i > 0 && left > 0; i--, left--) {
        opd_call call;
        if (opd_bundle_call(&call, bundle, i - 1) == OPD_OK) {
            keep_last(list, &(opd_written){ (int)header->pid, call.thread, call.number, call.begin_ns });
        }
    }
    opd_bundle_close(bundle);
}

/* NAME.opsb.partial, left in the middle, becomes NAME.opsb. */
static void mend_partials(opd_record_report *report, const char *folder, written_list *written)
{
    const char *suffix = OPD_SUFFIX ".partial";
    DIR *listing = opendir(folder);
    const struct dirent *entry;
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        char from[4352];
        char to[4352];
        opd_salvage_report salvage;
        size_t length = strlen(entry->d_name);
        if (length <= strlen(suffix) || strcmp(entry->d_name + length - strlen(suffix), suffix) != 0) {
            continue;
        }
        snprintf(from, sizeof(from), "%s/%s", folder, entry->d_name);
        snprintf(to, sizeof(to), "%.*s", (int)(strlen(from) - strlen(".partial")), from);
        if (access(to, F_OK) == 0) {
            continue;
        }
        if (opd_salvage(&salvage, from, to, note_lost, report) != OPD_OK) {
            note_trouble(report, from);
            continue;
        }
        unlink(from);
        note_mended(report, to);
        note_written(written, to);
        report->calls += salvage.calls;
    }
    if (listing != NULL) {
        closedir(listing);
    }
}

static bool is_running(const opd_watched *watched)
{
    return kill(watched->pid, 0) == 0 && opd_session_start_time(watched->pid) == watched->process->start_time;
}

/* Does the session write to out, or to a bundle in the folder out? */
static bool writes_to(const opd_control *control, const char *out)
{
    size_t length = strlen(out);
    if (strncmp(control->out, out, length) != 0) {
        return false;
    }
    const char *rest = control->out + length;
    size_t left = strlen(rest);
    bool is_bundle = left > strlen(OPD_SUFFIX) && strcmp(rest + left - strlen(OPD_SUFFIX), OPD_SUFFIX) == 0;
    return left == 0 || (is_bundle && *rest == '/' && strchr(rest + 1, '/') == NULL);
}

typedef enum session_kind { SESSION_OTHER, SESSION_ORPHANED, SESSION_ATTENDED } session_kind;

/* What a session is to the output; only looked at, since its collector may be at work or of another build. */
static session_kind look_at(const char *directory, const char *out)
{
    char path[352];
    struct stat status;
    session_kind kind = SESSION_OTHER;
    snprintf(path, sizeof(path), "%s/" OPD_CONTROL_FILE, directory);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) {
        return kind;
    }
    const opd_control *control = MAP_FAILED;
    if (fstat(file, &status) == 0 && (size_t)status.st_size >= sizeof(*control)) {
        control = mmap(NULL, sizeof(*control), PROT_READ, MAP_SHARED, file, 0);
    }
    close(file);
    if (control == MAP_FAILED) {
        return kind;
    }
    if (opd_session_is_ours(control) && writes_to(control, out)) {
        kind = opd_session_is_attended(control) ? SESSION_ATTENDED : SESSION_ORPHANED;
    }
    munmap((void *)(uintptr_t)control, sizeof(*control));
    return kind;
}

/* Unmaps a session and leaves it as it is. */
static void leave(opd_collector *collector)
{
    opd_control *control = collector->control;
    collector->directory[0] = '\0';
    collector->control = NULL;
    opd_collector_close(collector);
    munmap(control, sizeof(*control));
}

static void recover_session(opd_record_report *report, const char *directory, const written_list *written)
{
    opd_collector collector;
    bool is_kept = false;
    if (opd_collector_adopt(&collector, directory, report) != OPD_OK) {
        return;
    }
    collector.written = written->items;
    collector.written_count = written->count;
    opd_collector_scan(&collector);
    for (opd_watched *watched = collector.first; watched != NULL; watched = watched->next) {
        if (is_running(watched)) {
            opd_collector_trouble(&collector, "process %d of the session still runs: salvage again when it has ended",
                                  watched->pid);
            is_kept = true;
            continue;
        }
        uint64_t before = report->calls;
        opd_collector_finish(&collector, watched, OPD_STATUS_UNKNOWN);
        report->bundles += report->calls > before;
    }
    if (is_kept) {
        leave(&collector);
        return;
    }
    opd_collector_close(&collector);
}

/* Absolute path of a folder, or of a bundle that need not exist yet. */
static bool resolve_out(char absolute[4096], const char *out)
{
    char folder[4096];
    const char *slash = strrchr(out, '/');
    if (realpath(out, absolute) != NULL) {
        return true;
    }
    snprintf(folder, sizeof(folder), "%.*s", slash != NULL ? (int)(slash - out) + 1 : 1, slash != NULL ? out : ".");
    if (realpath(folder, absolute) == NULL) {
        return false;
    }
    size_t length = strlen(absolute);
    int added = snprintf(absolute + length, 4096 - length, "/%s", slash != NULL ? slash + 1 : out);
    return added > 0 && (size_t)added < 4096 - length;
}

opd_record_left opd_record_left_behind(const char *out)
{
    char absolute[4096];
    opd_record_left left = { 0 };
    opd_session_names names = { .count = 0 };
    if (!resolve_out(absolute, out)) {
        return left;
    }
    while (opd_place_next(&names)) {
        session_kind kind = look_at(names.directory, absolute);
        left.orphaned += kind == SESSION_ORPHANED;
        left.attended += kind == SESSION_ATTENDED;
    }
    return left;
}

opd_status opd_record_recover(opd_record_report *report, const char *out)
{
    char absolute[4096];
    written_list written = { 0 };
    memset(report, 0, sizeof(*report));
    if (!resolve_out(absolute, out)) {
        return opd_fail(OPD_E_NOTFOUND, "%s: %s", out, strerror(errno));
    }
    /* What a living collector has begun is not ours to end. */
    opd_record_left left = opd_record_left_behind(out);
    if (left.attended == 0) {
        mend_partials(report, absolute, &written);
    }
    opd_session_names names = { .count = 0 };
    while (left.orphaned > 0 && opd_place_next(&names)) {
        if (look_at(names.directory, absolute) == SESSION_ORPHANED) {
            recover_session(report, names.directory, &written);
        }
    }
    opd_free(written.items);
    if (report->bundles == 0 && report->trouble[0] == '\0' && report->run_trouble[0] == '\0') {
        return left.attended > 0 ? opd_fail(OPD_E_NOTFOUND, "%s: its recording still runs; nothing to recover yet", out)
                                 : opd_fail(OPD_E_NOTFOUND, "%s: no recording was left behind", out);
    }
    return OPD_OK;
}
