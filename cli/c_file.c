/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Binds the C emitter to a replay: right values by reference, and the words that link with the library that failed.
 */
#include "c_file.h"

#include <stdio.h>
#include <string.h>

#include "phrases.h"

/* Above this many multiplications the right values are left out of the C file, which then checks for finite values only. */
#define REFERENCE_FLOPS 2e8

typedef struct expected_values {
    long double *want[OPD_MAX_OPERANDS];
    long double *gauge[OPD_MAX_OPERANDS];
} expected_values;

static void expected_values_done(expected_values *values)
{
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        opd_free(values->want[i]);
        opd_free(values->gauge[i]);
    }
}

/* An operator without a reference has no right values; then the C file checks less. */
static opd_status compute_expected(expected_values *values, const opd_call *call)
{
    if (opd_call_flops(call) > REFERENCE_FLOPS) {
        return OPD_OK;
    }
    for (int i = 0; i < call->operand_count; i++) {
        const opd_operand *operand = &call->operands[i];
        size_t count = (size_t)opd_tensor_count(&operand->view);
        if ((operand->role & OPD_ROLE_OUT) == 0) {
            continue;
        }
        opd_status status = opd_alloc_array((void **)&values->want[i], 2 * count + 1, sizeof(long double));
        if (status == OPD_OK) {
            status = opd_alloc_array((void **)&values->gauge[i], count + 1, sizeof(long double));
        }
        if (status == OPD_OK) {
            status = opd_reference_run(values->want[i], values->gauge[i], call, i);
        }
        if (status != OPD_OK) {
            opd_free(values->want[i]);
            opd_free(values->gauge[i]);
            values->want[i] = NULL;
            values->gauge[i] = NULL;
        }
        if (status == OPD_E_NOMEM) {
            return status;
        }
    }
    return OPD_OK;
}

/* Only the library that failed, not a namesake: by its path unless a linker name means the same file. */
static void print_link(char *text, size_t size, const char *library)
{
    char word[1024];
    const char *name = opd_library_linker_name(library);
    const char *slash = strrchr(library, '/');
    if (name != NULL || slash == NULL) {
        snprintf(text, size, "-l%s", name != NULL ? name : "openblas");
        return;
    }
    opd_phrase_shell(word, sizeof word, library);
    int used = snprintf(text, size, "%s -Wl,-rpath,", word);
    char folder[sizeof((opd_replay_result *)0)->library];
    snprintf(folder, sizeof folder, "%.*s", slash == library ? 1 : (int)(slash - library), library);
    opd_phrase_shell(word, sizeof word, folder);
    snprintf(text + used, size - (size_t)used, "%s", word);
}

/* What a birth left in its operand says whether its values are wrong or only the data too large. */
static opd_status observe(opd_replay_result *seen, opd_emit_options *emit, const opd_c_file *file,
                          const opd_trial_oracle *oracle)
{
    opd_outcome outcome = file->failure->outcome;
    opd_replay_options options = oracle->options;
    options.keep_outputs = true;
    if (outcome != OPD_OUTCOME_NAN_BORN && outcome != OPD_OUTCOME_INF_BORN) {
        return OPD_OK;
    }
    opd_status status = opd_replay(seen, oracle->source, file->item, file->failure, &options);
    if (status != OPD_OK || !seen->came_back) {
        return status;
    }
    for (int i = 0; i < file->item->call.operand_count; i++) {
        for (int k = 0; k < seen->output_count; k++) {
            bool is_it = strcmp(seen->outputs[k].name, file->item->call.operands[i].name) == 0;
            if (is_it && seen->outputs[k].view.data != NULL) {
                emit->got[i] = &seen->outputs[k].view;
            }
        }
    }
    return OPD_OK;
}

opd_status opd_c_file_write(opd_c_file *file, const opd_trial_oracle *oracle)
{
    const opd_replay_result *last = file->last;
    const char *core = oracle->options.core != NULL ? oracle->options.core : last->core;
    opd_emit_options emit = {
        .link = file->link,
        .symbol = last->symbol,
        .core = core[0] != '\0' ? core : NULL,
        .threads = last->threads,
        .seconds = oracle->options.timeout_ms / 1000 + (oracle->options.timeout_ms % 1000 != 0),
    };
    expected_values values = { 0 };
    opd_replay_result seen = { 0 };
    opd_buffer text;
    print_link(file->link, sizeof file->link, last->library);
    opd_buffer_init(&text, (size_t)256 << 20);
    opd_status status = compute_expected(&values, &file->item->call);
    for (int i = 0; i < OPD_MAX_OPERANDS; i++) {
        emit.want[i] = values.want[i];
        emit.gauge[i] = values.gauge[i];
    }
    if (status == OPD_OK) {
        status = observe(&seen, &emit, file, oracle);
    }
    if (status == OPD_OK) {
        status = opd_emit_c(&text, file->item, file->failure, &emit);
    }
    if (status == OPD_OK) {
        status = opd_write_file(file->path, text.bytes, text.size);
    }
    opd_buffer_done(&text);
    opd_replay_result_done(&seen);
    expected_values_done(&values);
    return status;
}
