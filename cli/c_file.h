/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stand-alone C file of a reduced call: right values, the library at fault, what the program must set first.
 */
#ifndef OPD_CLI_C_FILE_H
#define OPD_CLI_C_FILE_H

#include <opsdebug/reduce.h>
#include <opsdebug/replay.h>

#include "oracle.h"

typedef struct opd_c_file {
    const char *path;
    const opd_case *item;
    const opd_failure *failure;    /* of item */
    const opd_replay_result *last; /* a replay in which it failed: which library, symbol, core, threads */
    char link[2048]; /* out: words for cc, quoted for a shell: "-lopenblas", "/opt/libx.so -Wl,-rpath,/opt" */
} opd_c_file;

/* Writes file->path and fills file->link. Runs the call once more where the values it leaves decide what is checked. */
opd_status opd_c_file_write(opd_c_file *file, const opd_trial_oracle *oracle);

#endif
