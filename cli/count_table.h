/* SPDX-License-Identifier: Apache-2.0 */
/* What a bundle of capture level counts has: kinds of calls, how often each was made, how long all of them took. */
#ifndef OPD_CLI_COUNT_TABLE_H
#define OPD_CLI_COUNT_TABLE_H

#include <jansson.h>

#include <opsdebug/bundle.h>

/* Prints them as a table, those that took most first; nothing when there are none. */
opd_status opd_counts_print(const opd_bundle *bundle, bool with_all);
json_t *opd_counts_document(const opd_bundle *bundle);

#endif
