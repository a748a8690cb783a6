/* SPDX-License-Identifier: Apache-2.0 */
/* Runs core_numpy.py (its path: OPD_NUMPY_SCRIPT) on a file of lines. */
#ifndef OPD_TEST_NUMPY_PROCESS_H
#define OPD_TEST_NUMPY_PROCESS_H

#include <stdbool.h>
#include <stdio.h>

bool numpy_is_here(void);
/* A file of its own under /tmp, open for writing; path has room for 64 bytes. NULL on failure. */
FILE *numpy_file(char *path);
/* The script's output, to be closed with pclose(); input NULL = none. */
FILE *numpy_run(const char *arguments, const char *input);

#endif
