/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bundle on request: whoever asks finds the session in shared memory, puts the request into its control page and wakes the
 * collector, which answers there. Nothing is sent to the recorded program.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collector.h"
#include "trigger.h"

_Static_assert(sizeof(((opd_record_answer *)0)->paths) == sizeof(((opd_request *)0)->paths) &&
                   sizeof(((opd_record_answer *)0)->trouble) == sizeof(((opd_request *)0)->trouble),
               "copied whole");

#define LOOK_AGAIN_MS 200u /* is the collector still there? */

/* ------------------------------------------------------------------------------------------------- the collector */

static bool is_wanted(const opd_watched *watched, int pid)
{
    return !watched->is_done && watched->process != NULL && (pid == 0 || watched->pid == pid);
}

/* A bundle of each process that is asked for. */
static void answer(opd_collector *collector, opd_request *request)
{
    opd_shared_trigger trigger = { .outcome = OPD_OUTCOME_REQUESTED,
                                   .slot = OPD_PROCESS_THREADS,
                                   .operand = -1,
                                   .ticks = opd_now_ticks(collector->control->has_tsc),
                                   .element = -1 };
    bool has_failed = false;
    snprintf(trigger.reason, sizeof(trigger.reason), "%.95s", request->reason);
    for (opd_watched *watched = collector->first; watched != NULL; watched = watched->next) {
        if (!is_wanted(watched, request->pid)) {
            continue;
        }
        trigger.tid = (uint32_t)watched->pid;
        if (!opd_collector_snapshot(collector, watched, &trigger)) {
            has_failed = true;
            continue;
        }
        if (request->bundles < OPD_REQUEST_PATHS) {
            memcpy(request->paths[request->bundles], collector->last_bundle, sizeof(request->paths[0]));
        }
        request->bundles++;
    }
    if (has_failed) {
        const char *why = collector->is_single ? "only one bundle is wanted (-o NAME.opsb), and it is there"
                          : collector->report->trouble[0] != '\0' ? collector->report->trouble
                                                                  : "the window was never free";
        snprintf(request->trouble, sizeof(request->trouble), "%.255s", why);
    } else if (request->bundles == 0) {
        snprintf(request->trouble, sizeof(request->trouble), "no process with recorded calls runs there");
    }
}

void opd_requests_serve(opd_collector *collector, bool has_signal)
{
    if (has_signal) {
        static opd_request request;
        request = (opd_request){ .reason = "asked for by a signal to the collector" };
        answer(collector, &request);
    }
    for (uint32_t i = 0; i < OPD_REQUESTS; i++) {
        opd_request *request = &collector->control->requests[i];
        uint32_t state = atomic_load(&request->state);
        if (state == OPD_REQUEST_ASKED && atomic_compare_exchange_strong(&request->state, &state, OPD_REQUEST_TAKEN)) {
            answer(collector, request);
            state = OPD_REQUEST_TAKEN;
            if (!atomic_compare_exchange_strong(&request->state, &state, OPD_REQUEST_DONE)) {
                atomic_store(&request->state, OPD_REQUEST_FREE);
            }
            syscall(SYS_futex, &request->state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
        } else if (state == OPD_REQUEST_DONE && opd_session_start_time(request->asker) == 0) {
            atomic_store(&request->state, OPD_REQUEST_FREE);
        }
    }
}

/* --------------------------------------------------------------------------------------------------- who asks */

/* Maps the control page of a session whose collector is at work and of this build; NULL: it is none. */
static opd_control *attend(const char *directory)
{
    char path[OPD_SESSION_PATH + 16];
    struct stat status;
    void *start = MAP_FAILED;
    snprintf(path, sizeof(path), "%s/" OPD_CONTROL_FILE, directory);
    int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file >= 0 && fstat(file, &status) == 0 && (size_t)status.st_size >= sizeof(opd_control)) {
        start = mmap(NULL, sizeof(opd_control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (file >= 0) {
        close(file);
    }
    if (start == MAP_FAILED) {
        return NULL;
    }
    const opd_control *control = start;
    if (!opd_session_is_ours(control) || atomic_load(&control->state) != OPD_SESSION_OPEN ||
        !opd_session_is_attended(control)) {
        munmap(start, sizeof(opd_control));
        return NULL;
    }
    return start;
}

static void leave(opd_control *control)
{
    munmap(control, sizeof(*control));
}

/* Reads what a process wrote of itself; false: it is none that runs. */
static bool read_process(opd_record_live *live, const char *directory, const char *name)
{
    char path[OPD_SESSION_PATH + 300];
    uint64_t magic = 0;
    uint64_t start = 0;
    live->pid = (int)strtol(name, NULL, 10);
    if (live->pid <= 0) {
        return false;
    }
    snprintf(path, sizeof(path), "%s/%.255s", directory, name);
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    bool is_read = file >= 0 &&
                   pread(file, &magic, sizeof(magic), offsetof(opd_process, magic)) == (ssize_t)sizeof(magic) &&
                   pread(file, &start, sizeof(start), offsetof(opd_process, start_time)) == (ssize_t)sizeof(start) &&
                   pread(file, live->program, sizeof(live->program), offsetof(opd_process, program)) ==
                       (ssize_t)sizeof(live->program);
    if (file >= 0) {
        close(file);
    }
    live->program[sizeof(live->program) - 1] = '\0';
    return is_read && magic == OPD_SESSION_MAGIC && opd_session_start_time(live->pid) == start;
}

/* An exec leaves two images of one process. */
static bool is_listed(const opd_record_live *list, uint32_t count, int pid)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].pid == pid) {
            return true;
        }
    }
    return false;
}

