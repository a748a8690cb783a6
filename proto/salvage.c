/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mending and packing: a new complete bundle from the verified records of another. Checks are made anew, as they hold only at their
 * offset; what the records say is not touched.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.h"
#include "soundness.h"
#include "writer.h"

/* A copy in progress. */
typedef struct mending {
    opd_bundle *bundle;
    opd_writer *writer;
    char *temporary;
    opd_soundness soundness;
    opd_loss_fn *lost;
    void *context;
    opd_salvage_report report;
} mending;

static bool is_same_file(const char *a, const char *b)
{
    struct stat left;
    struct stat right;

    return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev && left.st_ino == right.st_ino;
}

/* to.salvage, never to.partial: that may be what is being mended. */
static opd_status mending_begin(mending *of, const char *from, const char *to)
{
    opd_status status = opd_bundle_open(&of->bundle, from);

    if (status != OPD_OK) {
        return status;
    }
    if (is_same_file(opd_bundle_path(of->bundle), to)) {
        return opd_fail(OPD_E_INVALID, "%s: the mended bundle needs another name", to);
    }
    size_t size = strlen(to) + sizeof(".salvage");
    status = opd_alloc((void **)&of->temporary, size);
    if (status == OPD_OK) {
        snprintf(of->temporary, size, "%s.salvage", to);
        status = writer_create(&of->writer, to, of->temporary);
    }
    if (status == OPD_OK) {
        status = soundness_find(&of->soundness, of->bundle);
    }
    if (status == OPD_OK && !of->bundle->has_header) {
        opd_header_info header = { .kind = "salvaged" };
        status = writer_header(of->writer, &header);
    }
    return status;
}

static opd_status mending_end(mending *of, opd_status status)
{
    if (status == OPD_OK) {
        soundness_tell(&of->soundness, &of->writer->index, of->lost, of->context);
        status = opd_writer_close(of->writer);
        if (status != OPD_OK) {
            unlink(of->temporary);
        }
    } else {
        opd_writer_abandon(of->writer, false);
    }
    soundness_done(&of->soundness);
    opd_bundle_close(of->bundle);
    opd_free(of->temporary);
    return status;
}

/* Chunks of the tensor that starts at entry; 0 when one of them is missing or damaged, or its content cannot be had. */
static uint32_t whole_tensor(const mending *of, uint32_t entry)
{
    const opd_bundle *bundle = of->bundle;
    opd_frame_view frame;
    opd_tensor_place place;

    if (reader_frame(&frame, bundle, entry) != OPD_OK || reader_tensor_place(&place, &frame) != OPD_OK ||
        !soundness_of(&of->soundness, &place.digest)) {
        return 0;
    }
    uint64_t chunks =
        place.bytes == 0 || place.coded.codec == CODEC_RECIPE ? 1 : (place.bytes + CODEC_CHUNK - 1) / CODEC_CHUNK;
    opd_digest digest = place.digest;
    for (uint64_t i = 0; i < chunks; i++) {
        if (entry + i >= bundle->index.count || reader_frame(&frame, bundle, (uint32_t)(entry + i)) != OPD_OK ||
            frame.kind != KIND_TENSOR || reader_tensor_place(&place, &frame) != OPD_OK || place.chunk != i ||
            !opd_digest_equal(&place.digest, &digest)) {
            return 0;
        }
    }
    return (uint32_t)chunks;
}

static opd_status copy_entry(mending *of, uint32_t entry)
{
    opd_frame_view frame;
    opd_status status = reader_frame(&frame, of->bundle, entry);

    if (status != OPD_OK) {
        opd_error_clear();
        of->report.records_lost++;
        of->report.bytes_lost += of->bundle->index.entries[entry].size;
        return OPD_OK;
    }
    status = writer_copy(of->writer, &frame);
    if (status == OPD_OK) {
        of->report.records_kept++;
        of->report.calls += frame.kind == KIND_BATCH ? of->bundle->index.entries[entry].detail : 0;
    }
    return status;
}

/* Copies records of tensors whole or not at all; returns entries used in *used. */
static opd_status copy_tensor(mending *of, uint32_t entry, uint32_t *used)
{
    const opd_index *index = &of->bundle->index;
    uint32_t chunks = index->entries[entry].detail == 0 ? whole_tensor(of, entry) : 0;
    opd_status status = OPD_OK;

    if (chunks == 0) {
        /* This record and the chunks that follow it belong to a tensor that cannot be whole. */
        uint32_t last = entry + 1;
        while (last < index->count && index->entries[last].kind == KIND_TENSOR && index->entries[last].detail > 0) {
            last++;
        }
        for (uint32_t i = entry; i < last; i++) {
            of->report.records_lost++;
            of->report.bytes_lost += index->entries[i].size;
        }
        opd_error_clear();
        of->report.tensors_lost++;
        *used = last - entry;
        return OPD_OK;
    }
    for (uint32_t i = 0; status == OPD_OK && i < chunks; i++) {
        status = copy_entry(of, entry + i);
    }
    of->report.tensors_kept++;
    *used = chunks;
    return status;
}

static opd_status copy_all(mending *of)
{
    const opd_index *index = &of->bundle->index;
    opd_status status = OPD_OK;
    uint32_t used = 1;

    for (uint32_t i = 0; status == OPD_OK && i < index->count; i += used) {
        used = 1;
        status = index->entries[i].kind == KIND_TENSOR ? copy_tensor(of, i, &used) : copy_entry(of, i);
    }
    return status;
}

