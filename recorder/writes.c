/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watching memory for writes; see writes.h. Order is all: the range is protected, then read by the caller, then asked about. A generation is
 * ended before its range is protected anew, and checked again after the kernel has answered, so that no answer counts for another time.
 * Allocates nothing; what needs room has it here, for one thread at a time.
 * source    Linux, Documentation/admin-guide/mm/userfaultfd.rst and pagemap.rst.
 */
#include "writes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "here.h"

/* Not in the kernel headers of the time; the numbers are fixed. */
#define USER_MODE_ONLY   1
#define WP_UNPOPULATED   (UINT64_C(1) << 13)
#define WP_ASYNC         (UINT64_C(1) << 15)
#define PAGE_WPALLOWED   (UINT64_C(1) << 0)
#define PAGE_WRITTEN     (UINT64_C(1) << 1)
#define PAGE_PRESENT     (UINT64_C(1) << 3)
#define PAGE_SWAPPED     (UINT64_C(1) << 4)
#define SCAN_CHECK_ASYNC (UINT64_C(1) << 1)
typedef struct pm_scan {
    uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
    uint64_t inverted, mask, any_of, returned;
} pm_scan;
typedef struct pm_region {
    uint64_t start, end, categories;
} pm_region;
#define PAGEMAP_SCAN_CALL _IOWR('f', 16, pm_scan)

#define HIGH_DESCRIPTOR 900 /* out of the way of programs that count theirs */
#define TEXT_BYTES      8192
#define WAITS_MOST      1000 /* of 0.1 ms, for a thread that is about to watch something */

/* The descriptors of this process; what a fork brought along is closed when they are opened anew. */
static struct {
    int faults, pages;
    _Atomic pid_t pid; /* of the process that opened them */
} kernel = { .faults = -1, .pages = -1 };

static char text[TEXT_BYTES]; /* under the busy flag */

static _Thread_local bool is_asking; /* this thread opens them just now */

/* ------------------------------------------------------------------------------------ who else may write there */

static bool is_foreign(const char *name)
{
    static const char *const names[] = { "io_uring",     "libcuda",         "libibverbs",      "librdmacm",
                                         "/dev/nvidia",  "/dev/kfd",        "/dev/infiniband", "libhsa-runtime",
                                         "libze_loader", "/dev/dri/render", "/dev/accel",      "/dev/vfio/",
                                         "/dev/dxg" };
    for (size_t i = 0; i < OPD_COUNT(names); i++) {
        if (strstr(name, names[i]) != NULL) {
            return true;
        }
    }
    return false;
}

typedef struct kernel_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
} kernel_entry;

/* Memory that a device or the kernel holds by its physical pages (buffers of io_uring, RDMA) is written past the page tables. */
static bool has_pinned_memory(void)
{
    int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    ssize_t got = file >= 0 ? read(file, text, sizeof(text) - 1) : -1;
    text[got > 0 ? got : 0] = '\0';
    if (file >= 0) {
        close(file);
    }
    const char *line = strstr(text, "\nVmPin:");
    return line == NULL || strtoull(line + sizeof("\nVmPin:") - 1, NULL, 10) != 0;
}

/* Is one of the open files a ring, a device or a userfaultfd that is not ours? */
static bool has_foreign_files(void)
{
    bool is_found = false;
    long got = 0;
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (folder >= 0 && !is_found && (got = syscall(SYS_getdents64, folder, text, sizeof(text))) > 0) {
        for (long at = 0; at < got && !is_found;) {
            char target[128];
            const kernel_entry *entry = (const kernel_entry *)(const void *)(text + at);
            ssize_t length = readlinkat(folder, entry->name, target, sizeof(target) - 1);
            target[length > 0 ? length : 0] = '\0';
            bool is_own = strtol(entry->name, NULL, 10) == kernel.faults;
            is_found = is_foreign(target) || (!is_own && strstr(target, "userfaultfd") != NULL);
            at += entry->bytes;
        }
    }
    if (folder >= 0) {
        close(folder);
    }
    return folder < 0 || is_found;
}

/* What the list of mappings says of a range. */
typedef struct mapping {
    uint64_t start, end; /* wanted */
    uint64_t covered;    /* up to here it is private and anonymous */
    bool is_foreign;
} mapping;

