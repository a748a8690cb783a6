/* SPDX-License-Identifier: Apache-2.0 */
/* To be preloaded: a file that was made stays empty for a while before it gets its size, as on a machine that is busy with other things. */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int ftruncate(int file, off_t size)
{
    const struct timespec rest = { .tv_nsec = 20000000 };
    nanosleep(&rest, NULL);
    return (int)syscall(SYS_ftruncate, file, size);
}

int ftruncate64(int file, off_t size)
{
    return ftruncate(file, size);
}
