/* SPDX-License-Identifier: Apache-2.0 */
/* Tracepoints: stages that variants report go to one receiver, one at a time. */
#include <pthread.h>

#include <opsdebug/kernel.h>

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
