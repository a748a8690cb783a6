/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes as a bundle, everything a command would read of it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <opsdebug/bundle.h>

#include "fuzz_mend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CASE_LIMIT ((uint64_t)16 << 20)

static void read_calls(const opd_bundle *bundle)
{
    uint64_t count = opd_bundle_call_count(bundle);

    for (uint64_t i = 0; i < count && i < 64; i++) {
        opd_call call;
        opd_case item;
        uint64_t position = 0;
        char text[256];
        if (opd_bundle_call(&call, bundle, i) != OPD_OK) {
            continue;
        }
        if (opd_bundle_find_call(&position, bundle, call.thread, call.number) != OPD_OK) {
            abort(); /* what can be read can be found */
        }
        opd_call_describe(text, sizeof(text), &call);
        if (opd_case_load(&item, bundle, &call, CASE_LIMIT) == OPD_OK) {
            opd_case copy;
            (void)opd_case_id(&item);
            if (opd_case_copy(&copy, &item) == OPD_OK) {
                opd_case_done(&copy);
            }
            opd_case_done(&item);
        }
    }
}

static void read_rest(const opd_bundle *bundle)
{
    uint32_t pid = 0;
    uint32_t tid = 0;

    for (uint32_t i = 0; i < opd_bundle_thread_count(bundle); i++) {
        if (strlen(opd_bundle_thread(bundle, i, &pid, &tid)) > 63) {
            abort();
        }
        for (uint32_t k = 0; k < opd_bundle_frame_count(bundle, tid); k++) {
            (void)strlen(opd_bundle_frame(bundle, tid, k)->symbol);
        }
    }
    for (uint32_t i = 1; i <= opd_bundle_module_count(bundle); i++) {
        (void)strlen(opd_bundle_module(bundle, i)->path);
    }
    for (uint32_t i = 0; i < opd_bundle_failure_count(bundle); i++) {
        const opd_failure *failure = opd_bundle_failure(bundle, i);
        if (failure->index_rank > OPD_MAX_RANK) {
            abort();
        }
    }
    opd_bundle_damage(bundle, NULL, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    opd_bundle *bundle = NULL;
    uint8_t *bytes = NULL;

    if (size < 1 || size > ((size_t)4 << 20) || opd_alloc((void **)&bytes, size) != OPD_OK) {
        return 0;
    }
    fuzz_bundle_bytes(bytes, data, size);
    opd_error_clear();
    opd_status status = opd_bundle_open_memory(&bundle, bytes, size - 1);
    if (status == OPD_OK) {
        read_calls(bundle);
        read_rest(bundle);
        opd_bundle_close(bundle);
    } else if (opd_error_text()[0] == '\0') {
        abort(); /* every failure has a text */
    }
    opd_free(bytes);
    return 0;
}