static void read_line(mapping *at, const char *line)
{
    char *rest;
    uint64_t low = strtoull(line, &rest, 16);
    uint64_t high = *rest == '-' ? strtoull(rest + 1, &rest, 16) : 0;
    const char *fields = rest; /* " rw-p 00000000 00:00 0    name" */
    at->is_foreign |= is_foreign(fields);
    if (low > at->covered || high <= at->covered || strlen(fields) < 22) {
        return;
    }
    const char *device = strchr(fields + 6, ' ');
    const char *name = strpbrk(fields, "/[");
    bool is_anonymous = device != NULL && strncmp(device, " 00:00 0", 8) == 0 &&
                        (name == NULL || strcmp(name, "[heap]") == 0 || strncmp(name, "[anon:", 6) == 0);
    if (fields[4] == 'p' && is_anonymous) {
        at->covered = high;
    }
}

/* Goes through /proc/self/maps; false when it cannot be read. */
static bool read_mappings(mapping *at)
{
    int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    size_t used = 0;
    ssize_t got = 0;
    while (file >= 0 && (got = read(file, text + used, sizeof(text) - 1 - used)) > 0) {
        used += (size_t)got;
        text[used] = '\0';
        char *line = text;
        for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            read_line(at, line);
        }
        used = (size_t)(text + used - line);
        memmove(text, line, used);
        used = used < sizeof(text) - 1 ? used : 0; /* a line longer than all names we look for */
    }
    if (file >= 0) {
        close(file);
    }
    return file >= 0 && got == 0;
}

/* ------------------------------------------------------------------------------------------------- descriptors */

/* Out of the way, or none. */
static int move_up(int file)
{
    int high = file >= 0 ? fcntl(file, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR) : -1;
    if (file >= 0) {
        close(file);
    }
    return high;
}

