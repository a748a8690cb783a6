/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights that stay as they are for a while and then change in one byte, in every way there is: change_victim [WAY], all of them without. A recorder that
 * remembers them must notice. Prints what it computed.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

void cblas_sgemv(int order, int trans, int m, int n, float alpha, const float *a, int lda, const float *x, int incx,
                 float beta, float *y, int incy);

enum { ROW_MAJOR = 101, NO_TRANS = 111, ROWS = 512, COLUMNS = 512, UNCHANGED = 12, ROUNDS = 3 };
#define BYTES     ((size_t)ROWS * COLUMNS * sizeof(float))
#define HUGE_PAGE ((size_t)2 << 20)
#define PLACE     BYTES / 2 /* of the byte that changes: of the lowest mantissa byte of an element */

static float x[COLUMNS], y[ROWS];
static uint8_t *weights, *twin;

static void multiply(int times)
{
    for (int i = 0; i < times; i++) {
        cblas_sgemv(ROW_MAJOR, NO_TRANS, ROWS, COLUMNS, 1, (const float *)(const void *)weights, COLUMNS, x, 1, 0, y,
                    1);
    }
}

static uint8_t *map(size_t bytes, int flags, int file)
{
    void *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, file, 0);
    return start != MAP_FAILED ? start : NULL;
}

static void fill(uint8_t *bytes)
{
    float *elements = (float *)(void *)bytes;
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        elements[i] = (float)(i % 97) / 64;
    }
}

/* ----------------------------------------------------------------------------------- the ways, each for one round */

static void by_store(void)
{
    weights[PLACE]++;
}

static void by_memcpy(void)
{
    uint8_t byte = (uint8_t)(weights[PLACE] + 1);
    memcpy(weights + PLACE, &byte, 1);
}

static void by_read(void)
{
    int ends[2];
    uint8_t byte = (uint8_t)(weights[PLACE] + 1);
    if (pipe(ends) != 0 || write(ends[1], &byte, 1) != 1 || read(ends[0], weights + PLACE, 1) != 1) {
        abort();
    }
    close(ends[0]);
    close(ends[1]);
}

static void by_process_writev(void)
{
    uint8_t byte = (uint8_t)(weights[PLACE] + 1);
    struct iovec from = { &byte, 1 };
    struct iovec to = { weights + PLACE, 1 };
    if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) != 1) {
        abort();
    }
}

static void by_proc_mem(void)
{
    uint8_t byte = (uint8_t)(weights[PLACE] + 1);
    int file = open("/proc/self/mem", O_RDWR);
    if (file < 0 || pwrite(file, &byte, 1, (off_t)(uintptr_t)(weights + PLACE)) != 1) {
        abort();
    }
    close(file);
}

static void *store_in_thread(void *unused)
{
    by_store();
    return unused;
}

static void by_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, store_in_thread, NULL);
    pthread_join(thread, NULL);
}

