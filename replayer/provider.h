/* SPDX-License-Identifier: Apache-2.0 */
/* The library under test inside the worker: found, loaded, its routine resolved, its identity read. */
#ifndef OPD_REPLAYER_PROVIDER_H
#define OPD_REPLAYER_PROVIDER_H

#include <opsdebug/kernel.h>

#include "job.h"

typedef struct opd_provider {
    void *handle; /* never closed: libraries with thread pools do not survive it */
    void (*function)(void);
    char symbol[64];
    const opd_variant
        *variant; /* of our own or a user's kernels, for operators outside BLAS; NULL = a library's routine */
    struct opd_dnnl_run *primitive; /* of oneDNN */
    int32_t threads;                /* it may use */
    bool is_naive;                  /* our own serial variant instead of a library */
    bool is_torch;                  /* PyTorch, in a Python inside this process */
    bool is_cblas;
    uint8_t int_bytes;
    bool is_direct;
} opd_provider;

/*
 * Loads job->library and finds the routine of job->call in the form it was recorded in; fills result.library, build_id, core,
 * threads of the job.
 * errors    E_NOTFOUND no such library, or it lacks the routine in this form (the text says which forms it has);
 *           E_UNSUPPORTED arguments do not fit the library's integers.
 */
opd_status opd_provider_open(opd_provider *out, opd_job *job, const opd_routine *routine);

/* Path and build-id of the loaded object that address lies in. */
void opd_provider_identify(opd_replay_result *result, const void *address);

/* Likewise for a primitive of oneDNN. errors: also E_UNSUPPORTED the library makes no such primitive. */
opd_status opd_provider_primitive(opd_provider *out, opd_job *job);

/*
 * Finds the contract and chooses the variant of an operator outside BLAS; job->call.op is set. job->library, when there is one, is a user's library,
 * which is loaded first.
 * errors    E_NOTFOUND no such operator or variant, no such library; E_DECLINED the reason.
 */
opd_status opd_provider_choose(opd_provider *out, opd_job *job);

/* Scratch memory that the call wants of us; false: none. */
bool opd_provider_scratch(uint64_t *bytes, const opd_provider *provider, const opd_call *call);

#endif
