/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors that cannot be read although their records are as they were written: a payload that does not decode, or that decodes to
 * something else than its digest says. Found before a copy is made, so that the copy claims nothing that it cannot give.
 */
#include "soundness.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define DIGEST_MAX ((uint64_t)1 << 30) /* bytes of a tensor that is held in memory as a whole */

enum { UNSEEN, SOUND, UNSOUND };

typedef struct survey {
    const opd_bundle *bundle;
    uint8_t *states; /* per blob */
    char **losses;   /* per blob */
    opd_codec *codec;
    uint8_t *scratch; /* of one chunk */
} survey;

/* Decodes chunk after chunk. A recipe has nothing to decode. */
static opd_status decode(const survey *of, const opd_index_blob *blob)
{
    uint64_t chunks = 1;
    for (uint64_t i = 0; i < chunks; i++) {
        opd_frame_view frame;
        opd_tensor_place place;
        opd_status status = reader_frame(&frame, of->bundle, blob->entry + (uint32_t)i);
        if (status == OPD_OK) {
            status = reader_tensor_place(&place, &frame);
        }
        if (status != OPD_OK || place.coded.codec == CODEC_RECIPE) {
            return status;
        }
        uint64_t left = place.bytes - (place.bytes < i * CODEC_CHUNK ? place.bytes : i * CODEC_CHUNK);
        status = codec_decode(of->scratch, left < CODEC_CHUNK ? (size_t)left : CODEC_CHUNK, of->codec, &place.coded);
        if (status != OPD_OK) {
            return opd_fail_in(status, "record at offset %" PRIu64, frame.offset);
        }
        chunks = place.bytes == 0 ? 1 : (place.bytes - 1) / CODEC_CHUNK + 1;
        chunks = chunks < of->bundle->index.count - blob->entry ? chunks : of->bundle->index.count - blob->entry;
    }
    return OPD_OK;
}

/* Reads it as one operand sees it. */
static opd_status read_as(const survey *of, const opd_index_blob *blob, const opd_tensor *view)
{
    uint64_t size = opd_tensor_packed_bytes(view);
    void *packed = NULL;
    if (size > DIGEST_MAX) {
        return decode(of, blob);
    }
    opd_status status = opd_alloc(&packed, size > 0 ? (size_t)size : 1);
    if (status == OPD_OK) {
        status = reader_content(packed, (size_t)size, of->bundle, &blob->digest, view);
    }
    opd_free(packed);
    return status;
}

/* Running out of memory says nothing of the tensor. */
static opd_status judge(survey *of, const opd_index_blob *blob, opd_status status, const char *who)
{
    size_t number = (size_t)(blob - of->bundle->index.blobs);
    if (status == OPD_E_NOMEM) {
        return status;
    }
    if (status == OPD_OK) {
        of->states[number] = SOUND;
        return OPD_OK;
    }
    bool is_first = of->states[number] == UNSEEN;
    of->states[number] = UNSOUND;
    if (is_first) {
        char text[640] = "";
        if (who != NULL) {
            snprintf(text, sizeof(text), "%s: %s", who, opd_error_text());
        }
        status = opd_strdup(&of->losses[number], text);
        if (status != OPD_OK) {
            return status;
        }
    }
    opd_error_clear();
    return OPD_OK;
}

static opd_status look_at_operand(survey *of, const opd_call *call, const opd_operand *operand,
                                  const opd_digest *digest)
{
    char who[256];
    const opd_index_blob *blob = opd_digest_is_none(digest) ? NULL : index_find(&of->bundle->index, digest);
    if (blob == NULL || operand->view.dtype == OPD_DTYPE_NONE || of->states[blob - of->bundle->index.blobs] == SOUND) {
        return OPD_OK;
    }
    snprintf(who, sizeof(who), "%s, thread %" PRIu32 " call %" PRIu64 ", operand %s %s", call->name, call->thread,
             call->number, operand->name, digest == &operand->before ? "before" : "after");
    return judge(of, blob, read_as(of, blob, &operand->view), who);
}

