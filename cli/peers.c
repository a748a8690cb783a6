/* SPDX-License-Identifier: Apache-2.0 */
/* torch's and ONNX's rules as presets of the replayer; the cosine from the figures that come with each run. */
#include "peers.h"

#include <string.h>

#define LEAST_COSINE 0.9999
#define TEXT_OF(x)   #x
#define TEXT(x)      TEXT_OF(x)

enum { PEER_TORCH, PEER_ONNX, PEER_COSINE };
_Static_assert(PEER_COSINE + 1 == OPD_PEER_COUNT, "cosine is the last");

const char *const opd_peer_presets[] = { [PEER_TORCH] = "torch", [PEER_ONNX] = "onnx", [PEER_COSINE] = NULL };

const char *opd_peer_name(int peer)
{
    return peer == PEER_COSINE ? "cosine" : opd_peer_presets[peer];
}

const char *opd_peer_meaning(int peer)
{
    const char *meaning = "cosine of each output over " TEXT(LEAST_COSINE);
    for (int i = 0; peer != PEER_COSINE; i++) {
        const char *name = opd_preset_at(i, &meaning);
        if (name == NULL || strcmp(name, opd_peer_presets[peer]) == 0) {
            break;
        }
    }
    return meaning;
}

static bool is_off_course(const opd_replay_result *result)
{
    for (int i = 0; i < result->output_count; i++) {
        const opd_metrics *metrics = &result->metrics[i];
        bool is_empty = metrics->count == 0;
        if (!is_empty && (metrics->class_differing > 0 || !(metrics->finite == 0 || metrics->cosine > LEAST_COSINE))) {
            return true;
        }
    }
    return false;
}

bool opd_peer_is_broken(const opd_finding *finding, int peer)
{
    const opd_replay_result *result = &finding->result;
    if (finding->status != OPD_OK) {
        return false;
    }
    if (result->observed.outcome == OPD_OUTCOME_CRASH || result->observed.outcome == OPD_OUTCOME_HANG) {
        return true;
    }
    if (!result->numbers.is_valid) {
        return false;
    }
    return peer == PEER_COSINE ? is_off_course(result) : result->peers[peer].is_valid && !result->peers[peer].is_right;
}
