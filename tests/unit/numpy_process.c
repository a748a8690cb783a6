/* SPDX-License-Identifier: Apache-2.0 */
/* Debian's own python: another one, without numpy, may come first in PATH. */
#include "numpy_process.h"

#include <stdlib.h>
#include <string.h>

bool numpy_is_here(void)
{
    return system("/usr/bin/python3 -c 'import numpy' >/dev/null 2>&1") == 0; /* NOLINT(cert-env33-c): fixed text */
}

FILE *numpy_file(char *path)
{
    memcpy(path, "/tmp/opd-test-numpy-XXXXXX", 27);
    int fd = mkstemp(path);
    return fd < 0 ? NULL : fdopen(fd, "wb");
}

FILE *numpy_run(const char *arguments, const char *input)
{
    char command[1024];
    (void)snprintf(command, sizeof(command), "/usr/bin/python3 '%s' %s < %s", OPD_NUMPY_SCRIPT, arguments,
                   input != NULL ? input : "/dev/null");
    return popen(command, "r"); /* NOLINT(cert-env33-c): our own paths */
}
