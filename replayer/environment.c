/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The environment of a process (CPU, kernel, libc, variables that numerical libraries read), read from /proc and /sys;
 * its comparison with a recorded one; and the variables a worker is started with.
 */
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <opsdebug/replay.h>

#include "isa.h"
#include "job.h"

/* Prefixes of variables that change what a numerical library does; kept in records, replaced in workers. */
static const char *const prefixes[] = { "OPENBLAS_", "GOTO_", "OMP_", "MKL_", "BLIS_", "DNNL_", "KMP_", "GOMP_" };
/* Kept in records as well, never carried over: they would load the recorder, or other libraries than the one wanted. */
static const char *const loader_variables[] = { "LD_PRELOAD=", "LD_LIBRARY_PATH=" };

static const char *const isa_words[] = { "sse",   "sse2",  "pni",      "ssse3", "sse4_1", "sse4_2",
                                         "sse4a", "3dnow", "3dnowext", "avx",   "f16c",   "fma",
                                         "fma4",  "xop",   "avx2",     "bmi1",  "bmi2" };
static const char *const isa_prefixes[] = { "avx512", "avx_", "amx_", "sve", "asimd" };

void opd_line(char *text, size_t size, const char *format, ...)
{
    size_t used = strnlen(text, size);
    va_list arguments;
    if (used > 0 && used + 1 < size && text[used - 1] != '\n') {
        text[used++] = '\n';
        text[used] = '\0';
    }
    if (used + 1 >= size) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* The first bytes of a small text file; "" when it cannot be read. */
static void read_text(char *text, size_t size, const char *path)
{
    size_t used = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && used + 1 < size) {
        ssize_t got = read(fd, text + used, size - 1 - used);
        if (got <= 0) {
            break;
        }
        used += (size_t)got;
    }
    text[used] = '\0';
    if (fd >= 0) {
        close(fd);
    }
}

/* The value of the first "key : value" line of cpuinfo. */
static void read_field(char *value, size_t size, const char *text, const char *key)
{
    value[0] = '\0';
    for (const char *line = text; line != NULL && *line != '\0'; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, key, strlen(key)) == 0) {
            const char *from = strchr(line, ':');
            if (from != NULL) {
                from += strspn(from, ": \t");
                snprintf(value, size, "%.*s", (int)strcspn(from, "\n"), from);
            }
            return;
        }
    }
}

