/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The allocation seam and overflow-checked arithmetic. The only file that calls malloc and its family.
 */
#include <opsdebug/memory.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

static long allocation_countdown = -1;

void opd_fail_allocation_after(long count)
{
    __atomic_store_n(&allocation_countdown, count, __ATOMIC_RELAXED);
}

bool opd_mul_size(size_t *out, size_t a, size_t b)
{
    size_t product;
    if (__builtin_mul_overflow(a, b, &product)) {
        return false;
    }
    *out = product;
    return true;
}

bool opd_add_size(size_t *out, size_t a, size_t b)
{
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum)) {
        return false;
    }
    *out = sum;
    return true;
}

bool opd_mul_i64(int64_t *out, int64_t a, int64_t b)
{
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product)) {
        return false;
    }
    *out = product;
    return true;
}

bool opd_add_i64(int64_t *out, int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) {
        return false;
    }
    *out = sum;
    return true;
}

opd_status opd_alloc(void **out, size_t size)
{
    void *block = NULL;
    /* Beyond PTRDIFF_MAX no object can exist; asking would only make sanitizers stop the program. */
    if (size <= PTRDIFF_MAX && !opd_fault_hits(&allocation_countdown)) {
        block = calloc(1, size > 0 ? size : 1);
    }
    if (block == NULL) {
        return opd_fail(OPD_E_NOMEM, "cannot allocate %zu bytes", size);
    }
    *out = block;
    return OPD_OK;
}

opd_status opd_alloc_array(void **out, size_t count, size_t size)
{
    size_t bytes;
    if (!opd_mul_size(&bytes, count, size)) {
        return opd_fail(OPD_E_NOMEM, "cannot allocate %zu elements of %zu bytes", count, size);
    }
    return opd_alloc(out, bytes);
}

opd_status opd_grow(void **block, size_t count, size_t size)
{
    size_t bytes;
    if (!opd_mul_size(&bytes, count, size)) {
        return opd_fail(OPD_E_NOMEM, "cannot allocate %zu elements of %zu bytes", count, size);
    }
    void *grown = NULL;
    if (bytes <= PTRDIFF_MAX && !opd_fault_hits(&allocation_countdown)) {
        grown = realloc(*block, bytes > 0 ? bytes : 1);
    }
    if (grown == NULL) {
        return opd_fail(OPD_E_NOMEM, "cannot allocate %zu bytes", bytes);
    }
    *block = grown;
    return OPD_OK;
}

void opd_free(void *block)
{
    free(block);
}

opd_status opd_strdup(char **out, const char *text)
{
    size_t size = strlen(text) + 1;
    void *copy = NULL;
    opd_status status = opd_alloc(&copy, size);
    if (copy == NULL) {
        return status;
    }
    memcpy(copy, text, size);
    *out = copy;
    return OPD_OK;
}
