/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JUnit XML of a list of checks, for build servers.
 */
#ifndef OPD_CLI_JUNIT_H
#define OPD_CLI_JUNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <opsdebug/status.h>

typedef struct opd_junit_case {
    char name[512];
    char message[600]; /* why it failed or could not run */
    bool has_failed;
    bool is_error; /* could not run */
    uint64_t elapsed_ns;
} opd_junit_case;

/* Writes the file as a whole. errors: E_IO, E_NOMEM. */
opd_status opd_junit_write(const char *path, const char *suite, const opd_junit_case *cases, size_t count);

#endif