static opd_status look_at_calls(survey *of)
{
    opd_status status = OPD_OK;
    for (uint64_t i = 0; status == OPD_OK && i < opd_bundle_call_count(of->bundle); i++) {
        opd_call call;
        status = opd_bundle_call(&call, of->bundle, i);
        if (status != OPD_OK && status != OPD_E_NOMEM) {
            opd_error_clear(); /* a call that cannot be read names no tensors */
            status = OPD_OK;
            continue;
        }
        for (int k = 0; status == OPD_OK && k < call.operand_count; k++) {
            status = look_at_operand(of, &call, &call.operands[k], &call.operands[k].before);
            if (status == OPD_OK) {
                status = look_at_operand(of, &call, &call.operands[k], &call.operands[k].after);
            }
        }
    }
    return status;
}

/* Those of no call are nobody's loss: left out, counted, not told. */
static opd_status look_at_rest(survey *of)
{
    const opd_index *index = &of->bundle->index;
    opd_status status = OPD_OK;
    for (size_t i = 0; status == OPD_OK && i < index->blob_count; i++) {
        if (of->states[i] == UNSEEN) {
            status = judge(of, &index->blobs[i], decode(of, &index->blobs[i]), NULL);
        }
    }
    return status;
}

static opd_status look_at_all(survey *of)
{
    opd_status status = opd_alloc((void **)&of->scratch, CODEC_CHUNK);
    if (status == OPD_OK) {
        status = codec_new(&of->codec);
    }
    if (status == OPD_OK) {
        status = look_at_calls(of);
    }
    if (status == OPD_OK) {
        status = look_at_rest(of);
    }
    codec_free(of->codec);
    opd_free(of->scratch);
    return status;
}

opd_status soundness_find(opd_soundness *out, const opd_bundle *bundle)
{
    survey of = { .bundle = bundle };
    size_t count = bundle->index.blob_count;
    if (count == 0) {
        *out = (opd_soundness){ .bundle = bundle };
        return OPD_OK;
    }
    opd_status status = opd_alloc_array((void **)&of.states, count, sizeof(*of.states));
    if (status == OPD_OK) {
        status = opd_alloc_array((void **)&of.losses, count, sizeof(*of.losses));
    }
    if (status == OPD_OK) {
        status = look_at_all(&of);
    }
    for (size_t i = 0; status == OPD_OK && i < count; i++) {
        if (of.states[i] == SOUND) {
            opd_free(of.losses[i]); /* of an operand that sees it otherwise than another, which can read it */
            of.losses[i] = NULL;
        }
    }
    opd_soundness made = { .bundle = bundle, .losses = of.losses };
    opd_free(of.states);
    if (status == OPD_OK) {
        *out = made;
    } else {
        soundness_done(&made);
    }
    return status;
}

void soundness_done(opd_soundness *soundness)
{
    for (size_t i = 0; soundness->losses != NULL && i < soundness->bundle->index.blob_count; i++) {
        opd_free(soundness->losses[i]);
    }
    opd_free(soundness->losses);
    soundness->losses = NULL;
}

bool soundness_of(const opd_soundness *soundness, const opd_digest *digest)
{
    const opd_index_blob *blob = index_find(&soundness->bundle->index, digest);
    return blob == NULL || soundness->losses == NULL ||
           soundness->losses[blob - soundness->bundle->index.blobs] == NULL;
}

void soundness_tell(const opd_soundness *soundness, const opd_index *copy, opd_loss_fn *lost, void *context)
{
    const opd_index *index = &soundness->bundle->index;
    for (size_t i = 0; lost != NULL && soundness->losses != NULL && i < index->blob_count; i++) {
        if (soundness->losses[i] != NULL && soundness->losses[i][0] != '\0' &&
            index_find(copy, &index->blobs[i].digest) == NULL) {
            lost(context, soundness->losses[i]);
        }
    }
}
