/* SPDX-License-Identifier: Apache-2.0 */
/* States of random generators that the program showed: read by the kernel, since they may be gone by now. */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "here.h"

void opd_shown_take(opd_shown *watch)
{
    int saved = errno;
    if (watch->address == 0) {
        return;
    }
    struct iovec local = { watch->state, watch->bytes };
    struct iovec remote = { (void *)(uintptr_t)watch->address, watch->bytes };
    if (opd_here_is_quiet == 0 &&
        process_vm_readv(opd_recorder.pid, &local, 1, &remote, 1, 0) != (ssize_t)watch->bytes) {
        atomic_store(&watch->is_set, 0);
    }
    errno = saved;
}

void opd_shown_take_all(opd_process *process)
{
    uint32_t count = atomic_load(&process->shown_count);
    for (uint32_t i = 0; i < count && i < OPD_SHOWN_COUNT; i++) {
        if (atomic_load(&process->shown[i].is_set) != 0) {
            opd_shown_take(&process->shown[i]);
        }
    }
}

void opd_shown_copy(opd_process *to, opd_process *from)
{
    uint32_t count = atomic_load(&from->shown_count);
    count = count < OPD_SHOWN_COUNT ? count : OPD_SHOWN_COUNT;
    memcpy(to->shown, from->shown, count * sizeof(to->shown[0]));
    atomic_store(&to->shown_count, count);
}