static uint32_t list_session(opd_record_live *list, uint32_t count, uint32_t capacity, const char *directory)
{
    opd_control *control = attend(directory);
    DIR *listing = control != NULL ? opendir(directory) : NULL;
    const struct dirent *entry;
    while (listing != NULL && count < capacity && (entry = readdir(listing)) != NULL) {
        opd_record_live *live = &list[count];
        if (read_process(live, directory, entry->d_name) && !is_listed(list, count, live->pid)) {
            live->collector = control->collector_pid;
            live->calls = atomic_load(&control->calls);
            snprintf(live->out, sizeof(live->out), "%.1023s", control->out);
            count++;
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
    if (control != NULL) {
        leave(control);
    }
    return count;
}

uint32_t opd_record_list(opd_record_live *list, uint32_t capacity)
{
    opd_session_names names = { .count = 0 };
    uint32_t count = 0;
    while (opd_place_next(&names)) {
        count = list_session(list, count, capacity, names.directory);
    }
    return count;
}

/* Records the session the process pid? As the collector, or among its processes. */
static bool has_process(const opd_control *control, const char *directory, int pid)
{
    DIR *listing = control->collector_pid != pid ? opendir(directory) : NULL;
    const struct dirent *entry;
    bool is_found = control->collector_pid == pid;
    while (listing != NULL && !is_found && (entry = readdir(listing)) != NULL) {
        opd_record_live live;
        is_found = strtol(entry->d_name, NULL, 10) == pid && read_process(&live, directory, entry->d_name);
    }
    if (listing != NULL) {
        closedir(listing);
    }
    return is_found;
}

static opd_control *find_session(int pid)
{
    opd_session_names names = { .count = 0 };
    opd_control *found = NULL;
    while (opd_place_next(&names)) { /* to its end, which closes what it holds */
        opd_control *control = found == NULL ? attend(names.directory) : NULL;
        if (control != NULL && has_process(control, names.directory, pid)) {
            found = control;
        } else if (control != NULL) {
            leave(control);
        }
    }
    return found;
}

static opd_request *take_request(opd_control *control)
{
    for (uint32_t i = 0; i < OPD_REQUESTS; i++) {
        uint32_t state = OPD_REQUEST_FREE;
        if (atomic_compare_exchange_strong(&control->requests[i].state, &state, OPD_REQUEST_FILLING)) {
            return &control->requests[i];
        }
    }
    return NULL;
}

/* Gives the request up; false: it was answered just now. */
static bool give_up(opd_request *request)
{
    uint32_t state = OPD_REQUEST_ASKED;
    if (atomic_compare_exchange_strong(&request->state, &state, OPD_REQUEST_FREE)) {
        return true;
    }
    return state == OPD_REQUEST_TAKEN && atomic_compare_exchange_strong(&request->state, &state, OPD_REQUEST_LEFT);
}

static opd_status wait_for(const opd_control *control, opd_request *request, uint32_t timeout_ms)
{
    uint64_t end = opd_now_ns() + (uint64_t)timeout_ms * 1000000u;
    const struct timespec pause = { .tv_nsec = (long)LOOK_AGAIN_MS * 1000000 };
    uint32_t state;
    while ((state = atomic_load(&request->state)) != OPD_REQUEST_DONE) {
        bool is_attended = opd_session_is_attended(control) && atomic_load(&control->state) == OPD_SESSION_OPEN;
        if ((!is_attended || opd_now_ns() > end) && give_up(request)) {
            return opd_fail(OPD_E_IO,
                            is_attended ? "the collector %d did not answer in time"
                                        : "the collector %d ended before it answered",
                            control->collector_pid);
        }
        syscall(SYS_futex, &request->state, FUTEX_WAIT, state, &pause, NULL, 0);
    }
    return OPD_OK;
}

opd_status opd_record_ask(opd_record_answer *out, int pid, const char *reason, uint32_t timeout_ms)
{
    opd_control *control = find_session(pid);
    if (control == NULL) {
        return opd_fail(OPD_E_NOTFOUND, "process %d is not recorded, or not by this user", pid);
    }
    opd_request *request = take_request(control);
    if (request == NULL) {
        leave(control);
        return opd_fail(OPD_E_LIMIT, "%u others are asking for bundles of process %d already", OPD_REQUESTS, pid);
    }
    request->asker = getpid();
    request->pid = pid == control->collector_pid ? 0 : pid;
    request->bundles = 0;
    request->trouble[0] = '\0';
    snprintf(request->reason, sizeof(request->reason), "%s", reason);
    atomic_store(&request->state, OPD_REQUEST_ASKED);
    atomic_fetch_add(&control->wake, 1);
    syscall(SYS_futex, &control->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    opd_status status = wait_for(control, request, timeout_ms);
    if (status == OPD_OK) {
        out->bundles = request->bundles;
        memcpy(out->paths, request->paths, sizeof(out->paths));
        memcpy(out->trouble, request->trouble, sizeof(out->trouble));
        atomic_store(&request->state, OPD_REQUEST_FREE);
        if (out->bundles == 0) {
            status = opd_fail(OPD_E_IO, "no bundle of process %d: %s", pid, out->trouble);
        }
    }
    leave(control);
    return status;
}
