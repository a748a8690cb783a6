/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor content by digest: from the bundle's chunks, else from the store. Chunks are decoded straight from the mapped file
 * into the caller's memory, then the digest is taken of what came out.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "capped.h"
#include "codec.h"
#include "reader.h"

#define RECIPE_SPAN_MAX (INT64_C(8) << 30)

opd_status opd_bundle_set_store(opd_bundle *bundle, const char *directory)
{
    char *copy = NULL;

    if (directory) {
        opd_status status = opd_strdup(&copy, directory);
        if (status != OPD_OK) {
            return status;
        }
    }
    opd_free(bundle->store);
    bundle->store = copy;
    return OPD_OK;
}

bool opd_bundle_has_tensor(const opd_bundle *bundle, const opd_digest *digest)
{
    return !opd_digest_is_none(digest) && index_find(&bundle->index, digest) != NULL;
}

opd_status reader_tensor_place(opd_tensor_place *out, const opd_frame_view *frame)
{
    opd_frame_parts parts;
    ProtobufCMessage *base = NULL;
    opd_status status = frame_split(&parts, frame);

    if (status == OPD_OK) {
        status = capped_unpack(&base, &opsdebug__tensor__descriptor, parts.message, parts.message_size);
    }
    if (status != OPD_OK) {
        return status;
    }
    const Opsdebug__Tensor *message = (const Opsdebug__Tensor *)base;
    if (message->digest.len != sizeof(out->digest.bytes)) {
        status = opd_fail(OPD_E_FORMAT, "a digest of %zu bytes", message->digest.len);
    } else {
        *out = (opd_tensor_place){ .bytes = message->bytes, .chunk = message->chunk };
        memcpy(out->digest.bytes, message->digest.data, sizeof(out->digest.bytes));
        out->coded = (opd_coded){
            .codec = message->codec, .width = message->width, .bytes = parts.data, .size = parts.data_size
        };
        out->recipe =
            (opd_fill){ .kind = (opd_fill_kind)message->fill, .seed = message->seed, .stream = message->stream };
        memcpy(&out->recipe.a, &message->a, sizeof(out->recipe.a));
        memcpy(&out->recipe.b, &message->b, sizeof(out->recipe.b));
    }
    capped_free(base);
    return status;
}

/* What a chunk says of itself must be what its place implies. */
static opd_status check_place(const opd_tensor_place *place, const opd_digest *digest, uint32_t chunk, uint64_t size)
{
    if (!opd_digest_equal(&place->digest, digest)) {
        return opd_fail(OPD_E_FORMAT, "chunk %u belongs to another tensor", chunk);
    }
    if (place->chunk != chunk) {
        return opd_fail(OPD_E_FORMAT, "chunk %u where chunk %u should be", place->chunk, chunk);
    }
    if (place->bytes != size) {
        return opd_fail(OPD_E_FORMAT, "the tensor has %" PRIu64 " bytes, %" PRIu64 " are wanted", place->bytes, size);
    }
    return OPD_OK;
}

static opd_status read_chunk(uint8_t *dst, uint64_t size, const opd_bundle *bundle, const opd_index_blob *blob,
                             uint32_t chunk, opd_codec *codec)
{
    opd_frame_view frame;
    opd_tensor_place place = { 0 };
    uint64_t start = (uint64_t)chunk * CODEC_CHUNK;
    uint32_t entry = blob->entry + chunk;

    if (entry >= bundle->index.count || bundle->index.entries[entry].kind != KIND_TENSOR) {
        return opd_fail(OPD_E_FORMAT, "chunk %u is missing", chunk);
    }
    opd_status status = reader_frame(&frame, bundle, entry);
    if (status != OPD_OK) {
        return status;
    }
    status = reader_tensor_place(&place, &frame);
    if (status == OPD_OK) {
        status = check_place(&place, &blob->digest, chunk, size);
    }
    if (status == OPD_OK) {
        status = codec_decode(dst + start, size - start < CODEC_CHUNK ? (size_t)(size - start) : CODEC_CHUNK, codec,
                              &place.coded);
    }
    return status == OPD_OK ? OPD_OK : opd_fail_in(status, "record at offset %" PRIu64, frame.offset);
}

