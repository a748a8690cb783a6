/* SPDX-License-Identifier: Apache-2.0 */
/* Why nothing was recorded: what the executable, the loaded objects and the process tree say. */
#include <ctype.h>
#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "collector.h"

#define LOOK_PAUSE_NS 50000000u
#define SEEN_TEXT     "process %d (%s) ran without the recorder: its LD_PRELOAD was lost"

static void add(char *text, size_t size, const char *format, ...) OPD_PRINTF(3, 4);

static void add(char *text, size_t size, const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    if (used > 0 && used + 2 < size) {
        memcpy(text + used, "; ", 3);
        used += 2;
    }
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* First number in /proc/PID/stat after the name: state, then the parent. */
static int parent_of(int pid, char *name, size_t size)
{
    char path[32];
    char line[512];
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return 0;
    }
    if (fgets(line, sizeof(line), file) != NULL) {
        const char *open = strchr(line, '(');
        const char *close = strrchr(line, ')');
        if (open != NULL && close != NULL && strlen(close) > 4) {
            parent = (int)strtol(close + 4, NULL, 10); /* ") S PARENT" */
            snprintf(name, size, "%.*s", (int)(close - open - 1), open + 1);
        }
    }
    fclose(file);
    return parent;
}

bool opd_explain_is_descendant(int pid, int ancestor)
{
    char name[64];
    for (int steps = 0; pid > 1 && steps < 64; steps++) {
        if (pid == ancestor) {
            return true;
        }
        pid = parent_of(pid, name, sizeof(name));
    }
    return false;
}

/* Has the process been without a recorder before? In its first moments the loader may not have come that far. */
static bool is_seen_again(opd_collector *collector, int pid)
{
    for (uint32_t i = 0; i < OPD_COUNT(collector->suspects); i++) {
        if (collector->suspects[i] == pid) {
            return true;
        }
    }
    collector->suspects[collector->suspect_count++ % OPD_COUNT(collector->suspects)] = pid;
    return false;
}

/* Which of the objects in its memory is a BLAS; has it our object too? */
static bool read_maps(int pid, bool *has_recorder, char *blas, size_t size)
{
    char path[32];
    char line[4352];
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        return false;
    }
    *has_recorder = false;
    blas[0] = '\0';
    bool is_running = false;
    while (fgets(line, sizeof(line), file) != NULL) {
        is_running = true;
        line[strcspn(line, "\n")] = '\0';
        const char *object = strchr(line, '/');
        if (object != NULL && strstr(object, "opsdebug-preload") != NULL) {
            *has_recorder = true;
        }
        if (object != NULL && blas[0] == '\0' && (strstr(object, "blas") != NULL || strstr(object, "blis") != NULL)) {
            snprintf(blas, size, "%s", object);
        }
    }
    fclose(file);
    return is_running;
}

static uint64_t own_cpu_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_nsec;
}

/* A BLAS of the executable itself. */
static void find_own_blas(int pid, char *blas, size_t size)
{
    char path[32];
    opd_object_facts facts;
    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    opd_object_examine(&facts, path, true);
    if (facts.defines[0] != '\0') {
        snprintf(blas, size, "a copy of its own (%s)", facts.defines);
    }
}

/*
 * Where calls are recorded, a process without the recorder counts when it has a BLAS. Looking at every process of the machine takes no more than a twentieth of a core, and no wake asks for it. Its own CPU time counts: a
 * busy machine, on which a look takes long, is no reason to look seldom.
 */
