/* SPDX-License-Identifier: Apache-2.0 */
/* Compression of one tensor chunk, chosen per chunk by a sample. */
#ifndef OPD_PROTO_CODEC_H
#define OPD_PROTO_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include <opsdebug/status.h>
#include <opsdebug/tensor.h>

#define CODEC_CHUNK ((size_t)4 << 20) /* bytes of packed content per chunk */

/* Pinned numbers. */
enum { CODEC_RAW = 0, CODEC_ZSTD = 1, CODEC_PLANES = 2, CODEC_CONSTANT = 3, CODEC_RECIPE = 4 };

typedef struct opd_codec opd_codec; /* contexts and scratch of one thread */
opd_status codec_new(opd_codec **out);
void codec_free(opd_codec *codec);
/* Makes the scratch of encoding, so that codec_encode cannot run out of memory. */
opd_status codec_prepare(opd_codec *codec);

typedef struct opd_coded {
    uint32_t codec;
    uint32_t width;       /* bytes of a component (PLANES) or element (CONSTANT), else 0 */
    const uint8_t *bytes; /* borrowed: from src or codec, until the next call */
    size_t size;
} opd_coded;

/*
 * Encodes size <= CODEC_CHUNK bytes of elements of dtype. Never larger than raw.
 * errors    E_NOMEM. A compressor's own trouble is not an error: the chunk is stored raw.
 */
opd_status codec_encode(opd_coded *out, opd_codec *codec, const void *src, size_t size, opd_dtype dtype);

/*
 * Decodes into exactly size bytes at dst. Sizes that disagree are found before anything is decompressed.
 * errors    E_FORMAT what disagrees; E_UNSUPPORTED a codec this build does not know; E_NOMEM.
 */
opd_status codec_decode(void *dst, size_t size, opd_codec *codec, const opd_coded *coded);

#endif