/* A child that shares the memory. */
static void by_vfork(void)
{
    volatile uint8_t *byte = weights + PLACE;
    int child = vfork();
    if (child == 0) {
        (*byte)++;
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* The child changes its own; the parent's stays, then changes as well. Both call. */
static void by_fork(void)
{
    fflush(stdout);
    int child = fork();
    if (child == 0) {
        by_store();
        multiply(UNCHANGED);
        weights[PLACE] += 7;
        multiply(1);
        printf("child %g\n", (double)y[ROWS / 2]);
        exit(0);
    }
    waitpid(child, NULL, 0);
    multiply(1);
    by_store();
}

/* Other memory comes to the same place. */
static void by_remap(void)
{
    uint8_t *other = map(BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    memcpy(other, weights, BYTES);
    other[PLACE]++;
    if (mremap(other, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, weights) != weights) {
        abort();
    }
}

/* Away, changed there, and back. */
static void by_moving(void)
{
    uint8_t *other = map(BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (mremap(weights, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, other) != other) {
        abort();
    }
    other[PLACE]++;
    if (mremap(other, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, weights) != weights) {
        abort();
    }
}

static void by_new_mapping(void)
{
    uint8_t *copy = malloc(BYTES);
    memcpy(copy, weights, BYTES);
    munmap(weights, BYTES);
    if (mmap(weights, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != weights) {
        abort();
    }
    copy[PLACE]++;
    memcpy(weights, copy, BYTES);
    free(copy);
}

/* One page becomes zeros. */
static void by_dropping(void)
{
    madvise(weights + PLACE, 4096, MADV_DONTNEED);
}

static void by_dropping_all(void)
{
    madvise(weights, BYTES, MADV_DONTNEED);
}

static void by_page_mapping(void)
{
    uint8_t *page = weights + PLACE;
    if (mmap(page, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page) {
        abort();
    }
}

/* Through the second mapping of the same memory, or the file below it. */
static void by_twin(void)
{
    twin[PLACE]++;
}

/* At the first and the last byte, on pages shared with others. */
static void at_edges(void)
{
    weights[0]++;
    weights[BYTES - 4]++;
}

/* ------------------------------------------------------------------------------------- past the page tables */

#define RING_ENTRIES        4
#define RING_WITHOUT_MAP    (1u << 14) /* IORING_SETUP_NO_MMAP, not in the kernel headers of the time */
#define RING_WITHOUT_FILE   (1u << 15) /* IORING_SETUP_REGISTERED_FD_ONLY */
#define RING_REGISTERED     (1u << 31) /* IORING_REGISTER_USE_REGISTERED_RING */
#define RING_ENTER          (IORING_ENTER_GETEVENTS | 1u << 4)
#define RING_SUBMISSIONS_AT 8192

static uint8_t *ring_memory;
static struct io_uring_params ring;
static int ring_number = -1;

/* A ring that shows neither as a mapping nor as a descriptor, with the weights as its buffer; false: the kernel has none. */
static bool has_ring(void)
{
    struct iovec buffer = { weights, BYTES };
    if (ring_memory == NULL) {
        ring_memory = map(1 << 16, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1);
        ring.flags = RING_WITHOUT_MAP | RING_WITHOUT_FILE;
        ring.cq_off.resv2 = (uint64_t)(uintptr_t)ring_memory;
        ring.sq_off.resv2 = (uint64_t)(uintptr_t)(ring_memory + RING_SUBMISSIONS_AT);
        ring_number = (int)syscall(SYS_io_uring_setup, RING_ENTRIES, &ring);
        if (ring_number >= 0 &&
            syscall(SYS_io_uring_register, ring_number, IORING_REGISTER_BUFFERS | RING_REGISTERED, &buffer, 1) != 0) {
            ring_number = -1;
        }
    }
    return ring_number >= 0;
}

/* The kernel writes through the pages it has pinned. */
static void by_pinned_pages(void)
{
    int file = memfd_create("source", 0);
    uint8_t byte = (uint8_t)(weights[PLACE] + 1);
    if (!has_ring()) {
        weights[PLACE]++;
        return;
    }
    multiply(2 * UNCHANGED); /* watched anew, if it were */
    uint32_t *tail = (uint32_t *)(void *)(ring_memory + ring.sq_off.tail);
    uint32_t *order = (uint32_t *)(void *)(ring_memory + ring.sq_off.array);
    uint32_t place = *tail % RING_ENTRIES;
    struct io_uring_sqe read_byte = {
        .opcode = IORING_OP_READ_FIXED, .fd = file, .addr = (uint64_t)(uintptr_t)(weights + PLACE), .len = 1
    };
    memcpy(ring_memory + RING_SUBMISSIONS_AT + place * sizeof(read_byte), &read_byte, sizeof(read_byte));
    order[place] = place;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    if (pwrite(file, &byte, 1, 0) != 1 || syscall(SYS_io_uring_enter, ring_number, 1, 1, RING_ENTER, NULL, 0) != 1) {
        abort();
    }
    uint32_t *head = (uint32_t *)(void *)(ring_memory + ring.cq_off.head);
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    close(file);
}

/* --------------------------------------------------------------------------------------------- a userfaultfd of its own */

/* Registers the weights, of which one page is new, with a userfaultfd that it makes only now. */
static void by_userfaultfd(void)
{
    struct uffdio_api api = { .api = UFFD_API };
    struct uffdio_register whole = { .range = { (uint64_t)(uintptr_t)weights, BYTES },
                                     .mode = UFFDIO_REGISTER_MODE_MISSING };
    uint8_t byte = weights[PLACE];
    by_page_mapping();
    weights[PLACE] = byte;
    int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC | 1); /* of this program's own accesses only */
    bool has_any = faults >= 0 && ioctl(faults, UFFDIO_API, &api) == 0;
    bool is_registered = has_any && ioctl(faults, UFFDIO_REGISTER, &whole) == 0;
    printf("userfaultfd %s\n", !has_any ? "is not to be had" : is_registered ? "has the weights" : "is refused");
    by_store();
    close(faults);
}

/* ---------------------------------------------------------------------------------------------- where weights lie */

static void plain(void)
{
    weights = map(BYTES, MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

static void unaligned(void)
{
    weights = map(BYTES + 8192, MAP_PRIVATE | MAP_ANONYMOUS, -1) + 132;
}

static void on_huge_pages(void)
{
    uint8_t *start = map(2 * HUGE_PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    weights = start + (HUGE_PAGE - (uintptr_t)start % HUGE_PAGE);
    madvise(weights, HUGE_PAGE, MADV_HUGEPAGE);
}

static void on_heap(void)
{
    weights = malloc(BYTES);
}

static void shared(void)
{
    int file = memfd_create("weights", 0);
    if (ftruncate(file, (off_t)BYTES) != 0) {
        abort();
    }
    weights = map(BYTES, MAP_SHARED, file);
    twin = map(BYTES, MAP_SHARED, file);
}

/* A private mapping shows what is written to the file as long as its page is not its own. */
static void private_file(void)
{
    int file = memfd_create("weights", 0);
    if (ftruncate(file, (off_t)BYTES) != 0) {
        abort();
    }
    twin = map(BYTES, MAP_SHARED, file);
    fill(twin);
    weights = map(BYTES, MAP_PRIVATE, file);
}

static const struct {
    const char *name;
    void (*make)(void);
    void (*change)(void);
    bool is_apart; /* ends the watching for the whole process: only when it is asked for */
} ways[] = {
    { "store", plain, by_store, false },
    { "memcpy", plain, by_memcpy, false },
    { "read", plain, by_read, false },
    { "process_writev", plain, by_process_writev, false },
    { "proc_mem", plain, by_proc_mem, false },
    { "thread", plain, by_thread, false },
    { "vfork", plain, by_vfork, false },
    { "fork", plain, by_fork, false },
    { "remap", plain, by_remap, false },
    { "moving", plain, by_moving, false },
    { "new_mapping", plain, by_new_mapping, false },
    { "dropping", plain, by_dropping, false },
    { "dropping_all", plain, by_dropping_all, false },
    { "page_mapping", plain, by_page_mapping, false },
    { "edges", unaligned, at_edges, false },
    { "unaligned", unaligned, by_store, false },
    { "huge", on_huge_pages, by_store, false },
    { "huge_read", on_huge_pages, by_read, false },
    { "huge_dropping", on_huge_pages, by_dropping, false },
    { "huge_dropping_all", on_huge_pages, by_dropping_all, false },
    { "heap", on_heap, by_store, false },
    { "shared", shared, by_twin, false },
    { "private_file", private_file, by_twin, false },
    { "pinned", plain, by_pinned_pages, true },
    { "userfaultfd", plain, by_userfaultfd, true },
};

static void go(size_t way)
{
    ways[way].make();
    if (ways[way].make != private_file) {
        fill(weights);
    }
    multiply(UNCHANGED);
    for (int round = 0; round < ROUNDS; round++) {
        ways[way].change();
        multiply(UNCHANGED + 4 * round);
        printf("%s %d %g\n", ways[way].name, round, (double)y[ROWS / 2]);
    }
}

int main(int count, char **words)
{
    for (int i = 0; i < COLUMNS; i++) {
        x[i] = 1 + (float)i / 512;
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        if ((count == 1 && !ways[i].is_apart) || (count > 1 && strcmp(ways[i].name, words[1]) == 0)) {
            x[0] = (float)i; /* tells the ways apart */
            go(i);
        }
    }
    return 0;
}
