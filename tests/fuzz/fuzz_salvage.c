/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a damaged bundle, salvaged and packed. What comes out must be whole, and salvaging it again must lose nothing.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <opsdebug/bundle.h>

#include "fuzz_mend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX ((size_t)1 << 20)

static char folder[64];

static void remove_folder(void)
{
    (void)rmdir(folder);
}

/* In memory where that is to be had: salvage syncs what it writes. */
static void make_folder(void)
{
    struct stat info;
    const char *root = stat("/dev/shm", &info) == 0 && S_ISDIR(info.st_mode) ? "/dev/shm" : "/tmp";

    (void)snprintf(folder, sizeof(folder), "%s/opd-fuzz-XXXXXX", root);
    if (mkdtemp(folder) == NULL || atexit(remove_folder) != 0) {
        abort();
    }
}

static void check_whole(const char *path)
{
    opd_bundle *bundle = NULL;

    if (opd_bundle_open(&bundle, path) != OPD_OK) {
        abort();
    }
    opd_bundle_damage(bundle, NULL, NULL);
    const opd_bundle_state *state = opd_bundle_state_of(bundle);
    if (state->is_partial || state->index_rebuilt || state->damaged != 0) {
        abort();
    }
    opd_bundle_close(bundle);
}

static void mend(const char *from, const char *to, const char *again)
{
    opd_salvage_report report;

    opd_error_clear();
    if (opd_salvage(&report, from, to, NULL, NULL) != OPD_OK) {
        if (opd_error_text()[0] == '\0') {
            abort();
        }
        return;
    }
    check_whole(to);
    uint64_t kept = report.records_kept;
    if (opd_salvage(&report, to, again, NULL, NULL) != OPD_OK || report.records_lost != 0 ||
        report.records_kept < kept) {
        abort();
    }
    if (opd_pack(from, again, NULL, NULL, NULL) == OPD_OK) {
        check_whole(again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[3][128];
    uint8_t *bytes = NULL;

    if (folder[0] == '\0') {
        make_folder();
    }
    if (size < 1 || size > INPUT_MAX || opd_alloc((void **)&bytes, size) != OPD_OK) {
        return 0;
    }
    for (size_t i = 0; i < OPD_COUNT(path); i++) {
        (void)snprintf(path[i], sizeof(path[i]), "%s/%zu.opsb", folder, i);
    }
    fuzz_bundle_bytes(bytes, data, size);
    if (opd_write_file(path[0], bytes, size - 1) == OPD_OK) {
        mend(path[0], path[1], path[2]);
    }
    for (size_t i = 0; i < OPD_COUNT(path); i++) {
        (void)unlink(path[i]);
    }
    opd_free(bytes);
    return 0;
}
