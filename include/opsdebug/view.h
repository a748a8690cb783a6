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

/* name, id (its text is what users write; writer_<id>.c writes it), default suffix */
#define OPD_VIEW_LIST(X)              \
    X(PERFETTO, perfetto, ".pftrace") \
    X(CHROME, chrome, ".json")        \
    X(CSV, csv, ".csv")

typedef enum opd_view_format {
#define OPD_X(name, id, suffix) OPD_VIEW_##name,
    OPD_VIEW_LIST(OPD_X)
#undef OPD_X
        OPD_VIEW_FORMATS /* their number */
} opd_view_format;

const char *opd_view_format_name(opd_view_format format);   /* "perfetto"; "?" for an unknown number */
const char *opd_view_format_suffix(opd_view_format format); /* ".pftrace" */
/* errors: E_INVALID, text names the known ones. */
opd_status opd_view_format_parse(opd_view_format *out, const char *name);
/* The format whose suffix path has; perfetto when none fits. */
opd_view_format opd_view_format_of_path(const char *path);

typedef struct opd_view_report {
    uint64_t slices;    /* calls and ranges */
    uint64_t instants;  /* failures, marks, drops */
    uint64_t counters;  /* samples */
    uint64_t flows;     /* arrows from the call that made some data to a call that read it */
    uint64_t flows_cut; /* arrows left out: at most 32 leave one call */
    uint64_t tracks;
    uint64_t bytes;
    uint64_t unfinished; /* calls and ranges without an end: drawn to the end of the trace and marked */
} opd_view_report;

/*
 * Writes the bundle's calls, failures and events to path: as a whole (temporary beside it, then renamed), or straight into path when that
 * is there and no regular file (a pipe, /dev/stdout).
 *
 * memory    about 100 bytes per call; the trace itself is streamed.
 * errors    E_IO (text names the path), E_FORMAT, E_NOMEM, E_LIMIT over 2^31 calls.
 */
opd_status opd_view_export(opd_view_report *report, const opd_bundle *bundle, const char *path, opd_view_format format);
/* The same onto a sink, which stays the caller's. */
opd_status opd_view_export_sink(opd_view_report *report, const opd_bundle *bundle, opd_sink *sink,
                                opd_view_format format);

#ifdef __cplusplus
}
#endif
#endif
