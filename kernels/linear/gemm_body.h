/* SPDX-License-Identifier: Apache-2.0 */
/* The product for float and double with VECTOR_BYTES and RUN_GEMM, the name of its entry. Included once by each instruction set's file. */
#include <string.h>

#include "gemm.h"
#include "narrow.h"
#include "workers.h"

#define JOIN_2(a, b) a##_##b
#define JOIN(a, b)   JOIN_2(a, b)

#define REAL_IS_DOUBLE 0
#define NAME(id)       JOIN(id, f32)
#include "gemm_template.h"

#define REAL_IS_DOUBLE 1
#define NAME(id)       JOIN(id, f64)
#include "gemm_template.h"

static void do_part(const void *job_at, void *scratch, int64_t part)
{
    const opd_gemm_job *job = job_at;
    (job->gemm.y_dtype == OPD_F64 ? do_part_f64 : do_part_f32)(job, scratch, part);
}

void RUN_GEMM(const opd_gemm_job *job, const opd_workspace *workspace)
{
    int64_t parts = job->gemm.y_dtype == OPD_F64 ? part_count_f64(job) : part_count_f32(job);
    opd_run_parts(workspace, OPD_GEMM_SCRATCH, parts, do_part, job);
}
