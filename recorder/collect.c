/* SPDX-License-Identifier: Apache-2.0 */
/* The session as the collector sees it: making and removing it, finding processes, one round over all of them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector.h"
#include "inquest.h"
#include "trigger.h"

#define SNAPSHOT_TRIES 8

void opd_collector_trouble(opd_collector *collector, const char *format, ...)
{
    char *text = collector->report->trouble;
    if (text[0] == '\0') {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof(collector->report->trouble), format, arguments);
        va_end(arguments);
    }
}

/* ---------------------------------------------------------------------------------------------------- session */

static void fill_control(opd_control *control, const opd_record_options *options, uint64_t budget, const char *out)
{
    struct timespec now;
    control->collector_pid = getpid();
    control->collector_start = opd_session_start_time(getpid());
    control->capture = options->capture;
    control->triggers = options->triggers;
    control->timeout_ms = options->timeout_ms;
    control->magnitude = options->magnitude;
    control->sample = options->sample;
    control->first = options->first;
    control->overhead = options->overhead;
    control->tracks_writes = !options->ignores_writes;
    control->samples_stats = options->sample_stats && options->capture == OPD_CAPTURE_STATS;
    control->verify = options->verify_run != NULL && options->capture > OPD_CAPTURE_COUNTS ? options->verify : 0;
    control->reads_operands = options->capture > OPD_CAPTURE_META || control->verify != 0;
    control->max_bundles = options->max_bundles;
    control->per_failure = options->per_failure;
    control->budget = budget;
    control->range_first = options->range_first;
    control->range_last = options->range_last;
    control->file_bytes = opd_session_file_bytes(budget);
    control->has_tsc = opd_ticks_are_steady();
    opd_ticks_pair(&control->tsc_base, &control->ns_base, control->has_tsc);
    clock_gettime(CLOCK_REALTIME, &now);
    control->created_realtime_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (options->environment != NULL) {
        control->has_environment = 1;
        control->environment = *options->environment;
    }
    snprintf(control->match, sizeof(control->match), "%s", options->match != NULL ? options->match : "");
    snprintf(control->out, sizeof(control->out), "%s", out);
    size_t used = 0;
    for (char *const *word = options->argv; word != NULL && *word != NULL; word++) {
        int count =
            snprintf(control->command + used, sizeof(control->command) - used, "%s%s", used > 0 ? " " : "", *word);
        if (count < 0 || (size_t)count >= sizeof(control->command) - used) {
            break;
        }
        used += (size_t)count;
    }
    control->layout = OPD_SESSION_LAYOUT;
    control->control_bytes = sizeof(opd_control);
    control->process_bytes = sizeof(opd_process);
    atomic_store(&control->state, OPD_SESSION_OPEN);
    control->magic = OPD_SESSION_MAGIC;
}

