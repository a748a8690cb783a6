/* SPDX-License-Identifier: Apache-2.0 */
/* What both sides of a session need to ask of the system. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session.h"

uint64_t opd_session_start_time(int pid)
{
    char path[32];
    char text[1024];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    ssize_t length = read(file, text, sizeof(text) - 1);
    close(file);
    if (length <= 0) {
        return 0;
    }
    text[length] = '\0';
    const char *field = strrchr(text, ')'); /* the name before it may hold anything */
    if (field == NULL || strncmp(field, ") Z", 3) == 0 || strncmp(field, ") X", 3) == 0) {
        return 0;
    }
    for (int i = 0; field != NULL && i < 20; i++) {
        field = strchr(field + 1, ' ');
    }
    return field == NULL ? 0 : strtoull(field + 1, NULL, 10);
}

uint64_t opd_session_pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}
