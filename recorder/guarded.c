/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what may not be mapped, on the caller's thread: a fault met here leaves the scan by a jump. The routine meets it next, where the program
 * expects it.
 */
#include "guarded.h"

#include <errno.h>
#include <sys/mman.h>

#include "crash.h"
#include "here.h"

/* Memory from the first to the last element. */
static void bounds_of(uint64_t *low, uint64_t *high, const opd_tensor *view)
{
    int64_t first;
    int64_t last;
    opd_tensor_span(view, &first, &last);
    *low = (uint64_t)(uintptr_t)view->data + (uint64_t)first;
    *high = (uint64_t)(uintptr_t)view->data + (uint64_t)last;
}

/*
 * Can it be read? Asked where the program handles faults itself: its handler is to see those of the routine, none of ours.
 * Reads every page as the routine will.
 */
static bool is_present(const opd_tensor *view)
{
    uint64_t low;
    uint64_t high;
    int saved = errno;
    bounds_of(&low, &high, view);
    low &= ~UINT64_C(4095);
    bool is_there = madvise((void *)(uintptr_t)low, high - low, MADV_POPULATE_READ) == 0 ||
                    errno == EINVAL; /* a kernel before 5.14 does not know */
    errno = saved;
    return is_there;
}

/* What to read: a scan, or a sample of it (is_part). */
typedef struct reading {
    const opd_tensor *view;
    void *copy;
    opd_digest *digest;
    opd_health *health;
    uint64_t seed;
    bool *is_part; /* NULL: all of it */
} reading;

static __attribute__((noinline)) bool read_guarded(const reading *wanted)
{
    opd_escape escape;
    const uint32_t mode = opd_here_floating();
    if (opd_crash_guards == 0 && !is_present(wanted->view)) {
        return false;
    }
    bounds_of(&escape.low, &escape.high, wanted->view);
    bool is_mapped = sigsetjmp(escape.jump, 0) == 0;
    if (is_mapped) {
        opd_thread.escape = &escape;
        atomic_signal_fence(memory_order_seq_cst);
        if (wanted->is_part != NULL) {
            *wanted->is_part = opd_tensor_sample(wanted->health, wanted->view, wanted->seed);
        } else {
            opd_tensor_scan(wanted->view, wanted->copy, wanted->digest, wanted->health);
        }
    } else {
        opd_here_set_floating(mode);
    }
    atomic_signal_fence(memory_order_seq_cst);
    opd_thread.escape = NULL;
    return is_mapped;
}

bool opd_guarded_scan(const opd_tensor *view, void *copy, opd_digest *digest, opd_health *health)
{
    return read_guarded(&(reading){ .view = view, .copy = copy, .digest = digest, .health = health });
}

bool opd_guarded_sample(const opd_tensor *view, uint64_t seed, bool *is_part, opd_health *health)
{
    return read_guarded(&(reading){ .view = view, .health = health, .seed = seed, .is_part = is_part });
}