/* Closes a descriptor that a fork brought along, unless the child has put something else there. */
static void close_inherited(int file, const char *name)
{
    char path[32];
    char target[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", file);
    ssize_t length = file >= 0 ? readlink(path, target, sizeof(target) - 1) : -1;
    target[length > 0 ? length : 0] = '\0';
    if (strstr(target, name) != NULL) {
        close(file);
    }
}

void opd_writes_disable(opd_writes *writes, const char *why)
{
    snprintf(writes->why_off, sizeof(writes->why_off), "%s", why);
    atomic_store(&writes->state, OPD_WRITES_OFF);
}

void opd_writes_reset(opd_writes *writes)
{
    for (uint32_t i = 0; i < OPD_WRITE_RANGES; i++) {
        if (atomic_load_explicit(&writes->ranges[i].generation, memory_order_relaxed) != 0) {
            atomic_store(&writes->ranges[i].generation, 0);
        }
    }
    atomic_store(&writes->state, OPD_WRITES_UNTRIED);
    atomic_store(&writes->busy, 0);
}

static const char *open_kernel(void)
{
    close_inherited(kernel.faults, "userfaultfd");
    close_inherited(kernel.pages, "pagemap");
    kernel.faults = -1;
    kernel.pages = -1;
    mapping none = { .end = 0 };
    if (!read_mappings(&none) || none.is_foreign || has_foreign_files() || has_pinned_memory()) {
        return "io_uring, RDMA, a GPU, pinned memory or another userfaultfd is there";
    }
    is_asking = true;
    int faults = move_up((int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | USER_MODE_ONLY));
    is_asking = false;
    int pages = faults >= 0 ? move_up(open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) : -1;
    struct uffdio_api api = { .api = UFFD_API, .features = WP_UNPOPULATED | WP_ASYNC };
    if (pages < 0 || ioctl(faults, UFFDIO_API, &api) != 0 || (api.features & WP_ASYNC) == 0) {
        close(faults);
        close(pages);
        return "the kernel does not tell of writes (it is before 6.7, or forbids it)";
    }
    kernel.faults = faults;
    kernel.pages = pages;
    atomic_store(&kernel.pid, getpid());
    return NULL;
}

/* Makes sure that the kernel can be asked. Under the busy flag. */
static bool is_ready(opd_writes *writes)
{
    if (atomic_load(&writes->state) == OPD_WRITES_UNTRIED) {
        const char *why = open_kernel();
        if (why != NULL) {
            opd_writes_disable(writes, why);
        } else {
            atomic_store(&writes->state, OPD_WRITES_ON);
        }
    }
    return atomic_load(&writes->state) == OPD_WRITES_ON;
}

/* ------------------------------------------------------------------------------------------------------ ranges */

static bool protect(uint64_t start, uint64_t end)
{
    struct uffdio_register range = { .range = { start, end - start }, .mode = UFFDIO_REGISTER_MODE_WP };
    struct uffdio_writeprotect on = { .range = { start, end - start }, .mode = UFFDIO_WRITEPROTECT_MODE_WP };
    return ioctl(kernel.faults, UFFDIO_REGISTER, &range) == 0 && ioctl(kernel.faults, UFFDIO_WRITEPROTECT, &on) == 0;
}

/* A positive proof: every page is there and protected as it was left. */
static bool is_untouched(uint64_t start, uint64_t end)
{
    pm_region found[2];
    pm_scan scan = { .size = sizeof(scan),
                     .flags = SCAN_CHECK_ASYNC,
                     .start = start,
                     .end = end,
                     .vec = (uint64_t)(uintptr_t)found,
                     .vec_len = OPD_COUNT(found),
                     .inverted = PAGE_WRITTEN,
                     .mask = PAGE_WRITTEN | PAGE_WPALLOWED,
                     .any_of = PAGE_PRESENT | PAGE_SWAPPED,
                     .returned = PAGE_WPALLOWED };
    return ioctl(kernel.pages, PAGEMAP_SCAN_CALL, &scan) == 1 && found[0].start == start && found[0].end == end;
}

/* Under the busy flag. */
static void end_range(opd_write_range *range)
{
    struct uffdio_range whole = { range->start, range->end - range->start };
    atomic_store(&range->generation, 0);
    pm_scan scan = { .size = sizeof(scan),
                     .flags = SCAN_CHECK_ASYNC,
                     .start = range->start,
                     .end = range->end,
                     .mask = PAGE_WRITTEN,
                     .returned = PAGE_WRITTEN };
    if (ioctl(kernel.pages, PAGEMAP_SCAN_CALL, &scan) >= 0) { /* else it is not ours any more */
        ioctl(kernel.faults, UFFDIO_UNREGISTER, &whole);
    }
}

/* Under the busy flag. The descriptor goes as well, and with it the watch over parts of a range that was cut up. */
static void end_all(opd_writes *writes)
{
    for (uint32_t i = 0; i < OPD_WRITE_RANGES; i++) {
        if (atomic_load(&writes->ranges[i].generation) != 0) {
            end_range(&writes->ranges[i]);
        }
    }
    close_inherited(kernel.faults, "userfaultfd");
    kernel.faults = -1;
}

/*
 * Index of the range to use: the same one, if it is watched already and unwritten, else a free one. OPD_WRITE_RANGES: there is none, or one that
 * overlaps stands in the way.
 */
static uint32_t find_range(opd_writes *writes, uint64_t start, uint64_t end)
{
    uint32_t found = OPD_WRITE_RANGES;
    for (uint32_t i = 0; i < OPD_WRITE_RANGES; i++) {
        bool is_free = atomic_load(&writes->ranges[i].generation) == 0;
        uint64_t low = atomic_load_explicit(&writes->ranges[i].start, memory_order_relaxed);
        uint64_t high = atomic_load_explicit(&writes->ranges[i].end, memory_order_relaxed);
        if (is_free) {
            found = found == OPD_WRITE_RANGES ? i : found;
        } else if (low == start && high == end) {
            if (!is_untouched(start, end)) {
                end_range(&writes->ranges[i]);
            }
            return i;
        } else if (start < high && low < end) {
            return OPD_WRITE_RANGES;
        }
    }
    return found;
}

static bool watch(opd_watch *out, opd_writes *writes, uint64_t start, uint64_t end)
{
    mapping map = { .start = start, .end = end, .covered = start };
    if (!is_ready(writes)) {
        return false;
    }
    uint32_t index = find_range(writes, start, end);
    if (index == OPD_WRITE_RANGES) {
        return false;
    }
    opd_write_range *range = &writes->ranges[index];
    if (atomic_load(&range->generation) == 0) {
        if (!read_mappings(&map) || map.covered < end) {
            return false;
        }
        if (map.is_foreign || has_foreign_files() || has_pinned_memory()) {
            opd_writes_disable(writes, "io_uring, RDMA, a GPU, pinned memory or another userfaultfd came later");
            end_all(writes);
            return false;
        }
        range->start = start;
        range->end = end;
        if (!protect(start, end)) {
            return false;
        }
        atomic_store(&range->generation, ++writes->generations);
    }
    out->range = (uint64_t)index + 1;
    out->generation = atomic_load(&range->generation);
    return true;
}

static bool enter(opd_writes *writes)
{
    uint32_t none = 0;
    return opd_here_is_quiet == 0 && atomic_load_explicit(&writes->state, memory_order_relaxed) != OPD_WRITES_OFF &&
           atomic_compare_exchange_strong(&writes->busy, &none, 1);
}

bool opd_writes_watch(opd_watch *out, opd_writes *writes, uint64_t start, uint64_t end)
{
    sigset_t signals;
    int saved = errno;
    if (!enter(writes)) {
        return false;
    }
    opd_here_hold_signals(&signals); /* no handler jumps out while it is busy */
    bool is_watched = watch(out, writes, start, end);
    atomic_store_explicit(&writes->busy, 0, memory_order_release);
    opd_here_release_signals(&signals);
    errno = saved;
    return is_watched;
}

bool opd_writes_none(opd_writes *writes, const opd_watch *watched)
{
    if (watched->range == 0 || watched->range > OPD_WRITE_RANGES || opd_here_is_quiet != 0 ||
        atomic_load_explicit(&writes->state, memory_order_acquire) != OPD_WRITES_ON) {
        return false;
    }
    int saved = errno;
    opd_write_range *range = &writes->ranges[watched->range - 1];
    bool is_none = atomic_load(&range->generation) == watched->generation && is_untouched(range->start, range->end) &&
                   atomic_load(&range->generation) == watched->generation;
    errno = saved;
    return is_none;
}

void opd_writes_drop(opd_writes *writes, const opd_watch *watched)
{
    sigset_t signals;
    int saved = errno;
    if (watched->range == 0 || watched->range > OPD_WRITE_RANGES || !enter(writes)) {
        return; /* it stays watched, for who looks at the same memory next */
    }
    opd_here_hold_signals(&signals);
    opd_write_range *range = &writes->ranges[watched->range - 1];
    if (atomic_load(&range->generation) == watched->generation) {
        end_range(range);
    }
    atomic_store_explicit(&writes->busy, 0, memory_order_release);
    opd_here_release_signals(&signals);
    errno = saved;
}

/* Waits for a thread that is in the middle of it. false: it takes too long, or is one that a fork left behind. */
static bool enter_in_turn(opd_writes *writes)
{
    const struct timespec pause = { .tv_nsec = 100000 };
    for (int i = 0; i < WAITS_MOST; i++) {
        uint32_t none = 0;
        if (atomic_compare_exchange_strong(&writes->busy, &none, 1)) {
            return true;
        }
        nanosleep(&pause, NULL);
    }
    return false;
}

/* Was what is open opened by the process that this one was forked from? Its descriptors are of that one's memory. */
static bool is_child(void)
{
    pid_t pid = atomic_load(&kernel.pid);
    return pid != 0 && pid != getpid();
}

bool opd_writes_give_way(opd_writes *writes, const char *why)
{
    sigset_t signals;
    int saved = errno;
    if (is_asking || opd_here_is_quiet != 0 || is_child()) {
        return false;
    }
    opd_here_hold_signals(&signals);
    if (enter_in_turn(writes)) { /* who began before has ended, who comes sees that it is off */
        if (atomic_load(&writes->state) != OPD_WRITES_OFF) {
            opd_writes_disable(writes, why);
        }
        end_all(writes);
        atomic_store_explicit(&writes->busy, 0, memory_order_release);
    }
    opd_here_release_signals(&signals);
    errno = saved;
    return true;
}