static bool is_wanted_flag(const char *word, size_t length)
{
    for (size_t i = 0; i < OPD_COUNT(isa_words); i++) {
        if (strlen(isa_words[i]) == length && memcmp(word, isa_words[i], length) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < OPD_COUNT(isa_prefixes); i++) {
        if (strncmp(word, isa_prefixes[i], strlen(isa_prefixes[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void filter_flags(char *text, size_t size, const char *flags)
{
    size_t used = 0;
    text[0] = '\0';
    while (*flags != '\0') {
        size_t length = strcspn(flags, " ");
        if (is_wanted_flag(flags, length) && used + length + 2 < size) {
            if (used > 0) {
                text[used++] = ' ';
            }
            memcpy(text + used, flags, length);
            used += length;
            text[used] = '\0';
        }
        flags += length;
        flags += strspn(flags, " ");
    }
}

void opd_isa_read(char *text, size_t size)
{
    char cpuinfo[8192]; /* the first CPU's block is enough and cheap, whatever their number */
    char flags[4096];
    read_text(cpuinfo, sizeof cpuinfo, "/proc/cpuinfo");
    read_field(flags, sizeof flags, cpuinfo, "flags");
    if (flags[0] == '\0') {
        read_field(flags, sizeof flags, cpuinfo, "Features");
    }
    filter_flags(text, size, flags);
}

bool opd_isa_has(const char *text, const char *flag)
{
    size_t length = strlen(flag);
    for (const char *at = strstr(text, flag); at != NULL; at = strstr(at + 1, flag)) {
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) {
            return true;
        }
    }
    return false;
}

static uint32_t cache_bytes(int name)
{
    long size = sysconf(name);
    return size > 0 && size <= UINT32_MAX ? (uint32_t)size : 0;
}

static bool has_prefix(const char *entry, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strncmp(entry, list[i], strlen(list[i])) == 0) {
            return true;
        }
    }
    return false;
}

static uint32_t read_mxcsr(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & ~UINT32_C(0x3f); /* without the sticky flags */
#else
    return 0;
#endif
}

opd_status opd_environment_read(opd_environment_info *out)
{
    char cpuinfo[8192];
    struct utsname host;
    opd_environment_info info = { .cpu_count = 0 };
    read_text(cpuinfo, sizeof cpuinfo, "/proc/cpuinfo");
    read_field(info.cpu_model, sizeof info.cpu_model, cpuinfo, "model name");
    opd_isa_read(info.isa, sizeof info.isa);
    if (uname(&host) != 0) {
        return opd_fail(OPD_E_IO, "uname failed");
    }
    snprintf(info.kernel, sizeof info.kernel, "%.20s %.80s", host.sysname, host.release);
    snprintf(info.libc, sizeof info.libc, "glibc %s", gnu_get_libc_version());
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    info.cpu_count = cpus > 0 ? (uint32_t)cpus : 0;
    info.l1d_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE);
    info.l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
    info.l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE);
    info.mxcsr = read_mxcsr();
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        if (has_prefix(*entry, prefixes, OPD_COUNT(prefixes)) ||
            has_prefix(*entry, loader_variables, OPD_COUNT(loader_variables))) {
            opd_line(info.variables, sizeof info.variables, "%s", *entry);
        }
    }
    *out = info;
    return OPD_OK;
}

static void compare_text(char *text, size_t size, const char *what, const char *recorded, const char *here)
{
    if (recorded[0] != '\0' && strcmp(recorded, here) != 0) {
        opd_line(text, size, "%s: recorded %s, here %s", what, recorded, here);
    }
}

void opd_environment_compare(char *text, size_t size, const opd_environment_info *recorded,
                             const opd_environment_info *here)
{
    char lost[512] = "";
    size_t used = 0;
    compare_text(text, size, "cpu", recorded->cpu_model, here->cpu_model);
    for (const char *flag = recorded->isa; *flag != '\0'; flag += strspn(flag, " ")) {
        char word[32];
        size_t length = strcspn(flag, " ");
        snprintf(word, sizeof word, "%.*s", (int)(length < sizeof word ? length : sizeof word - 1), flag);
        if (!opd_isa_has(here->isa, word) && used + length + 2 < sizeof lost) {
            used += (size_t)snprintf(lost + used, sizeof lost - used, "%s%s", used > 0 ? " " : "", word);
        }
        flag += length;
    }
    if (used > 0) {
        opd_line(text, size, "isa: recorded %s, here absent", lost);
    }
    compare_text(text, size, "kernel", recorded->kernel, here->kernel);
    compare_text(text, size, "libc", recorded->libc, here->libc);
}

/* ------------------------------------------------------------------------------ the worker's variables */

typedef struct entry_list {
    char **entries;
    size_t count, capacity;
    char *text;
    size_t used, size;
} entry_list;

static bool list_has(const entry_list *list, const char *entry)
{
    size_t length = strcspn(entry, "=");
    for (size_t i = 0; i < list->count; i++) {
        if (strncmp(list->entries[i], entry, length) == 0 && list->entries[i][length] == '=') {
            return true;
        }
    }
    return false;
}

/* The first value of a name wins. */
static void list_add(entry_list *list, const char *entry, size_t length)
{
    if (list->count + 1 >= list->capacity || list->used + length + 1 > list->size || list_has(list, entry)) {
        return;
    }
    char *copy = list->text + list->used;
    memcpy(copy, entry, length);
    copy[length] = '\0';
    list->used += length + 1;
    list->entries[list->count++] = copy;
}

static void add_wishes(entry_list *list, const char *core, const char *isa, int threads)
{
    static const char *const thread_names[] = { "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "BLIS_NUM_THREADS",
                                                "MKL_NUM_THREADS" };
    char entry[96];
    if (core != NULL) {
        int length = snprintf(entry, sizeof entry, "OPENBLAS_CORETYPE=%.40s", core);
        list_add(list, entry, (size_t)length);
    }
    if (isa != NULL && isa[0] != '\0') {
        int length = snprintf(entry, sizeof entry, "DNNL_MAX_CPU_ISA=%.40s", isa);
        list_add(list, entry, (size_t)length);
    }
    for (size_t i = 0; threads > 0 && i < OPD_COUNT(thread_names); i++) {
        int length = snprintf(entry, sizeof entry, "%s=%d", thread_names[i], threads);
        list_add(list, entry, (size_t)length);
    }
}

static void add_recorded(entry_list *list, const char *variables)
{
    for (const char *line = variables; *line != '\0'; line += strspn(line, "\n")) {
        size_t length = strcspn(line, "\n");
        bool is_core =
            strncmp(line, "OPENBLAS_CORETYPE=", 18) == 0; /* set by wish only: an unfit one would be SIGILL */
        if (!is_core && memchr(line, '=', length) != NULL && has_prefix(line, prefixes, OPD_COUNT(prefixes))) {
            list_add(list, line, length);
        }
        line += length;
    }
}

opd_status opd_worker_environment(char ***out, const opd_environment_info *recorded, const char *core, const char *isa,
                                  int threads)
{
    entry_list list = { .capacity = 32, .size = 4096 };
    void *block = NULL;
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        list.capacity++;
        list.size += strlen(*entry) + 1;
    }
    if (recorded != NULL) {
        list.capacity += sizeof recorded->variables / 2;
        list.size += sizeof recorded->variables;
    }
    opd_status status = opd_alloc(&block, list.capacity * sizeof(char *) + list.size);
    if (status != OPD_OK) {
        return status;
    }
    list.entries = block;
    list.text = (char *)(list.entries + list.capacity);
    add_wishes(&list, core, isa, threads);
    if (recorded != NULL) {
        add_recorded(&list, recorded->variables);
    }
    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        /* With a record, its variables replace the ones here; without, the ones here stay. */
        bool is_replaced = recorded != NULL && has_prefix(*entry, prefixes, OPD_COUNT(prefixes));
        if (!is_replaced && strncmp(*entry, "LD_PRELOAD=", 11) != 0 && strncmp(*entry, "OPSDEBUG_SESSION=", 17) != 0) {
            list_add(&list, *entry, strlen(*entry));
        }
    }
    list.entries[list.count] = NULL;
    *out = list.entries;
    return OPD_OK;
}