opd_status reader_tensor(void *dst, uint64_t size, const opd_bundle *bundle, const opd_digest *digest)
{
    const opd_index_blob *blob = index_find(&bundle->index, digest);
    uint64_t chunks = size == 0 ? 1 : (size + CODEC_CHUNK - 1) / CODEC_CHUNK;
    opd_codec *codec = NULL;

    if (!blob) {
        return opd_fail(OPD_E_NOTFOUND, "no such tensor");
    }
    if (chunks > bundle->index.count) {
        return opd_fail(OPD_E_FORMAT, "the bundle is too small for %" PRIu64 " chunks", chunks);
    }
    opd_status status = codec_new(&codec);
    for (uint64_t i = 0; status == OPD_OK && i < chunks; i++) {
        status = read_chunk(dst, size, bundle, blob, (uint32_t)i, codec);
    }
    codec_free(codec);
    return status;
}

/* The recipe of a tensor that has one in place of its content. */
static bool find_recipe(opd_fill *out, const opd_bundle *bundle, const opd_digest *digest, uint64_t size)
{
    const opd_index_blob *blob = index_find(&bundle->index, digest);
    opd_frame_view frame;
    opd_tensor_place place = { 0 };
    bool is_recipe = blob != NULL && reader_frame(&frame, bundle, blob->entry) == OPD_OK &&
                     reader_tensor_place(&place, &frame) == OPD_OK && place.coded.codec == CODEC_RECIPE &&
                     check_place(&place, digest, 0, size) == OPD_OK && place.recipe.kind <= OPD_FILL_SPECIAL;
    *out = place.recipe;
    return is_recipe;
}

/* Follows a recipe over memory laid out as the view says: which element comes first in the packed form depends on that. */
static opd_status make_content(void *dst, const opd_tensor *view, const opd_fill *recipe)
{
    opd_tensor made = *view;
    void *memory = NULL;
    int64_t low = 0;
    int64_t high = 0;

    opd_tensor_span(view, &low, &high);
    if (high - low > RECIPE_SPAN_MAX) {
        return opd_fail(OPD_E_LIMIT, "its recipe would need %" PRId64 " bytes", high - low);
    }
    opd_status status = high > low ? opd_alloc(&memory, (size_t)(high - low)) : OPD_OK;
    if (status == OPD_OK && memory != NULL) {
        made.data = (uint8_t *)memory - low;
        opd_tensor_fill(&made, recipe);
        opd_tensor_pack(dst, &made);
    }
    opd_free(memory);
    return status;
}

static opd_status check_size(size_t size, const opd_tensor *view)
{
    opd_status status = opd_tensor_check(view);

    if (status == OPD_OK && opd_tensor_packed_bytes(view) != size) {
        return opd_fail(OPD_E_INVALID, "the view packs to %" PRIu64 " bytes, not %zu", opd_tensor_packed_bytes(view),
                        size);
    }
    return status;
}

opd_status reader_content(void *dst, size_t size, const opd_bundle *bundle, const opd_digest *digest,
                          const opd_tensor *view)
{
    opd_fill recipe;
    opd_status status = check_size(size, view);

    if (status != OPD_OK) {
        return status;
    }
    bool is_made = find_recipe(&recipe, bundle, digest, size);
    status = is_made ? make_content(dst, view, &recipe) : reader_tensor(dst, size, bundle, digest);
    if (status != OPD_OK) {
        return status;
    }
    opd_digest real = opd_packed_digest(view, dst);
    if (!opd_digest_equal(&real, digest)) {
        return opd_fail(OPD_E_FORMAT, is_made ? "its recipe makes another content" : "its content has another digest");
    }
    return OPD_OK;
}

opd_status opd_bundle_tensor(void *dst, size_t size, const opd_bundle *bundle, const opd_digest *digest,
                             const opd_tensor *view)
{
    char text[OPD_DIGEST_TEXT];
    opd_status status = check_size(size, view);

    if (status != OPD_OK) {
        return status;
    }
    opd_digest_print(text, digest);
    status = reader_content(dst, size, bundle, digest, view);
    if (status == OPD_OK || status == OPD_E_NOMEM) {
        return status;
    }
    opd_status in_bundle = status;
    if (bundle->store) {
        char why[256];
        snprintf(why, sizeof(why), "%s", opd_error_text());
        status = opd_store_get(dst, size, bundle->store, digest, view);
        if (status == OPD_OK || status == OPD_E_NOMEM) {
            return status;
        }
        if (status == OPD_E_NOTFOUND) {
            return opd_fail(in_bundle, "tensor %s: in bundle %s: %s; in store %s: not there", text, bundle->path, why,
                            bundle->store);
        }
        return opd_fail_in(status, "tensor %s: in bundle %s: %s; in the store", text, bundle->path, why);
    }
    return opd_fail_in(in_bundle, "tensor %s: in bundle %s (no store given)", text, bundle->path);
}
