/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What BLAS libraries can be asked about themselves: one table for the recorder, which asks in the recorded process, and the
 * replayer, which asks the provider it has loaded. Built into opd_ops: data only.
 */
#ifndef OPSDEBUG_LIBRARY_H
#define OPSDEBUG_LIBRARY_H

#ifdef __cplusplus
extern "C" {
#endif

/* Functions by which a BLAS library names its effective kernels, configuration and threads; NULL = none. */
typedef struct opd_library_query {
    const char *core, *config; /* char *(void) */
    const char *threads;       /* int (void) */
    const char *threads_long;  /* long (void); starts the library: only where it is about to run anyway */
} opd_library_query;
int opd_library_query_count(void);
const opd_library_query *opd_library_query_at(int index);

#ifdef __cplusplus
}
#endif
#endif
