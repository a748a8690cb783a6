/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows for float and double with VECTOR_BYTES and RUN_WINDOW, the name of its entry. Included once by each instruction set's file. */
#include <math.h>
#include <string.h>

#include "narrow.h"
#include "window_engine.h"
#include "workers.h"

enum { OPD_WINDOW_ROWS = 16 }; /* output rows of a part */

#define JOIN_2(a, b) a##_##b
#define JOIN(a, b)   JOIN_2(a, b)

#define REAL_IS_DOUBLE 0
#define NAME(id)       JOIN(id, f32)
#include "window_template.h"

#define REAL_IS_DOUBLE 1
#define NAME(id)       JOIN(id, f64)
#include "window_template.h"

static void do_part(const void *job_at, void *scratch, int64_t part)
{
    const opd_window_job *job = job_at;
    (job->dtype == OPD_F64 ? do_part_f64 : do_part_f32)(job, scratch, part);
}

void RUN_WINDOW(const opd_window_job *job, const opd_workspace *workspace)
{
    int64_t parts = job->planes;
    if (job->kind != OPD_WINDOW_PLANE_MEAN && job->planes > 0) {
        int64_t width = job->window.output[job->window.rank - 1];
        int64_t rows = width > 0 ? job->window.output_count / width : 0;
        parts *= (rows + OPD_WINDOW_ROWS - 1) / OPD_WINDOW_ROWS;
    }
    opd_run_parts(workspace, opd_window_scratch(&job->window), parts, do_part, job);
}
