/* SPDX-License-Identifier: Apache-2.0 */
/* Each worker takes one piece of scratch and then parts until none is left. */
#include "workers.h"

#include <stdatomic.h>

struct work {
    void (*do_part)(const void *context, void *scratch, int64_t part);
    const void *context;
    char *scratch;
    size_t bytes;
    int64_t parts;
    atomic_int_fast64_t next;
};

static void work_on(void *at, int64_t worker)
{
    struct work *work = at;
    int64_t part = 0;
    while ((part = atomic_fetch_add(&work->next, 1)) < work->parts) {
        work->do_part(work->context, work->scratch + (size_t)worker * work->bytes, part);
    }
}

void opd_run_parts(const opd_workspace *workspace, size_t bytes, int64_t parts,
                   void (*do_part)(const void *context, void *scratch, int64_t part), const void *context)
{
    struct work work = {
        .do_part = do_part, .context = context, .scratch = workspace->bytes, .bytes = bytes, .parts = parts
    };
    atomic_init(&work.next, 0);
    int64_t workers = workspace->threads < parts ? workspace->threads : parts;
    opd_parallel(workspace->threads, workers, work_on, &work);
}
