/* SPDX-License-Identifier: Apache-2.0 */
/* Libraries of a user's operators in the program itself: whatever they do, one line says so. */
#ifndef OPD_CLI_GUEST_H
#define OPD_CLI_GUEST_H

#include <stdint.h>

#include <opsdebug/status.h>

/*
 * Loads a library and registers its operators, after a child process has done so and tried the contracts: one that crashes, ends the process or hangs
 * there is not loaded. timeout_ms: of the child; 0 = a minute. Later, a crash in code of the library ends the program with one line and OPD_EXIT_TROUBLE. Again for the same path: does nothing.
 * errors    E_CHILD what happened in the child; those of opd_library_load.
 */
opd_status opd_guest_load(const char *path, uint32_t timeout_ms);

#endif
