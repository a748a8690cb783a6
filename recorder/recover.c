/* SPDX-License-Identifier: Apache-2.0 */
/* What a killed collector left: its unfinished runs are mended, and the rings in shared memory written out. */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector.h"

/* Does a collector still look after the session? */
static bool is_attended(const opd_control *control)
{
    return (kill(control->collector_pid, 0) == 0 || errno != ESRCH) &&
           opd_session_start_time(control->collector_pid) == control->collector_start;
}

/* NAME.opsb.partial, left in the middle, becomes NAME.opsb. */
static void mend_partials(opd_collector *collector)
{
    const char *suffix = OPD_SUFFIX ".partial";
    DIR *listing = collector->is_single ? NULL : opendir(collector->out);
    const struct dirent *entry;
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        char from[4352];
        char to[4352];
        opd_salvage_report salvage;
        size_t length = strlen(entry->d_name);
        if (length <= strlen(suffix) || strcmp(entry->d_name + length - strlen(suffix), suffix) != 0) {
            continue;
        }
        snprintf(from, sizeof(from), "%s/%s", collector->out, entry->d_name);
        snprintf(to, sizeof(to), "%.*s", (int)(strlen(from) - strlen(".partial")), from);
        if (access(to, F_OK) == 0) {
            continue;
        }
        if (opd_salvage(&salvage, from, to) != OPD_OK) {
            opd_collector_trouble(collector, "%s: %s", from, opd_error_text());
            continue;
        }
        unlink(from);
        collector->report->bundles++;
    }
    if (listing != NULL) {
        closedir(listing);
    }
}

static bool is_running(const opd_watched *watched)
{
    return kill(watched->pid, 0) == 0 && opd_session_start_time(watched->pid) == watched->process->start_time;
}

static void recover_session(opd_record_report *report, const char *directory, const char *out)
{
    opd_collector collector;
    if (opd_collector_adopt(&collector, directory, report) != OPD_OK) {
        return;
    }
    bool is_kept = strcmp(collector.control->out, out) != 0 || is_attended(collector.control);
    if (!is_kept) {
        mend_partials(&collector);
        opd_collector_scan(&collector);
        for (opd_watched *watched = collector.first; watched != NULL; watched = watched->next) {
            if (is_running(watched)) {
                opd_collector_trouble(
                    &collector, "process %d of the session still runs: recover again when it has ended", watched->pid);
                is_kept = true;
                continue;
            }
            uint64_t before = report->calls;
            opd_collector_finish(&collector, watched, 0);
            report->bundles += report->calls > before;
        }
    }
    if (is_kept) {
        collector.directory[0] = '\0'; /* stays for whoever looks after it */
        opd_control *control = collector.control;
        uint32_t state = atomic_load(&control->state);
        opd_control *shared = control;
        collector.control = NULL;
        opd_collector_close(&collector);
        atomic_store(&shared->state, state);
        return;
    }
    opd_collector_close(&collector);
}

opd_status opd_record_recover(opd_record_report *report, const char *out)
{
    char absolute[4096];
    char prefix[64];
    memset(report, 0, sizeof(*report));
    if (realpath(out, absolute) == NULL) {
        return opd_fail(OPD_E_NOTFOUND, "%s: %s", out, strerror(errno));
    }
    snprintf(prefix, sizeof(prefix), "ops-debug-%u-", (unsigned)geteuid());
    DIR *listing = opendir("/dev/shm");
    const struct dirent *entry;
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        char directory[320];
        struct stat status;
        snprintf(directory, sizeof(directory), "/dev/shm/%s", entry->d_name);
        if (strncmp(entry->d_name, prefix, strlen(prefix)) == 0 && strlen(directory) < 160 &&
            lstat(directory, &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == geteuid()) {
            recover_session(report, directory, absolute);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
    if (report->bundles == 0 && report->trouble[0] == '\0') {
        return opd_fail(OPD_E_NOTFOUND, "%s: no recording was left behind", out);
    }
    return OPD_OK;
}
