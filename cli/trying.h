/* SPDX-License-Identifier: Apache-2.0 */
/* All probes of an operator tried on a variant, on several workers at once; and what its determinism is. */
#ifndef OPD_CLI_TRYING_H
#define OPD_CLI_TRYING_H

#include "probes.h"

typedef struct opd_trying {
    const opd_op *op;
    const char *variant; /* NULL = the first that can */
    const char *library;
    uint64_t seed;
    uint32_t timeout_ms; /* CPU time of a run; 0 = the usual limit */
    unsigned jobs;
    bool all_dtypes;
    const opd_probe *only;    /* this probe instead of all; NULL = all */
    const char *const *peers; /* other rules to ask; NULL = none */
    const char *what;         /* for the progress line */
} opd_trying;

typedef struct opd_tried {
    opd_probe_list probes;
    opd_finding *findings;        /* owned, one per probe */
    int calls, failures, refused; /* refused: could not run, which is trouble */
    int first_failure;            /* -1 = none */
    int late; /* probe whose definition did not return in time, after which no other began; -1 = none */
} opd_tried;

enum { OPD_MOST_JOBS = 64 };
unsigned opd_default_jobs(void); /* one for each CPU */
/* Runs body(context) on jobs threads at a time, this one among them, until all have returned; ends the progress line. */
void opd_try_on_threads(unsigned jobs, void *(*body)(void *context), void *context);

opd_status opd_try_all(opd_tried *out, const opd_trying *trying);
void opd_tried_done(opd_tried *tried);

typedef enum opd_bits { OPD_BITS_UNKNOWN, OPD_BITS_SAME, OPD_BITS_OTHER } opd_bits;
/* By level, OPD_DETERMINISM_RUN to OPD_DETERMINISM_ISA: do the bits stay the same over runs, thread counts, batch sizes, instruction sets? */
typedef struct opd_matrix {
    opd_bits bits[OPD_DETERMINISM_ISA + 1];
    opd_determinism declared;
    bool is_kept; /* nothing differs that the declared level says must not */
} opd_matrix;
void opd_matrix_read(opd_matrix *out, const opd_tried *tried, const opd_trying *trying);
const char *opd_determinism_text(int level); /* "threads" */

#endif
