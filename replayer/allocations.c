/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts allocations of the worker while a variant runs: its own malloc and kin stand in front of glibc's, which they call by their
 * internal names. Left out under sanitizers, which bring their own.
 */
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <opsdebug/memory.h>

#include "scratch.h"

static _Atomic bool is_counting;
static _Atomic uint64_t counted;

void opd_allocations_begin(void)
{
    atomic_store(&counted, 0);
    atomic_store(&is_counting, true);
}

uint64_t opd_allocations_end(void)
{
    atomic_store(&is_counting, false);
    return atomic_load(&counted);
}

void opd_allocations_probe(void)
{
    static const size_t sizes[] = { 24, 1000, 20000, 100000 };
    void *blocks[OPD_COUNT(sizes)];
    for (size_t i = 0; i < OPD_COUNT(sizes); i++) {
        if (opd_alloc(&blocks[i], sizes[i]) != OPD_OK) {
            blocks[i] = NULL;
        }
    }
    for (size_t i = 0; i < OPD_COUNT(sizes); i++) {
        opd_free(blocks[i]);
    }
    malloc_trim(0);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

void *__libc_malloc(size_t size);                     /* NOLINT: glibc's names */
void *__libc_calloc(size_t count, size_t size);       /* NOLINT */
void *__libc_realloc(void *block, size_t size);       /* NOLINT */
void *__libc_memalign(size_t alignment, size_t size); /* NOLINT */

static void count(void)
{
    if (atomic_load_explicit(&is_counting, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&counted, 1, memory_order_relaxed);
    }
}

OPD_PUBLIC void *malloc(size_t size)
{
    count();
    return __libc_malloc(size);
}

/* Parameters are named as in glibc's headers. */
OPD_PUBLIC void *calloc(size_t nmemb, size_t size)
{
    count();
    return __libc_calloc(nmemb, size);
}

OPD_PUBLIC void *realloc(void *ptr, size_t size)
{
    count();
    return __libc_realloc(ptr, size);
}

OPD_PUBLIC void *aligned_alloc(size_t alignment, size_t size)
{
    count();
    return __libc_memalign(alignment, size);
}

OPD_PUBLIC void *memalign(size_t alignment, size_t size)
{
    count();
    return __libc_memalign(alignment, size);
}

OPD_PUBLIC int posix_memalign(void **memptr, size_t alignment, size_t size)
{
    count();
    void *block = __libc_memalign(alignment, size);
    if (block == NULL) {
        return ENOMEM;
    }
    *memptr = block;
    return 0;
}

#endif
