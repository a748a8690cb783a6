/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of a bundle and what else is known of a crash: printed, and as JSON. */
#ifndef OPD_CLI_STACKS_H
#define OPD_CLI_STACKS_H

#include <jansson.h>

#include <opsdebug/bundle.h>

/* Those of the failing threads, shortened; in full: all, with registers, limits and build-ids. */
void opd_stacks_print(const opd_bundle *bundle, bool in_full);

/* Adds "crash" and "stacks" where the bundle has them. */
void opd_stacks_document(json_t *object, const opd_bundle *bundle);

#endif
