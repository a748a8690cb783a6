/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directory store: one small bundle per tensor at DIR/ab/cdef..., so that a blob is framed, compressed and checked by the
 * code that does it for bundles. Names come from digest bytes only.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.h"
#include "writer.h"

#define STORE_PATH 4096

/* DIR/ab/cdef...; cut after DIR/ab for is_folder. */
static opd_status blob_path(char *path, size_t size, const char *directory, const opd_digest *digest, bool is_folder)
{
    char text[OPD_DIGEST_TEXT];

    opd_digest_print(text, digest);
    int length = snprintf(path, size, "%s/%.2s%s%s", directory, text, is_folder ? "" : "/", is_folder ? "" : text + 2);
    if (length < 0 || (size_t)length >= size) {
        return opd_fail(OPD_E_LIMIT, "%.80s...: the path of the store is too long", directory);
    }
    return OPD_OK;
}

static opd_status make_folder(const char *path)
{
    if (mkdir(path, 0777) != 0 && errno != EEXIST) {
        return opd_fail(OPD_E_IO, "cannot create %s: %s", path, strerror(errno));
    }
    return OPD_OK;
}

static opd_status write_blob(const char *path, const opd_digest *digest, const opd_tensor *view, const void *packed)
{
    static unsigned counter;
    char temporary[STORE_PATH + 64];
    opd_header_info header = { .kind = "store" };
    opd_writer *writer = NULL;

    /* Two writers of one digest must not share a temporary; whose rename is last does not matter. */
    snprintf(temporary, sizeof(temporary), "%s.%ld.%u.partial", path, (long)getpid(),
             __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED));
    opd_status status = writer_create(&writer, path, temporary);
    if (status != OPD_OK) {
        return status;
    }
    status = writer_header(writer, &header);
    if (status == OPD_OK) {
        status = opd_writer_tensor(writer, digest, view, packed);
    }
    if (status != OPD_OK) {
        opd_writer_abandon(writer, false);
        return status;
    }
    status = opd_writer_close(writer);
    if (status != OPD_OK) {
        unlink(temporary);
    }
    return status;
}

opd_status opd_store_put(const char *directory, const opd_digest *digest, const opd_tensor *view, const void *packed)
{
    char path[STORE_PATH];
    opd_digest real = opd_packed_digest(view, packed);
    opd_status status = OPD_OK;

    if (!opd_digest_equal(&real, digest)) {
        return opd_fail(OPD_E_INVALID, "store %s: the content has another digest than the one given", directory);
    }
    status = make_folder(directory);
    if (status == OPD_OK) {
        status = blob_path(path, sizeof(path), directory, digest, true);
    }
    if (status == OPD_OK) {
        status = make_folder(path);
    }
    if (status == OPD_OK) {
        status = blob_path(path, sizeof(path), directory, digest, false);
    }
    if (status != OPD_OK || access(path, F_OK) == 0) {
        return status;
    }
    return write_blob(path, digest, view, packed);
}

bool opd_store_has(const char *directory, const opd_digest *digest)
{
    char path[STORE_PATH];
    bool is_path = directory && blob_path(path, sizeof(path), directory, digest, false) == OPD_OK;

    return is_path && access(path, F_OK) == 0;
}

opd_status opd_store_get(void *dst, size_t size, const char *directory, const opd_digest *digest,
                         const opd_tensor *view)
{
    char path[STORE_PATH];
    opd_bundle *blob = NULL;
    opd_status status = blob_path(path, sizeof(path), directory, digest, false);

    if (status == OPD_OK && access(path, F_OK) != 0) {
        return opd_fail(OPD_E_NOTFOUND, "%s: %s", path, strerror(errno));
    }
    if (status == OPD_OK) {
        status = opd_bundle_open(&blob, path);
    }
    if (status == OPD_OK) {
        status = opd_bundle_set_store(blob, NULL); /* a store does not look in itself */
    }
    if (status == OPD_OK) {
        status = opd_bundle_tensor(dst, size, blob, digest, view);
        /* A blob that is there but does not hold its tensor is damaged, not absent. */
        if (status == OPD_E_NOTFOUND) {
            status = opd_fail_in(OPD_E_FORMAT, "%s", path);
        }
    }
    opd_bundle_close(blob);
    return status;
}
