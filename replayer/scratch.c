/* SPDX-License-Identifier: Apache-2.0 */
/* Workspace of a variant: mapped, filled with canaries, searched for writes around it. */
#include <string.h>
#include <sys/mman.h>

#include "canary.h"
#include "scratch.h"

#define ZONE_BYTES  ((size_t)4 << 20)
#define SLACK_BYTES ((size_t)4 << 10) /* without guards: canaries on either side */
#define ALIGNMENT   ((size_t)64)
#define LIMIT       ((size_t)1 << 40)

static size_t page_up(size_t value)
{
    return (value + OPD_JOB_PAGE - 1) & ~(size_t)(OPD_JOB_PAGE - 1);
}

opd_status opd_scratch_map(opd_scratch *out, opd_job *job, size_t size, opd_guard pass)
{
    /* Scratch of the narrow types is f32. */
    opd_scratch scratch = { .size = size, .dtype = job->call.dtype == OPD_F64 ? OPD_F64 : OPD_F32 };
    size_t slack = pass == OPD_GUARD_NONE ? SLACK_BYTES : 0;
    if (size > LIMIT) {
        return opd_fail(OPD_E_LIMIT, "the variant wants a workspace of %zu bytes", size);
    }
    size_t open_bytes = page_up(size + ALIGNMENT) + 2 * slack;
    scratch.reserve_bytes = open_bytes + 2 * ZONE_BYTES;
    void *reserve = mmap(NULL, scratch.reserve_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (reserve == MAP_FAILED) {
        return opd_fail(OPD_E_NOMEM, "cannot reserve a workspace of %zu bytes", size);
    }
    scratch.reserve = reserve;
    scratch.map_low = scratch.reserve + ZONE_BYTES;
    scratch.map_high = scratch.map_low + open_bytes;
    if (mprotect(scratch.map_low, open_bytes, PROT_READ | PROT_WRITE) != 0) {
        munmap(reserve, scratch.reserve_bytes);
        return opd_fail(OPD_E_NOMEM, "cannot map a workspace of %zu bytes", size);
    }
    /* At the end its last byte is as near to the zone as alignment lets it; canaries fill the rest. */
    scratch.low = pass == OPD_GUARD_END ? scratch.map_high - ((size + ALIGNMENT - 1) & ~(ALIGNMENT - 1))
                                        : scratch.map_low + slack;
    job->regions[OPD_JOB_WORKSPACE] = (opd_job_region){
        .low = (uint64_t)(uintptr_t)scratch.low,
        .high = (uint64_t)(uintptr_t)(scratch.low + size),
        .map_low = (uint64_t)(uintptr_t)scratch.map_low,
        .map_high = (uint64_t)(uintptr_t)scratch.map_high,
        .reserve_low = (uint64_t)(uintptr_t)reserve,
        .reserve_high = (uint64_t)(uintptr_t)reserve + scratch.reserve_bytes,
    };
    *out = scratch;
    return OPD_OK;
}

/* The canary depends on the place alone, so that it can be told again. */
static void fill(uint8_t *to, const opd_scratch *scratch)
{
    opd_canary_fill(to, to + (scratch->map_high - scratch->map_low), (uintptr_t)to, scratch->dtype,
                    OPD_CANARY_WORKSPACE, false);
}

void opd_scratch_fill(const opd_scratch *scratch)
{
    if (scratch->reserve != NULL) {
        fill(scratch->map_low, scratch);
    }
}

void opd_scratch_check(opd_job_stray *stray, const opd_scratch *scratch)
{
    void *expected = NULL;
    size_t bytes = (size_t)(scratch->map_high - scratch->map_low);
    if (scratch->reserve == NULL || stray->is_found) {
        return;
    }
    expected = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (expected == MAP_FAILED) {
        return;
    }
    fill(expected, scratch);
    size_t begin = (size_t)(scratch->low - scratch->map_low);
    for (size_t i = 0; i < bytes; i++) {
        if (i == begin) {
            i += scratch->size;
            if (i >= bytes) {
                break;
            }
        }
        if (scratch->map_low[i] != ((const uint8_t *)expected)[i]) {
            if (!stray->is_found) {
                stray->operand = OPD_JOB_WORKSPACE;
                stray->distance = i < begin ? (int64_t)i - (int64_t)begin : (int64_t)(i - begin - scratch->size);
                stray->is_found = true;
            }
            stray->bytes++;
        }
    }
    munmap(expected, bytes);
}

void opd_scratch_done(opd_scratch *scratch)
{
    if (scratch->reserve != NULL) {
        munmap(scratch->reserve, scratch->reserve_bytes);
    }
    *scratch = (opd_scratch){ .reserve = NULL };
}