static opd_control *map_control(const char *directory, bool is_new)
{
    char path[192];
    snprintf(path, sizeof(path), "%s/%s", directory, OPD_CONTROL_FILE);
    int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (is_new ? O_CREAT | O_EXCL : 0), 0600);
    if (file < 0) {
        return NULL;
    }
    void *start = MAP_FAILED;
    struct stat status;
    int error = is_new ? posix_fallocate(file, 0, sizeof(opd_control)) : 0;
    errno = error;
    if (error == 0 && fstat(file, &status) == 0 && (size_t)status.st_size >= sizeof(opd_control)) {
        start = mmap(NULL, sizeof(opd_control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        error = start == MAP_FAILED ? errno : 0;
    }
    close(file);
    errno = error;
    return start != MAP_FAILED ? start : NULL;
}

static opd_status take_scratch(opd_collector *collector)
{
    void *record = NULL;
    void *call = NULL;
    opd_status status = opd_alloc(&record, sizeof(opd_ring_record));
    if (status == OPD_OK) {
        status = opd_alloc(&call, sizeof(opd_call));
    }
    if (status != OPD_OK) {
        opd_free(record);
        return status;
    }
    collector->record = record;
    collector->call = call;
    return OPD_OK;
}

/*
 * Pre-sized files for processes that may not make their own. Sparse: they cost nothing until used. A process takes one by its name at any moment, so
 * a file gets that name once it has its size.
 */
static void make_spares(const opd_collector *collector)
{
    char making[192];
    snprintf(making, sizeof(making), "%s/making", collector->directory);
    for (unsigned i = 0; i < OPD_SPARE_COUNT; i++) {
        char path[192];
        snprintf(path, sizeof(path), "%s/spare-%u", collector->directory, i);
        int file = access(path, F_OK) != 0 ? open(making, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
        if (file < 0) {
            continue;
        }
        bool is_sized = ftruncate(file, (off_t)collector->control->file_bytes) == 0;
        close(file);
        if (!is_sized || rename(making, path) != 0) {
            unlink(making);
        }
    }
}

/* Under a file size limit neither we nor the program can have a process file; sparse ones count in full. */
static opd_status check_file_limit(uint64_t budget)
{
    struct rlimit limit;
    uint64_t wanted = opd_session_file_bytes(budget);
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= wanted) {
        return OPD_OK;
    }
    return opd_fail(OPD_E_LIMIT, "the file size limit is %llu bytes (ulimit -f), a recording needs %llu",
                    (unsigned long long)limit.rlim_cur, (unsigned long long)wanted);
}

opd_status opd_collector_open(opd_collector *collector, const opd_record_options *options, opd_record_report *report)
{
    const char *out = collector->out;
    *collector = (opd_collector){ .report = report, .out = out };
    uint64_t budget = options->budget;
    collector->is_single = opd_collector_is_single(out);
    opd_collector_sweep();
    opd_status status = opd_place_session(collector->directory, &budget, report);
    if (status == OPD_OK) {
        status = check_file_limit(budget);
    }
    if (status != OPD_OK) {
        opd_collector_close(collector);
        return status;
    }
    collector->control = map_control(collector->directory, true);
    if (collector->control == NULL) {
        status = opd_fail(OPD_E_IO, "%s: no room for the session: %s", collector->directory, strerror(errno));
        opd_collector_close(collector);
        return status;
    }
    status = take_scratch(collector);
    if (status != OPD_OK) {
        opd_collector_close(collector);
        return status;
    }
    fill_control(collector->control, options, budget, out);
    opd_ticks_start(&collector->ticks, collector->control);
    collector->pid_namespace = opd_session_pid_namespace();
    make_spares(collector);
    if (opd_verify_start(collector, options) != OPD_OK) {
        opd_collector_trouble(collector, "no call is verified: %s", opd_error_text());
    }
    return OPD_OK;
}

opd_status opd_collector_adopt(opd_collector *collector, const char *directory, opd_record_report *report)
{
    *collector = (opd_collector){ .report = report };
    collector->control = map_control(directory, false);
    const opd_control *control = collector->control;
    if (control == NULL || !opd_session_is_ours(control)) {
        opd_collector_close(collector); /* directory is not set: it stays */
        return opd_fail(OPD_E_VERSION, "%s: not a session of this build", directory);
    }
    opd_status status = take_scratch(collector);
    if (status != OPD_OK) {
        opd_collector_close(collector);
        return status;
    }
    snprintf(collector->directory, sizeof(collector->directory), "%s", directory);
    collector->out = control->out;
    collector->is_single =
        memchr(control->out, '\0', sizeof(control->out)) != NULL && opd_collector_is_single(control->out);
    opd_ticks_start(&collector->ticks, control);
    return OPD_OK;
}

void opd_collector_remove(const char *directory)
{
    DIR *listing = opendir(directory);
    const struct dirent *entry;
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        if (entry->d_name[0] != '.') {
            unlinkat(dirfd(listing), entry->d_name, 0);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
    rmdir(directory);
}

static void forget(opd_watched *watched)
{
    if (watched->run != NULL) {
        opd_writer_abandon(watched->run, true);
    }
    if (watched->process != NULL) {
        munmap(watched->process, watched->bytes);
    }
    opd_free(watched->kinds);
    opd_free(watched);
}

void opd_collector_close(opd_collector *collector)
{
    opd_verify_finish(collector);
    while (collector->first != NULL) {
        opd_watched *next = collector->first->next;
        forget(collector->first);
        collector->first = next;
    }
    if (collector->control != NULL) {
        atomic_store(&collector->control->state, OPD_SESSION_CLOSED);
        munmap(collector->control, sizeof(opd_control));
    }
    if (collector->directory[0] != '\0') {
        opd_collector_remove(collector->directory);
    }
    opd_free(collector->record);
    opd_free(collector->call);
    collector->control = NULL;
    collector->record = NULL;
    collector->call = NULL;
}

/* -------------------------------------------------------------------------------------------------- processes */

static bool is_known(const opd_collector *collector, int pid, unsigned image)
{
    for (const opd_watched *at = collector->first; at != NULL; at = at->next) {
        if (at->pid == pid && at->image == image) {
            return true;
        }
    }
    return false;
}

/* Is what the process wrote of itself plausible? Bounds are set right for good here. */
static bool settle_process(opd_process *process, uint64_t bytes)
{
    if (process->magic != OPD_SESSION_MAGIC || process->layout != OPD_SESSION_LAYOUT) {
        return false;
    }
    atomic_thread_fence(memory_order_acquire);
    return process->thread_limit > 0 && process->thread_limit <= OPD_PROCESS_THREADS &&
           opd_session_arena_offset(process->thread_limit) <= bytes;
}

/*
 * Maps what the process has mapped of its file: under a limited address space that is less than the file. Its size is
 * read, not mapped, and so is the magic number: a page that is not there yet must not be touched. NULL: not attached
 * yet, or errno says why it cannot be.
 */
static opd_process *map_process(uint64_t *bytes, const char *path)
{
    struct stat status;
    opd_arena arena;
    uint64_t magic = 0;
    void *start = MAP_FAILED;
    int file = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) {
        return NULL;
    }
    errno = 0;
    if (fstat(file, &status) == 0 && (size_t)status.st_size >= sizeof(opd_process) &&
        pread(file, &magic, sizeof(magic), offsetof(opd_process, magic)) == (ssize_t)sizeof(magic) &&
        magic == OPD_SESSION_MAGIC &&
        pread(file, &arena, sizeof(arena), offsetof(opd_process, arena)) == (ssize_t)sizeof(arena)) {
        *bytes = (uint64_t)status.st_size;
        if (arena.chunk_bytes <= *bytes / OPD_ARENA_CHUNKS && arena.offset >= sizeof(opd_process) &&
            arena.offset <= *bytes - OPD_ARENA_CHUNKS * arena.chunk_bytes) {
            *bytes = arena.offset + OPD_ARENA_CHUNKS * arena.chunk_bytes;
        }
        start = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    }
    int error = errno;
    close(file);
    errno = error;
    return start != MAP_FAILED ? start : NULL;
}

static void watch(opd_collector *collector, opd_watched *watched)
{
    for (uint32_t i = 0; i < OPD_PROCESS_THREADS; i++) {
        opd_slot *slot = opd_session_slot(watched->process, i);
        watched->slots[i].position = slot != NULL ? atomic_load(&slot->tail) : 0;
    }
    opd_watched **place = &collector->first; /* sorted by image, so an image comes after the one it replaced */
    bool is_new = true;
    for (opd_watched **at = place; *at != NULL; at = &(*at)->next) {
        is_new = is_new && (*at)->pid != watched->pid;
        place = (*at)->image < watched->image ? &(*at)->next : place;
    }
    watched->next = *place;
    *place = watched;
    collector->report->processes += is_new;
    collector->report->processes_audited += is_new && watched->process->is_audited != 0;
}

/* A process that cannot be mapped yet is tried again in the next round. */
static void adopt_process(opd_collector *collector, int pid, unsigned image)
{
    void *block = NULL;
    if (opd_alloc(&block, sizeof(opd_watched)) != OPD_OK) {
        opd_collector_trouble(collector, "process %d is not recorded: %s", pid, opd_error_text());
        return;
    }
    opd_watched *watched = block;
    watched->pid = pid;
    watched->image = image;
    snprintf(watched->path, sizeof(watched->path), "%s/%d.%u.opd", collector->directory, pid, image);
    watched->process = map_process(&watched->bytes, watched->path);
    if (watched->process == NULL && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
        opd_collector_trouble(collector, "process %d is not recorded: %s", pid, strerror(errno));
    }
    if (watched->process == NULL || !settle_process(watched->process, watched->bytes)) {
        if (watched->process != NULL) {
            munmap(watched->process, watched->bytes);
        }
        opd_free(watched);
        return;
    }
    watch(collector, watched);
}

/* PID.K.opd */
static bool is_process_file(const char *name, int *pid, unsigned *image)
{
    char *end;
    *pid = (int)strtol(name, &end, 10);
    if (*pid <= 0 || *end != '.') {
        return false;
    }
    const char *number = end + 1;
    *image = (unsigned)strtoul(number, &end, 10);
    return end != number && strcmp(end, ".opd") == 0;
}

/* The listing is closed before files are opened: descriptors may be few. What is beyond the batch comes next time. */
void opd_collector_scan(opd_collector *collector)
{
    struct {
        int pid;
        unsigned image;
    } found[64];
    size_t count;
    do {
        DIR *listing = opendir(collector->directory);
        const struct dirent *entry;
        count = 0;
        while (listing != NULL && count < OPD_COUNT(found) && (entry = readdir(listing)) != NULL) {
            if (is_process_file(entry->d_name, &found[count].pid, &found[count].image) &&
                !is_known(collector, found[count].pid, found[count].image)) {
                count++;
            }
        }
        if (listing != NULL) {
            closedir(listing);
        }
        for (size_t i = 0; i < count; i++) {
            adopt_process(collector, found[i].pid, found[i].image);
        }
    } while (count == OPD_COUNT(found) && is_known(collector, found[count - 1].pid, found[count - 1].image));
}

/*
 * A process that cannot be looked at for want of descriptors lives on. One of another pid namespace has a pid that means
 * nothing here, so it does until it says otherwise, or the session ends.
 */
static bool is_alive(const opd_collector *collector, const opd_watched *watched)
{
    uint64_t space = watched->process->pid_namespace;
    if (space != 0 && collector->pid_namespace != 0 && space != collector->pid_namespace) {
        return atomic_load(&watched->process->is_ended) == 0;
    }
    if (kill(watched->pid, 0) != 0 && errno == ESRCH) {
        return false;
    }
    errno = 0;
    uint64_t started = opd_session_start_time(watched->pid);
    if (started == 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
        return true;
    }
    return started != 0 && (watched->process->start_time == 0 || started == watched->process->start_time);
}

bool opd_collector_is_replaced(const opd_collector *collector, const opd_watched *watched)
{
    for (const opd_watched *at = collector->first; at != NULL; at = at->next) {
        if (at->pid == watched->pid && at->image > watched->image) {
            return true;
        }
    }
    return false;
}

/*
 * A call in flight for longer than the limit fires once. While its operands are still being read (PUBLISHED) the routine
 * has not begun, and there would be nothing to replay.
 */
static void check_time(opd_collector *collector, opd_watched *watched)
{
    opd_process *process = watched->process;
    uint32_t used = atomic_load(&process->slots_used);
    uint64_t now = opd_now_ns();
    for (uint32_t i = 0; i < used && i < OPD_PROCESS_THREADS; i++) {
        opd_slot *slot = opd_session_slot(process, i);
        uint64_t position = watched->slots[i].position;
        if (slot == NULL || opd_ring_read(slot, &position, collector->record) != OPD_RING_RECORD ||
            collector->record->state != OPD_STATE_SUBMITTED) {
            continue;
        }
        const uint64_t *word = collector->record->word;
        uint64_t begin = opd_ticks_to_ns(&collector->ticks, word[OPD_R_BEGIN]);
        uint64_t number = word[OPD_R_NUMBER];
        uint64_t limit = (uint64_t)collector->control->timeout_ms * 1000000u;
        if (now < begin + limit || slot->reported == number) {
            continue;
        }
        slot->reported = number;
        opd_shared_trigger trigger = { .outcome = OPD_OUTCOME_HANG,
                                       .tid = (uint32_t)word[OPD_R_WHO],
                                       .slot = i,
                                       .operand = -1,
                                       .number = number,
                                       .position = collector->record->position,
                                       .ticks = opd_now_ticks(collector->control->has_tsc),
                                       .element = -1 };
        snprintf(trigger.reason, sizeof(trigger.reason), "in flight for more than %.1f s",
                 (double)collector->control->timeout_ms / 1000);
        if (opd_decode_call(collector->call, collector, watched, collector->record) == OPD_OK) {
            memcpy(trigger.routine, collector->call->name, sizeof(trigger.routine));
        }
        opd_trigger_fire(collector->control, process, &trigger);
    }
}

static void write_frozen(opd_collector *collector, opd_watched *watched)
{
    opd_shared_trigger trigger;
    bool is_frozen = false;
    while (opd_trigger_take(&trigger, watched->process)) {
        opd_window_write(collector, watched, &trigger);
        is_frozen = true;
    }
    if (is_frozen) {
        opd_trigger_thaw(watched->process);
    }
}

bool opd_collector_snapshot(opd_collector *collector, opd_watched *watched, const opd_shared_trigger *trigger)
{
    uint32_t before = collector->report->bundles;
    bool is_frozen = false;
    for (int i = 0; i < SNAPSHOT_TRIES && !is_frozen; i++) { /* the program may freeze it for a failure meanwhile */
        write_frozen(collector, watched);
        before = collector->report->bundles;
        is_frozen = opd_trigger_freeze(watched->process, trigger);
    }
    opd_drain(collector, watched, false);
    write_frozen(collector, watched);
    return is_frozen && collector->report->bundles > before;
}

static void serve(opd_collector *collector, opd_watched *watched)
{
    if ((collector->control->triggers & OPD_TRIGGER_TIMEOUT) != 0) {
        check_time(collector, watched);
    }
    opd_counts_progress(collector, watched);
    opd_drain(collector, watched, false); /* first: calls are small, and failures with their data may fill the disk */
    write_frozen(collector, watched);
}

void opd_collector_round(opd_collector *collector)
{
    opd_collector_scan(collector);
    make_spares(collector);
    opd_verify_settle(collector);
    opd_ticks_calibrate(&collector->ticks, collector->control);
    opd_ticks_check(collector);
    for (opd_watched *watched = collector->first; watched != NULL; watched = watched->next) {
        if (watched->is_done) {
            continue;
        }
        serve(collector, watched);
        if (opd_collector_is_replaced(collector, watched)) {
            opd_collector_finish(collector, watched, 0);
        } else if (watched->pid != collector->main_pid && !is_alive(collector, watched)) {
            int status = opd_session_wait_status(watched->pid, watched->process->start_time);
            opd_collector_finish(collector, watched, status);
        }
    }
}

void opd_collector_let_go(opd_watched *watched)
{
    bool is_over = watched->is_done && watched->process != NULL;
    if (is_over && watched->calls > 0 &&
        watched->verifying == 0) { /* else its list of objects may have to explain why */
        munmap(watched->process, watched->bytes);
        watched->process = NULL;
    }
}

void opd_collector_finish(opd_collector *collector, opd_watched *watched, int wait_status)
{
    opd_shared_trigger trigger;
    opd_ticks_calibrate(&collector->ticks, collector->control);
    opd_drain(collector, watched, false); /* up to what is in flight */
    opd_flights_note(collector, watched, wait_status);
    opd_drain(collector, watched, true);
    write_frozen(collector, watched);
    if (opd_window_of_end(&trigger, collector, watched, wait_status)) {
        opd_window_write(collector, watched, &trigger);
    }
    opd_drain_close(collector, watched);
    opd_tally_end(collector, watched);
    opd_explain_end(collector, watched->process);
    watched->is_done = true;
    unlink(watched->path);
    opd_wreck_remove(watched->path);
    opd_collector_let_go(watched);
}
