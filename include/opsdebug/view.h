/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Export of a bundle for viewing: tracks decide what is drawn, a writer decides in which format.
 */
#ifndef OPSDEBUG_VIEW_H
#define OPSDEBUG_VIEW_H

#include <opsdebug/bundle.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, text, default suffix */
#define OPD_VIEW_LIST(X)                     \
    X(PERFETTO, "perfetto", ".pftrace")      \
    X(CHROME, "chrome", ".json")             \
    X(CSV, "csv", ".csv")

typedef enum opd_view_format {
#define OPD_X(name, text, suffix) OPD_VIEW_##name,
    OPD_VIEW_LIST(OPD_X)
#undef OPD_X
} opd_view_format;

typedef struct opd_view_report {
    uint64_t slices, instants, counters, flows, tracks, bytes;
    uint64_t unfinished;   /* calls without an end: drawn to the end of the trace and marked */
} opd_view_report;

/* Writes to path as a whole (temporary, then renamed). errors: E_IO, E_FORMAT. */
opd_status opd_view_export(opd_view_report *report, const opd_bundle *bundle, const char *path, opd_view_format format);

#ifdef __cplusplus
}
#endif
#endif