void opd_explain_look(opd_collector *collector)
{
    uint64_t start = own_cpu_ns();
    if (opd_now_ns() < collector->next_look_ns) {
        return;
    }
    DIR *listing = opendir("/proc");
    const struct dirent *entry;
    while (listing != NULL && (entry = readdir(listing)) != NULL) {
        int pid = isdigit((unsigned char)entry->d_name[0]) ? (int)strtol(entry->d_name, NULL, 10) : 0;
        char key[64];
        char name[64];
        char blas[256];
        bool has_recorder;
        if (pid == 0 || !opd_explain_is_descendant(pid, collector->main_pid)) {
            continue;
        }
        snprintf(key, sizeof(key), "process %d (", pid);
        if (strstr(collector->seen, key) != NULL || !read_maps(pid, &has_recorder, blas, sizeof(blas)) ||
            has_recorder || !is_seen_again(collector, pid)) {
            continue;
        }
        if (blas[0] == '\0') {
            find_own_blas(pid, blas, sizeof(blas));
        }
        if (collector->has_calls && blas[0] == '\0') {
            continue;
        }
        parent_of(pid, name, sizeof(name));
        add(collector->seen, sizeof(collector->seen), SEEN_TEXT "%s%s", pid, name,
            blas[0] != '\0' ? ", and it uses " : "", blas);
        if (blas[0] != '\0') {
            add(collector->gaps, sizeof(collector->gaps), SEEN_TEXT ", and it uses %s", pid, name, blas);
        }
    }
    if (listing != NULL) {
        closedir(listing);
    }
    uint64_t pause = (own_cpu_ns() - start) * 20;
    collector->next_look_ns = opd_now_ns() + (pause > LOOK_PAUSE_NS ? pause : LOOK_PAUSE_NS);
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat one;
    struct stat other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

/* The first BLAS of a process that no call can come from. */
static void explain_elsewhere(char *text, size_t size, const opd_process *process)
{
    uint32_t count = atomic_load(&process->module_count);
    for (uint32_t i = 0; i < count && i < OPD_PROCESS_MODULES; i++) {
        const opd_shared_module *module = &process->modules[i];
        if (atomic_load(&module->is_ready) != 0 && module->is_elsewhere != 0) {
            add(text, size,
                "%.511s was loaded into a name space of its own (dlmopen), where calls are not seen; after dlopen they would be",
                module->path);
            return;
        }
    }
}

/* Objects that were in a process which made no recorded call. */
static void explain_objects(char *text, size_t size, const opd_watched *watched, const char *program)
{
    const opd_process *process = watched->process;
    uint32_t count = atomic_load(&process->module_count);
    for (uint32_t i = 0; i < count && i < OPD_PROCESS_MODULES; i++) {
        char path[512];
        opd_object_facts facts;
        snprintf(path, sizeof(path), "%.511s", process->modules[i].path);
        if (strstr(path, "opsdebug-preload") != NULL || is_same_file(path, program) ||
            process->modules[i].is_elsewhere != 0) {
            continue; /* of the program it has been said, of the others it is said below */
        }
        opd_object_examine(&facts, path, true);
        if (facts.defines[0] != '\0') {
            add(text, size,
                "%s was loaded and defines %s, but no call came through the recorder: none was made, or the program "
                "looks its routines up by handle (dlsym) or binds them locally",
                path, facts.defines);
        } else if (facts.unknown[0] != '\0') {
            add(text, size, "%s exports its BLAS under a name the recorder does not know: %s", path, facts.unknown);
        }
    }
    explain_elsewhere(text, size, process);
}

/* Processes, or threads, that had the recorder and no memory for their rings. */
static bool explain_room(char *text, size_t size, const opd_collector *collector)
{
    uint64_t count = collector->report->threads_lost + atomic_load(&collector->control->refused);
    if (count > 0) {
        add(text, size,
            "the recorder was loaded, but found no memory for its rings: %s is full, or memory is limited (ulimit -v); free some, or "
            "name another folder by " OPD_PLACE_VARIABLE,
            collector->directory);
    }
    return count > 0;
}

void opd_explain_end(opd_collector *collector, const opd_process *process)
{
    explain_elsewhere(collector->gaps, sizeof(collector->gaps), process);
}

void opd_explain_nothing(opd_collector *collector, const opd_record_options *options)
{
    char *text = collector->report->why_nothing;
    size_t size = sizeof(collector->report->why_nothing);
    char path[4096];
    opd_object_facts facts = { .is_elf = false };
    if (opd_launch_find(path, sizeof(path), options->argv[0])) {
        opd_object_examine(&facts, path, true);
    }
    if (facts.is_static) {
        add(text, size, "%s is statically linked, so nothing can be preloaded into it", path);
    }
    if (facts.is_setuid) {
        add(text, size, "%s is set-uid or set-gid, so the loader ignores LD_PRELOAD", path);
    }
    if (facts.defines[0] != '\0') {
        add(text, size,
            "%s contains its own copy of a BLAS (%s): its calls do not go through the loader; link it with the shared "
            "library, or record with the C API (opsdebug/record.h)",
            path, facts.defines);
    }
    if (explain_room(text, size, collector)) {
        return;
    }
    bool is_recorder_there = collector->first != NULL;
    if (!is_recorder_there && text[0] == '\0') {
        add(text, size,
            "the recorder was not loaded into %s, or its opsdebug-preload.so is of another build than this ops-debug",
            options->argv[0]);
    }
    for (const opd_watched *at = collector->first; at != NULL; at = at->next) {
        explain_objects(text, size, at, facts.defines[0] != '\0' ? path : "");
    }
    if (collector->seen[0] != '\0') {
        add(text, size, "%s", collector->seen);
    }
    if (text[0] == '\0') {
        /* Two looks, a while apart, tell that a process has no recorder: a short one is not told from one that needs none. */
        add(text, size,
            "no BLAS library was seen; nor would be a program that started without LD_PRELOAD (env -i) and ended within a "
            "second");
    }
}
