/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention for float and double with VECTOR_BYTES, and RUN_ATTENTION and RUN_SOFTMAX, the names of its entries. Included once by each
 * instruction set's file.
 */
#include <math.h>
#include <string.h>

#include "../elementwise/elementwise_math.h"
#include "attention_engine.h"
#include "narrow.h"
#include "workers.h"

#define JOIN_2(a, b) a##_##b
#define JOIN(a, b)   JOIN_2(a, b)

#define REAL_IS_DOUBLE 0
#define NAME(id)       JOIN(id, f32)
#include "attention_template.h"

#define REAL_IS_DOUBLE 1
#define NAME(id)       JOIN(id, f64)
#include "attention_template.h"

static void do_queries(const void *job_at, void *scratch, int64_t part)
{
    const opd_attention_job *job = job_at;
    if (job->dtype == OPD_F64) {
        do_queries_f64(job, scratch, part);
    } else {
        do_queries_f32(job, scratch, part);
    }
}

void RUN_ATTENTION(const opd_attention_job *job, const opd_workspace *workspace)
{
    const opd_attention_shape *shape = &job->shape;
    int64_t parts = (shape->rows + OPD_ATTENTION_QUERIES - 1) / OPD_ATTENTION_QUERIES;
    opd_run_parts(workspace, opd_attention_scratch(shape), shape->batch * shape->heads * parts, do_queries, job);
}

static void do_softmax(const void *job_at, void *scratch, int64_t part)
{
    const opd_attention_job *job = job_at;
    (void)scratch;
    (job->dtype == OPD_F64 ? do_softmax_f64 : do_softmax_f32)(job, part);
}

void RUN_SOFTMAX(const opd_attention_job *job, const opd_workspace *workspace)
{
    const opd_attention_shape *shape = &job->shape;
    opd_run_parts(workspace, 0, shape->batch * shape->heads * shape->rows, do_softmax, job);
}
