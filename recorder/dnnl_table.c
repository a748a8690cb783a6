/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Living primitives by their handles, without a lock: a handle has a window of places, found by its hash; what is in none of them is prepared
 * anew at each execution. An entry is written by the thread that made the primitive, before anybody else can have its handle.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <opsdebug/memory.h>

#include "dnnl_primitives.h"

#define PRIMITIVES 2048u /* untouched pages cost nothing */
#define WINDOW     16u
#define FILLING    UINT64_C(1)
#define SUMS       64u

/* Mapped with the first primitive: a program without any may have little address space. NULL = none, or no room. */
static _Atomic(opd_dnnl_primitive *) primitives;

static bool make_table(void)
{
    const size_t bytes = PRIMITIVES * sizeof(opd_dnnl_primitive);
    opd_dnnl_primitive *none = NULL;
    if (atomic_load_explicit(&primitives, memory_order_acquire) != NULL) {
        return true;
    }
    int saved = errno;
    void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    bool is_made = made != MAP_FAILED;
    if (is_made && !atomic_compare_exchange_strong(&primitives, &none, (opd_dnnl_primitive *)made)) {
        munmap(made, bytes); /* another thread was first */
    }
    errno = saved;
    return is_made;
}

static uint32_t place_of(uint64_t handle)
{
    return (uint32_t)(handle * UINT64_C(0x9e3779b97f4a7c15) >> 40);
}

static opd_dnnl_primitive *at(opd_dnnl_primitive *table, uint64_t handle, uint32_t step)
{
    return &table[(place_of(handle) + step) % PRIMITIVES];
}

void opd_dnnl_forget(const_dnnl_primitive_t primitive)
{
    uint64_t handle = (uint64_t)(uintptr_t)primitive;
    opd_dnnl_primitive *table = atomic_load_explicit(&primitives, memory_order_acquire);
    for (uint32_t i = 0; table != NULL && i < WINDOW; i++) {
        opd_dnnl_primitive *place = at(table, handle, i);
        uint64_t seen = atomic_load_explicit(&place->handle, memory_order_relaxed);
        if (seen == handle) { /* pages that nobody filled stay untouched */
            atomic_compare_exchange_strong(&place->handle, &seen, 0);
        }
    }
}

void opd_dnnl_note(const opd_dnnl_library *library, const_dnnl_primitive_t primitive, const_dnnl_primitive_desc_t desc)
{
    uint64_t handle = (uint64_t)(uintptr_t)primitive;
    if (!make_table()) {
        return; /* it is prepared anew at each execution */
    }
    opd_dnnl_forget(primitive); /* of one whose end was not seen */
    opd_dnnl_primitive *table = atomic_load_explicit(&primitives, memory_order_acquire);
    for (uint32_t i = 0; i < WINDOW; i++) {
        uint64_t none = 0;
        opd_dnnl_primitive *place = at(table, handle, i);
        if (atomic_compare_exchange_strong(&place->handle, &none, FILLING)) {
            opd_dnnl_prepare(place, library, desc, NULL, 0);
            opd_dnnl_pin(place, primitive);
            atomic_store_explicit(&place->handle, handle, memory_order_release);
            return;
        }
    }
}

const opd_dnnl_primitive *opd_dnnl_find(const_dnnl_primitive_t primitive)
{
    uint64_t handle = (uint64_t)(uintptr_t)primitive;
    opd_dnnl_primitive *table = atomic_load_explicit(&primitives, memory_order_acquire);
    for (uint32_t i = 0; table != NULL && i < WINDOW; i++) {
        const opd_dnnl_primitive *place = at(table, handle, i);
        if (atomic_load_explicit(&place->handle, memory_order_acquire) == handle) {
            return place;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------------------------------------ scales of sums */

static struct sum {
    _Atomic uint64_t desc; /* 0 = free, FILLING */
    float scales[OPD_DNNL_SOURCES];
} sums[SUMS];

void opd_dnnl_forget_scales(const_dnnl_primitive_desc_t desc)
{
    for (uint32_t i = 0; i < SUMS; i++) {
        uint64_t seen = atomic_load_explicit(&sums[i].desc, memory_order_relaxed);
        if (seen == (uint64_t)(uintptr_t)desc) {
            atomic_compare_exchange_strong(&sums[i].desc, &seen, 0);
        }
    }
}

void opd_dnnl_note_scales(const_dnnl_primitive_desc_t desc, const float *scales, int count)
{
    opd_dnnl_forget_scales(desc);
    for (uint32_t i = 0; i < SUMS && count >= 0 && count <= OPD_DNNL_SOURCES; i++) {
        uint64_t none = 0;
        if (atomic_compare_exchange_strong(&sums[i].desc, &none, FILLING)) {
            memcpy(sums[i].scales, scales, (size_t)count * sizeof(scales[0]));
            atomic_store(&sums[i].desc, (uint64_t)(uintptr_t)desc);
            return;
        }
    }
}

bool opd_dnnl_scales_of(float scales[OPD_DNNL_SOURCES], const_dnnl_primitive_desc_t desc)
{
    for (uint32_t i = 0; i < SUMS; i++) {
        if (atomic_load(&sums[i].desc) == (uint64_t)(uintptr_t)desc) {
            memcpy(scales, sums[i].scales, sizeof(sums[i].scales));
            return true;
        }
    }
    return false;
}

void opd_dnnl_copy_scales(const_dnnl_primitive_desc_t to, const_dnnl_primitive_desc_t from)
{
    float scales[OPD_DNNL_SOURCES];
    if (opd_dnnl_scales_of(scales, from)) {
        opd_dnnl_note_scales(to, scales, OPD_DNNL_SOURCES);
    }
}
