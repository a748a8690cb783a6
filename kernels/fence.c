/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A user's definition may miss the ends of its arrays. Between inaccessible pages that is a fault at the place, not damage to what another part of the
 * program keeps there. An array is whole pages only by chance: before the one whose end is at a page (after the one whose start is) lie NaN with a payload of
 * their own, which tell a write by being gone and a read by being in the results.
 */
#include "fence.h"

#include <string.h>
#include <sys/mman.h>

#include <opsdebug/memory.h>

#define PAGE       ((size_t)4096)
#define ZONE_BYTES ((size_t)16 << 20)
#define ELEMENT    sizeof(long double)

/* The payload's upper 24 bits, which a conversion to float leaves. */
#define CANARY_TOP UINT64_C(0xd0fe0c)
#define CANARY     (CANARY_TOP << 40)

typedef struct fenced {
    long double **place; /* the pointer that was changed */
    long double *heap;   /* its value before */
    int64_t count;
} fenced;

static _Thread_local opd_fence *wanted;
static _Thread_local bool is_at_start;
static _Thread_local fenced moved[OPD_FENCES];

void opd_definition_fence(opd_fence *fences, bool at_start)
{
    wanted = fences;
    is_at_start = at_start;
}

bool opd_fence_is_wanted(void)
{
    return wanted != NULL;
}

static long double canary(void)
{
    long double value = 0;
    const uint64_t mantissa = CANARY;
    const uint16_t exponent = 0x7fff;
    memcpy(&value, &mantissa, sizeof mantissa);
    memcpy((uint8_t *)&value + sizeof mantissa, &exponent, sizeof exponent);
    return value;
}

static bool is_canary(const long double *value)
{
    uint64_t mantissa = 0;
    uint16_t exponent = 0;
    memcpy(&mantissa, value, sizeof mantissa);
    memcpy(&exponent, (const uint8_t *)value + sizeof mantissa, sizeof exponent);
    return (exponent & 0x7fff) == 0x7fff && mantissa >> 40 == CANARY_TOP;
}

static size_t page_up(size_t bytes)
{
    return (bytes + PAGE - 1) & ~(PAGE - 1);
}

/* What lies between the array and its pages' other end. */
static long double *slack_of(const opd_fence *fence, size_t *count)
{
    size_t bytes = (size_t)(fence->high - fence->low);
    *count = (page_up(bytes) - bytes) / ELEMENT;
    uint64_t at = fence->reserve_low + ZONE_BYTES < fence->low ? fence->reserve_low + ZONE_BYTES : fence->high;
    return (long double *)(uintptr_t)at;
}

static opd_status move(int slot, long double **place, int64_t elements)
{
    size_t bytes = (size_t)elements * ELEMENT;
    size_t reserved = page_up(bytes) + 2 * ZONE_BYTES;
    if (*place == NULL) {
        return OPD_OK;
    }
    void *reserve = mmap(NULL, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserve == MAP_FAILED) {
        return opd_fail(OPD_E_NOMEM, "cannot reserve %zu bytes for an array", bytes);
    }
    uint8_t *open_low = (uint8_t *)reserve + ZONE_BYTES;
    if (bytes > 0 && mprotect(open_low, page_up(bytes), PROT_READ | PROT_WRITE) != 0) {
        munmap(reserve, reserved);
        return opd_fail(OPD_E_NOMEM, "cannot map %zu bytes for an array", bytes);
    }
    long double *low = (long double *)(void *)(is_at_start ? open_low : open_low + page_up(bytes) - bytes);
    wanted[slot] = (opd_fence){ .low = (uint64_t)(uintptr_t)low,
                                .high = (uint64_t)(uintptr_t)low + bytes,
                                .reserve_low = (uint64_t)(uintptr_t)reserve,
                                .reserve_high = (uint64_t)(uintptr_t)reserve + reserved };
    moved[slot] = (fenced){ .place = place, .heap = *place, .count = elements };
    memcpy(low, *place, bytes);
    size_t slack = 0;
    long double *at = slack_of(&wanted[slot], &slack);
    for (size_t i = 0; i < slack; i++) {
        at[i] = canary();
    }
    *place = low;
    return OPD_OK;
}

opd_status opd_fence_put_up(opd_array *arrays, int count)
{
    opd_status status = OPD_OK;
    for (int i = 0; i < OPD_FENCES; i++) {
        wanted[i] = (opd_fence){ .low = 0 };
        moved[i] = (fenced){ .place = NULL };
    }
    for (int i = 0; i < count && status == OPD_OK; i++) {
        status = move(i, &arrays[i].value, arrays[i].count);
        if (status == OPD_OK) {
            status = move(OPD_MAX_OPERANDS + i, &arrays[i].gauge, arrays[i].count);
        }
    }
    return status;
}

static const char *side(void)
{
    return is_at_start ? "past the end" : "before the start";
}

/* Of the array in a slot: is what lies beside it as it was, and none of it in a result? */
static opd_status check_slot(const opd_call *call, int slot, bool is_result)
{
    const char *name = call->operands[slot % OPD_MAX_OPERANDS].name;
    const char *what = slot < OPD_MAX_OPERANDS ? "" : "the gauge of ";
    size_t slack = 0;
    const long double *at = slack_of(&wanted[slot], &slack);
    for (size_t i = 0; i < slack; i++) {
        if (!is_canary(&at[i])) {
            return opd_fail(OPD_E_CHILD, "the definition of %s writes %s of %s%s", call->name, side(), what, name);
        }
    }
    const long double *own = (const long double *)(uintptr_t)wanted[slot].low;
    for (int64_t i = 0; is_result && i < moved[slot].count; i++) {
        if (is_canary(&own[i])) {
            return opd_fail(OPD_E_CHILD, "the definition of %s reads %s of an array: %s%s is made of it", call->name,
                            side(), what, name);
        }
    }
    return OPD_OK;
}

opd_status opd_fence_check(const opd_call *call)
{
    opd_status status = OPD_OK;
    for (int i = 0; i < OPD_FENCES && status == OPD_OK; i++) {
        bool is_result = (call->operands[i % OPD_MAX_OPERANDS].role & OPD_ROLE_OUT) != 0;
        if (moved[i].place != NULL) {
            status = check_slot(call, i, is_result);
        }
    }
    return status;
}

void opd_fence_take_down(void)
{
    for (int i = 0; i < OPD_FENCES; i++) {
        if (moved[i].place != NULL) {
            void *reserve = (void *)(uintptr_t)wanted[i].reserve_low;
            memcpy(moved[i].heap, (const void *)(uintptr_t)wanted[i].low, (size_t)moved[i].count * ELEMENT);
            *moved[i].place = moved[i].heap;
            munmap(reserve, (size_t)(wanted[i].reserve_high - wanted[i].reserve_low));
        }
        moved[i] = (fenced){ .place = NULL };
        wanted[i] = (opd_fence){ .low = 0 };
    }
}
