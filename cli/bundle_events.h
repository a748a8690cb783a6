/* SPDX-License-Identifier: Apache-2.0 */
/* What a bundle tells beside its calls: where the recording kept less, marks, ranges, inner stages of operators. */
#ifndef OPD_CLI_BUNDLE_EVENTS_H
#define OPD_CLI_BUNDLE_EVENTS_H

#include <jansson.h>

#include <opsdebug/bundle.h>

/* Of each kind that concerns the whole bundle the first few, and how many there are. */
void opd_events_print(const opd_bundle *bundle);

/* The ranges that a call was made in, and the inner stages that it reported. */
void opd_events_print_call(const opd_bundle *bundle, const opd_call *call);

/* All of them, in their order. */
json_t *opd_events_document(const opd_bundle *bundle);

#endif
