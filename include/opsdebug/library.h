/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libraries of operators can be asked about themselves: one table for the recorder, which asks in the recorded process, and the
 * replayer, which asks the provider it has loaded. Built into opd_ops: data only.
 */
#ifndef OPSDEBUG_LIBRARY_H
#define OPSDEBUG_LIBRARY_H

#ifdef __cplusplus
extern "C" {
#endif

/* Functions by which a library names its effective kernels, configuration and threads; NULL = none. */
typedef struct opd_library_query {
    const char *maker;         /* "openblas" */
    const char *core, *config; /* char *(void) */
    const char *threads;       /* int (void) */
    const char *threads_long;  /* long (void); starts the library: only where it is about to run anyway */
    const char *mark;          /* a symbol that nobody else exports, where none of the above is one */
} opd_library_query;
int opd_library_query_count(void);
const opd_library_query *opd_library_query_at(int index);
/*
 * Whose a library is, by what it exports and not by the name of its file: "openblas", "blis", "netlib", "mkl", "onednn"; "" = it does not say.
 * find      the address of a name that it, or what it is linked with, exports; NULL = none
 */
const char *opd_library_maker(void *(*find)(void *library, const char *name), void *library);

#ifdef __cplusplus
}
#endif
#endif
