/* SPDX-License-Identifier: Apache-2.0 */
/* What both sides of a session need to ask of the system. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session.h"

enum { STAT_START_TIME = 22, STAT_EXIT_CODE = 52 };

/* Reads /proc/PID/stat and finds its end of the name, which may hold anything; NULL when there is no such process. */
static const char *read_stat(char text[1024], int pid)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return NULL;
    }
    ssize_t length = read(file, text, 1023);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    return strrchr(text, ')');
}

/* Field of that line by its number in proc(5), 3 being the state after the name. */
static uint64_t field_of(const char *name_end, int number)
{
    const char *field = name_end + 1;
    for (int i = 3; field != NULL && i < number; i++) {
        field = strchr(field + 1, ' ');
    }
    return field == NULL ? 0 : strtoull(field + 1, NULL, 10);
}

static bool has_ended(const char *name_end)
{
    return strncmp(name_end, ") Z", 3) == 0 || strncmp(name_end, ") X", 3) == 0;
}

uint64_t opd_session_start_time(int pid)
{
    char text[1024];
    const char *end = read_stat(text, pid);
    return end == NULL || has_ended(end) ? 0 : field_of(end, STAT_START_TIME);
}

bool opd_session_is_ours(const opd_control *control)
{
    return control->magic == OPD_SESSION_MAGIC && control->layout == OPD_SESSION_LAYOUT &&
           control->control_bytes == sizeof(opd_control) && control->process_bytes == sizeof(opd_process);
}

bool opd_session_is_attended(const opd_control *control)
{
    return opd_session_start_time(control->collector_pid) == control->collector_start;
}

int opd_session_wait_status(int pid, uint64_t start_time)
{
    char text[1024];
    const char *end = read_stat(text, pid);
    if (end == NULL || !has_ended(end) || field_of(end, STAT_START_TIME) != start_time) {
        return OPD_STATUS_UNKNOWN;
    }
    return (int)field_of(end, STAT_EXIT_CODE);
}

uint64_t opd_session_pid_namespace(void)
{
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}
