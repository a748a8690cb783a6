/* SPDX-License-Identifier: Apache-2.0 */
/* Further references beside the definition in high precision, and what they say together. */
#ifndef OPD_CLI_REFERENCES_H
#define OPD_CLI_REFERENCES_H

#include <opsdebug/replay.h>

#include "document.h"

enum { OPD_REFERENCE_NAIVE = 1, OPD_REFERENCE_LIBRARY = 2, OPD_REFERENCE_TORCH = 4, OPD_REFERENCE_ALL = 7 };
#define OPD_REFERENCE_ROWS 3

typedef struct opd_reference_row {
    const char *name; /* "naive", "library", "torch"; NULL = not asked for */
    char maker[64];   /* "variant openblas, libopenblas.so.0" */
    bool is_there;
    char reason[256];          /* why it is not */
    opd_replay_result itself;  /* the reference against high precision */
    opd_replay_result against; /* the candidate against the reference */
} opd_reference_row;

typedef struct opd_references {
    opd_reference_row rows[OPD_REFERENCE_ROWS];
    const char *word;      /* of all: PASS, ..., PASS_DUAL, DISPUTED, FAIL */
    opd_sureness sureness; /* SUSPECT and CONFLICT when references differ; else that of the first one asked for */
    char reason[384];      /* of a word other than the run's own; "" = it is that */
    bool is_found;         /* a failure */
} opd_references;

/* naive, high-precision, library, torch or all as bits; -1 when it is none of them. */
int opd_references_parse(const char *name);
/*
 * result is the judged run of item, its outputs kept. A reference that cannot be had is a row with a reason. engine: the file that the library is
 * taken from; NULL: one that is installed, other than the one that ran.
 * errors    those of opd_replay.
 */
opd_status opd_references_run(opd_references *out, const opd_case *item, const opd_replay_result *result,
                              const opd_replay_options *options, int wanted, const char *engine);
void opd_references_done(opd_references *references);
opd_status opd_references_print(const opd_references *references, const opd_replay_result *result);
json_t *opd_references_document(const opd_references *references);

#endif
