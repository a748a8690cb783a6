/* SPDX-License-Identifier: Apache-2.0 */
/* A bundle asked for from outside, in the control page of a session: the asker fills a place, the collector answers in it. */
#ifndef OPD_REQUEST_H
#define OPD_REQUEST_H

#include <stdint.h>

#define OPD_REQUESTS      4u
#define OPD_REQUEST_PATHS 8u
typedef enum opd_request_state {
    OPD_REQUEST_FREE,
    OPD_REQUEST_FILLING,
    OPD_REQUEST_ASKED,
    OPD_REQUEST_TAKEN, /* the collector fills the answer in */
    OPD_REQUEST_LEFT,  /* as TAKEN, and nobody waits for the answer any more */
    OPD_REQUEST_DONE
} opd_request_state;
typedef struct opd_request {
    _Atomic uint32_t state; /* opd_request_state; the asker sleeps on it */
    int32_t asker;          /* its pid: what is gone needs no answer */
    int32_t pid;            /* the process wanted; 0 = all of the session */
    uint32_t bundles;       /* written; the first of them in paths */
    char reason[96];
    char paths[OPD_REQUEST_PATHS][512];
    char trouble[256]; /* why there are none, or fewer */
} opd_request;

#endif