static void count_lost(void *context, uint64_t offset, uint64_t bytes, const char *text)
{
    mending *of = context;

    (void)offset;
    (void)text;
    of->report.records_lost++;
    of->report.bytes_lost += bytes;
}

opd_status opd_salvage(opd_salvage_report *report, const char *from, const char *to, opd_loss_fn *lost, void *context)
{
    mending of = { .lost = lost, .context = context };
    opd_status status = mending_begin(&of, from, to);

    if (status == OPD_OK) {
        status = copy_all(&of);
    }
    if (status == OPD_OK) {
        /* Damage is counted by places in the file, whether the index knew of the record or not. */
        uint64_t tensor_records = of.report.records_lost;
        uint64_t tensor_bytes = of.report.bytes_lost;
        of.report.records_lost = 0;
        of.report.bytes_lost = 0;
        opd_bundle_damage(of.bundle, count_lost, &of);
        of.report.records_lost = of.report.records_lost > tensor_records ? of.report.records_lost : tensor_records;
        of.report.bytes_lost = of.report.bytes_lost > tensor_bytes ? of.report.bytes_lost : tensor_bytes;
    }
    status = mending_end(&of, status);
    if (status == OPD_OK) {
        *report = of.report;
    }
    return status;
}

/* ----------------------------------------------------------------------------------------------------- pack */

static bool is_needed(const opd_bundle *bundle, const opd_call *call, const opd_operand *operand)
{
    const char *capture = bundle->header.capture;

    return (strcmp(capture, "inputs") == 0 || strcmp(capture, "full") == 0) && (operand->role & OPD_ROLE_IN) &&
           (call->flags & OPD_CALL_BAD_ARGS) == 0 &&
           (operand->flags & (OPD_OPERAND_MUST_NOT_READ | OPD_OPERAND_UNREADABLE | OPD_OPERAND_NOT_KEPT)) == 0;
}

/* It is wanted, and not in a store: the text says what became of it. */
static opd_status fail_without(const mending *of, const opd_digest *digest, const opd_tensor *view, void *packed,
                               uint64_t size)
{
    char text[OPD_DIGEST_TEXT];
    opd_digest_print(text, digest);
    if (opd_bundle_has_tensor(of->bundle, digest)) {
        opd_status status = reader_content(packed, (size_t)size, of->bundle, digest, view);
        if (status != OPD_OK) {
            return opd_fail_in(status, "tensor %s: in bundle %s%s", text, of->bundle->path,
                               of->bundle->store ? ", and in no store" : " (no store given)");
        }
    }
    return opd_fail(OPD_E_NOTFOUND, "tensor %s: neither in bundle %s nor in %s%s", text, of->bundle->path,
                    of->bundle->store ? "store " : "a store: none was given",
                    of->bundle->store ? of->bundle->store : "");
}

static opd_status add_tensor(mending *of, const opd_digest *digest, const opd_tensor *view, bool is_wanted)
{
    void *packed = NULL;

    if (opd_digest_is_none(digest) || view->dtype == OPD_DTYPE_NONE || index_find(&of->writer->index, digest)) {
        return OPD_OK;
    }
    bool is_stored = opd_store_has(of->bundle->store, digest);
    if (!is_stored && !is_wanted) {
        return OPD_OK;
    }
    uint64_t size = opd_tensor_packed_bytes(view);
    if (size > SIZE_MAX / 2) {
        return opd_fail(OPD_E_LIMIT, "a tensor of %" PRIu64 " bytes", size);
    }
    opd_status status = opd_alloc(&packed, (size_t)size);
    if (status == OPD_OK) {
        status = is_stored ? opd_store_get(packed, (size_t)size, of->bundle->store, digest, view)
                           : fail_without(of, digest, view, packed, size);
    }
    if (status == OPD_OK) {
        status = opd_writer_tensor(of->writer, digest, view, packed);
    } else if (status != OPD_E_NOMEM && !is_wanted) {
        if (of->lost != NULL) {
            of->lost(of->context, opd_error_text());
        }
        opd_error_clear();
        status = OPD_OK;
    }
    opd_free(packed);
    return status;
}

static opd_status add_operands(mending *of, uint64_t position)
{
    opd_call call;
    opd_status status = opd_bundle_call(&call, of->bundle, position);

    if (status == OPD_E_FORMAT) {
        opd_error_clear();
        return OPD_OK; /* a call that cannot be read names no tensors */
    }
    for (int i = 0; status == OPD_OK && i < call.operand_count; i++) {
        const opd_operand *operand = &call.operands[i];
        status = add_tensor(of, &operand->before, &operand->view, is_needed(of->bundle, &call, operand));
        if (status == OPD_OK) {
            status = add_tensor(of, &operand->after, &operand->view, false);
        }
        if (status != OPD_OK) {
            opd_fail_in(status, "%s: operand %s", call.name, operand->name);
        }
    }
    return status;
}

opd_status opd_pack(const char *from, const char *to, const char *store, opd_loss_fn *lost, void *context)
{
    mending of = { .lost = lost, .context = context };
    opd_status status = mending_begin(&of, from, to);

    if (status == OPD_OK && store) {
        status = opd_bundle_set_store(of.bundle, store);
    }
    if (status == OPD_OK) {
        status = copy_all(&of);
    }
    for (uint64_t i = 0; status == OPD_OK && i < opd_bundle_call_count(of.bundle); i++) {
        status = add_operands(&of, i);
    }
    return mending_end(&of, status);
}
