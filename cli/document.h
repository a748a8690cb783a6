/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The --json form of what commands print. Keys keep their order; NaN and infinities are strings; digests, addresses and
 * 64-bit times that may exceed a double are strings too. Keys are only ever added.
 */
#ifndef OPD_CLI_DOCUMENT_H
#define OPD_CLI_DOCUMENT_H

#include <jansson.h>

#include <opsdebug/replay.h>

#include "source.h"

json_t *opd_document_text(const char *text); /* bytes that are not UTF-8 become '?' */
json_t *opd_document_real(double value);
json_t *opd_document_count(uint64_t value);
json_t *opd_document_failure(const opd_failure *failure);
json_t *opd_document_operand(const opd_operand *operand);
json_t *opd_document_call(const opd_call *call, bool with_operands);
json_t *opd_document_header(const opd_bundle *bundle);
json_t *opd_document_environment(const opd_bundle *bundle);
json_t *opd_document_result(const opd_replay_result *result);

/* Takes the value. */
void opd_document_put(json_t *object, const char *key, json_t *take_value);

/* [{"path", "error"}] */
json_t *opd_document_unread(const opd_unread *unread);
/* Folders into which killed recordings went whose calls are to be salvaged: [{"path": ..., "recordings": N}]. */
json_t *opd_document_waiting(const opd_paths *paths);

/* Prints the document to a file, with a newline; false when that fails. */
bool opd_document_print_to(const json_t *document, FILE *file);
/* Prints and frees the document; returns exit_status, or OPD_EXIT_TROUBLE when it cannot be made. */
int opd_document_print(json_t *take_document, int exit_status);

#endif
