/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the audit shim tells: which library each binding means. A binding to a BLAS that the wrappers of the preloaded object
 * do not stand in front of (dlsym with a handle, RTLD_DEEPBIND, function tables) gets a stub, which remembers the routine.
 */
#ifndef OPD_AUDIT_H
#define OPD_AUDIT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

/* What a stub stands for. Its first word is where the stub jumps to. */
typedef struct opd_binding {
    const void *wrapper;
    _Atomic(void *) function; /* the library's; NULL = not yet filled */
} opd_binding;

/* Is the shim in this process? */
bool opd_audit_is_active(void);

/* From now on bindings are looked at. */
void opd_audit_start(void);

/* The wrapper of a name; NULL when it is not one of a routine. */
const void *opd_audit_wrapper(const char *name);

/* A stub of the wrapper for that function; NULL when there is none left. */
void *opd_audit_stub(const void *wrapper, void *function);

/*
 * Function pointers in the data of an object that was opened (tables, addresses taken): those of routines become stubs of the
 * library that the loader meant. Before anybody can have used them: at the first lookup after it was opened.
 */
void opd_audit_tables(const struct link_map *map);

#endif
