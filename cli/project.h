/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a new project, as they stand in cli/new/; CMake makes the table. */
#ifndef OPD_CLI_PROJECT_H
#define OPD_CLI_PROJECT_H

#include <stddef.h>

typedef struct opd_project_file {
    const char *name; /* "@NAME@.c" */
    const char *text; /* @NAME@ stands for the operator's name */
    int is_executable;
} opd_project_file;

extern const opd_project_file opd_project_files[];
extern const size_t opd_project_file_count;

#endif
