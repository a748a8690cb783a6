/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoints: stages that variants report go to one receiver, one at a time; and the memory of those that are put together first. */
#include <pthread.h>

#include <opsdebug/kernel.h>
#include <opsdebug/memory.h>

#include "stage_memory.h"

OPD_PUBLIC _Bool opd_trace_enabled;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static opd_trace_sink *receiver;
static void *receiver_context;

void opd_trace_to(opd_trace_sink *sink, void *context)
{
    pthread_mutex_lock(&lock);
    receiver = sink;
    receiver_context = context;
    opd_trace_enabled = sink != NULL;
    pthread_mutex_unlock(&lock);
}

OPD_PUBLIC void opd_trace_emit(const char *stage, const opd_tensor *view)
{
    pthread_mutex_lock(&lock);
    if (receiver != NULL) {
        receiver(receiver_context, stage, view);
    }
    pthread_mutex_unlock(&lock);
}

opd_status opd_stage_begin(double **out, int64_t count)
{
    void *memory = NULL;
    opd_status status = opd_trace_enabled ? opd_alloc_array(&memory, (size_t)count + 1, sizeof **out) : OPD_OK;
    *out = memory;
    return status;
}

void opd_stage_end(const char *stage, double *values, int32_t rank, const int64_t *shape)
{
    opd_tensor view;
    if (values != NULL && opd_tensor_contiguous(&view, OPD_F64, rank, shape, values) == OPD_OK) {
        opd_tracepoint(stage, &view);
    }
    opd_free(values);
}
