/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded outputs held against the reference, in a worker process of their own: `record --verify`. */
#include "verdict.h"

#include <opsdebug/memory.h>
#include <opsdebug/replay.h>

#define TIME_LIMIT_MS 20000u
#define MEMORY_LIMIT  ((uint64_t)1 << 30)

/* The recorded content of an output goes where the operand lies; a value that was returned lies nowhere else. */
static opd_status fill_output(void **packed, opd_operand *operand, const opd_bundle *bundle)
{
    uint64_t bytes = opd_tensor_packed_bytes(&operand->view);
    opd_status status = opd_alloc(packed, (size_t)bytes);
    if (status == OPD_OK) {
        status = opd_bundle_tensor(*packed, (size_t)bytes, bundle, &operand->after, &operand->view);
    }
    if (status == OPD_OK && operand->view.data != NULL) {
        opd_tensor_unpack(&operand->view, *packed);
    } else if (status == OPD_OK) {
        operand->view.data = *packed;
    }
    return status;
}

/* What the program's library computed, in memory; packed: to be freed. */
static opd_status fill_given(void *packed[OPD_MAX_OPERANDS], opd_call *given, const opd_bundle *bundle)
{
    opd_status status = OPD_OK;
    for (int i = 0; i < given->operand_count && status == OPD_OK; i++) {
        opd_operand *operand = &given->operands[i];
        if ((operand->role & OPD_ROLE_OUT) == 0) {
            operand->view.data = NULL; /* of outputs only */
        } else if ((operand->flags & OPD_OPERAND_ABSENT) == 0 && opd_tensor_existing(&operand->view) > 0) {
            status = fill_output(&packed[i], operand, bundle);
        }
    }
    return status;
}

static opd_status judge(opd_failure *out, const opd_case *item, const opd_call *given)
{
    opd_replay_options wish = OPD_REPLAY_OPTIONS_INIT;
    opd_replay_result result;
    wish.library = "naive";
    wish.given = given;
    wish.timeout_ms = TIME_LIMIT_MS;
    opd_status status = opd_replay(&result, NULL, item, NULL, &wish);
    if (status != OPD_OK) {
        return status;
    }
    if (!result.numbers.is_valid && result.observed.outcome != OPD_OUTCOME_MISMATCH) {
        status = opd_fail(OPD_E_UNSUPPORTED, "%s: no reference (%s)", item->call.name,
                          opd_outcome_name(result.observed.outcome));
    } else {
        *out = result.observed;
    }
    opd_replay_result_done(&result);
    return status;
}

opd_status opd_verdict_of_bundle(void *context, opd_failure *out, const opd_bundle *bundle)
{
    void *packed[OPD_MAX_OPERANDS] = { NULL };
    opd_case item = { .block_count = 0 };
    opd_case given = { .block_count = 0 };
    opd_call call;
    (void)context;
    opd_status status = opd_bundle_call(&call, bundle, 0);
    if (status == OPD_OK) {
        status = opd_case_load(&item, bundle, &call, MEMORY_LIMIT);
    }
    if (status == OPD_OK && (status = opd_case_copy(&given, &item)) == OPD_OK) {
        status = fill_given(packed, &given.call, bundle);
        if (status == OPD_OK) {
            status = judge(out, &item, &given.call);
        }
        opd_case_done(&given);
    }
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_free(packed[i]);
    }
    opd_case_done(&item);
    return status;
}
