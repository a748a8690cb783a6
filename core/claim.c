/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Claims by record locks (fcntl) on OUT.lock: unlike those of flock(2), a child that outlives its killed parent on the way
 * from fork to exec does not hold them. The holder removes the file at the end, so a lock counts only while the name still
 * leads to the file that was locked.
 */
#include <opsdebug/memory.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES 100

static bool is_still_there(const opd_claim *claim)
{
    struct stat held;
    struct stat named;
    return fstat(claim->fd, &held) == 0 && stat(claim->path, &named) == 0 && held.st_dev == named.st_dev &&
           held.st_ino == named.st_ino;
}

opd_status opd_claim_take(opd_claim *claim, const char *out)
{
    int length = snprintf(claim->path, sizeof claim->path, "%s.lock", out);
    if (length < 0 || (size_t)length >= sizeof claim->path) {
        claim->path[0] = '\0';
        return opd_fail(OPD_E_LIMIT, "%s: path too long", out);
    }
    int error = EAGAIN;
    for (int i = 0; i < TRIES; i++) {
        claim->fd = open(claim->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (claim->fd < 0) {
            error = errno;
            claim->path[0] = '\0';
            return opd_fail(OPD_E_IO, "cannot create %s: %s", out, strerror(error));
        }
        struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        if (fcntl(claim->fd, F_SETLK, &whole) != 0) {
            error = errno;
            (void)close(claim->fd);
            break;
        }
        if (is_still_there(claim)) {
            return OPD_OK;
        }
        (void)close(claim->fd);
    }
    claim->path[0] = '\0';
    return error == EAGAIN || error == EACCES
               ? opd_fail(OPD_E_IO, "%s: another ops-debug is writing it; wait for it or give another name", out)
               : opd_fail(OPD_E_IO, "%s: cannot be locked: %s", out, strerror(error));
}

void opd_claim_release(opd_claim *claim)
{
    if (claim->path[0] == '\0') {
        return;
    }
    (void)unlink(claim->path);
    (void)close(claim->fd);
    claim->path[0] = '\0';
}
