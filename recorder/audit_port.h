/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the audit shim and the preloaded recorder meet. The shim lives in a name space of its own, without a C library; it
 * finds this by name in the preloaded object, and calls nothing there before the recorder has put its function in.
 */
#ifndef OPD_AUDIT_PORT_H
#define OPD_AUDIT_PORT_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

#define OPD_PRELOAD_SONAME "opsdebug-preload.so"
#define OPD_AUDIT_SONAME   "opsdebug-audit.so"
#define OPD_AUDIT_PORT     "opd_audit_here"
#define OPD_AUDIT_MARKER   "opd_audit_marker" /* what is in its section is a wrapper */
#define OPD_AUDIT_PENDING  64u

/* A binding the loader has made: name means value for from. What it is to mean is returned. */
typedef uintptr_t opd_audit_bind(const char *name, uintptr_t value, const struct link_map *from,
                                 const struct link_map *to, bool is_dlsym);

typedef struct opd_audit_port {
    _Atomic(opd_audit_bind *) bind;                    /* NULL: the recorder is not ready, or is off */
    _Atomic uint32_t is_audited;                       /* the shim is here */
    uint32_t pending_count;                            /* under the loader's lock, as is pending */
    const struct link_map *pending[OPD_AUDIT_PENDING]; /* opened, data relocations not looked at */
} opd_audit_port;

extern opd_audit_port opd_audit_here;

#endif
