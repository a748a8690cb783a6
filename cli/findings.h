/* SPDX-License-Identifier: Apache-2.0 */
/* What a judged run has to say, as text and as JSON: one wording for every command that runs operators. */
#ifndef OPD_CLI_FINDINGS_H
#define OPD_CLI_FINDINGS_H

#include <opsdebug/replay.h>

#include "document.h"

/* Operands, variant, error against the reference, and the figures of each output; is_long: all of them, and how the limit comes about. */
void opd_findings_print(const opd_case *item, const opd_replay_result *result, bool is_long);
/* What is wrong; nothing when nothing is. */
void opd_findings_print_failure(const opd_replay_result *result);
/* The word on a line of its own, in the colour of exit_status. */
void opd_findings_print_word(const char *word, int exit_status);

/* What another rule says, on a line; nothing when none was asked. */
void opd_findings_print_opinion(const opd_opinion *opinion);
json_t *opd_findings_opinion(const opd_opinion *opinion);
json_t *opd_findings_location(const opd_location *location);
json_t *opd_findings_measures(const opd_metrics *metrics);
/* Metrics of the outputs by name. */
json_t *opd_findings_metrics(const opd_replay_result *result);

#endif
