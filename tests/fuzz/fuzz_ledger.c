/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as the verdict log of an earlier search. Whatever is taken from it must be a sensible run, and writing the log on
 * must not change what is read back.
 */
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ledger.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The key that the inputs of the corpus use. */
static opd_ledger_key known_key(void)
{
    opd_ledger_key key = { .id = { { 5 } }, .placement = 0x181, .purpose = OPD_PURPOSE_JUDGE };

    return key;
}

/* Uses up the runs of key; returns how many there were. */
static uint64_t use_all(opd_ledger *ledger, const opd_ledger_key *key)
{
    uint64_t count = 0;
    opd_verdict verdict;
    opd_failure observed;

    while (opd_ledger_reuse(ledger, &verdict, &observed, key)) {
        if (observed.index_rank > OPD_MAX_RANK || (unsigned)verdict > OPD_VERDICT_UNRESOLVED ||
            strnlen(observed.operand, sizeof(observed.operand)) == sizeof(observed.operand) ||
            opd_outcome_name(observed.outcome)[0] == '?') {
            abort();
        }
        count++;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    opd_ledger *ledger = NULL;
    opd_ledger_key key = known_key();
    opd_failure nothing = { .index_rank = -1 };
    int fd = memfd_create("ledger", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (opd_ledger_open(&ledger, path, "s") != OPD_OK) {
        abort(); /* nonsense is skipped */
    }
    uint64_t count = use_all(ledger, &key);
    if (opd_ledger_counted(ledger, &key).runs != count ||
        opd_ledger_add(ledger, &key, OPD_VERDICT_PASS, &nothing) != OPD_OK) {
        abort();
    }
    opd_ledger_close(ledger);
    if (opd_ledger_open(&ledger, path, "s") != OPD_OK || use_all(ledger, &key) != count + 1) {
        abort();
    }
    opd_ledger_close(ledger);
    (void)close(fd);
    return 0;
}
