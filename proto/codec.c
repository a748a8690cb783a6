/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunk codecs. A sample of the chunk decides: new float data mostly gain nothing but in their exponent bytes, and
 * compressing 4 MiB to learn that costs ten times as much as storing them. In planes form each plane is zstd or raw
 * by itself: for each plane a u32 (little-endian) size, its top bit set when raw, then the planes' bytes.
 */
#include "codec.h"

#include <stdbool.h>
#include <string.h>
#define ZSTD_STATIC_LINKING_ONLY /* ZSTD_c_literalCompressionMode */
#include <zstd.h>

#include <opsdebug/memory.h>

#include "planes.h"

/*
 * Level 1 looks for matches. Exponent bytes have none but a skewed histogram: the fast level with Huffman literals forced on is
 * twice as fast on them, and smaller (f32 normal, top plane: 0.35 at 0.49 GB/s beside 0.37 at 0.22).
 */
#define CODEC_LEVEL          1
#define CODEC_LEVEL_LITERALS (-50)
#define CODEC_WIDTH_MAX      16
#define CODEC_SMALL          64 /* bytes up to which only constant is tried */
#define CODEC_SAMPLE         ((size_t)32 << 10)
#define CODEC_SAMPLE_PIECES  4
#define CODEC_PLANE_RAW      0x80000000u

struct opd_codec {
    ZSTD_CCtx *matcher;  /* CODEC_LEVEL */
    ZSTD_CCtx *literals; /* CODEC_LEVEL_LITERALS */
    ZSTD_DCtx *decompressor;
    uint8_t *planes; /* CODEC_CHUNK: planes of the chunk */
    uint8_t *coded;  /* coded_capacity: output of encoding */
    size_t coded_capacity;
};

opd_status codec_new(opd_codec **out)
{
    opd_codec *codec = NULL;
    opd_status status = opd_alloc((void **)&codec, sizeof(*codec));

    if (status == OPD_OK) {
        *out = codec;
    }
    return status;
}

void codec_free(opd_codec *codec)
{
    if (!codec) {
        return;
    }
    ZSTD_freeCCtx(codec->matcher);
    ZSTD_freeCCtx(codec->literals);
    ZSTD_freeDCtx(codec->decompressor);
    opd_free(codec->planes);
    opd_free(codec->coded);
    opd_free(codec);
}

/* Scratch is made at the first use: a reader of raw chunks needs none. */
static opd_status need_planes(opd_codec *codec)
{
    return codec->planes ? OPD_OK : opd_alloc((void **)&codec->planes, CODEC_CHUNK);
}

static ZSTD_CCtx *new_compressor(int level)
{
    ZSTD_CCtx *compressor = ZSTD_createCCtx();

    if (compressor) {
        ZSTD_CCtx_setParameter(compressor, ZSTD_c_compressionLevel, level);
        ZSTD_CCtx_setParameter(compressor, ZSTD_c_literalCompressionMode, ZSTD_ps_enable);
    }
    return compressor;
}

opd_status codec_prepare(opd_codec *codec)
{
    codec->coded_capacity = ZSTD_compressBound(CODEC_CHUNK) + CODEC_WIDTH_MAX * (sizeof(uint32_t) + 64);
    if (!codec->coded) {
        opd_status status = opd_alloc((void **)&codec->coded, codec->coded_capacity);
        if (status != OPD_OK) {
            return status;
        }
    }
    if (!codec->matcher) {
        codec->matcher = new_compressor(CODEC_LEVEL);
    }
    if (!codec->literals) {
        codec->literals = new_compressor(CODEC_LEVEL_LITERALS);
    }
    if (!codec->matcher || !codec->literals) {
        return opd_fail(OPD_E_NOMEM, "out of memory for a compressor");
    }
    return need_planes(codec);
}

static opd_status need_decompressor(opd_codec *codec)
{
    if (!codec->decompressor) {
        codec->decompressor = ZSTD_createDCtx();
    }
    return codec->decompressor ? OPD_OK : opd_fail(OPD_E_NOMEM, "out of memory for a decompressor");
}

/* Less than 5 % gained is not worth the time it takes to load. */
static bool is_gain(size_t coded, size_t raw)
{
    return coded < raw - raw / 20;
}

/* Compressed size into at most capacity bytes; 0 when it does not fit or fails. */
static size_t compress_into(ZSTD_CCtx *compressor, uint8_t *dst, size_t capacity, const void *src, size_t size)
{
    size_t result = ZSTD_compress2(compressor, dst, capacity, src, size);

    return ZSTD_isError(result) ? 0 : result;
}

static bool is_constant(const uint8_t *bytes, size_t size, size_t element)
{
    return size > element && size % element == 0 && memcmp(bytes, bytes + element, size - element) == 0;
}

/* Copies pieces spread over src to dst, whole components; returns bytes. */
static size_t take_sample(uint8_t *dst, const uint8_t *src, size_t size)
{
    size_t piece = CODEC_SAMPLE / CODEC_SAMPLE_PIECES;
    size_t stride = (size - piece) / (CODEC_SAMPLE_PIECES - 1) / CODEC_WIDTH_MAX * CODEC_WIDTH_MAX;

    if (size <= CODEC_SAMPLE) {
        memcpy(dst, src, size);
        return size;
    }
    for (size_t i = 0; i < CODEC_SAMPLE_PIECES; i++) {
        memcpy(dst + i * piece, src + i * stride, piece);
    }
    return CODEC_SAMPLE;
}

/* How a chunk is to be encoded. */
typedef struct plan {
    uint32_t codec;                      /* RAW, ZSTD or PLANES */
    ZSTD_CCtx *planes[PLANES_WIDTH_MAX]; /* for each plane its compressor; NULL = raw */
} plan;

/* The compressor that a plane's sample speaks for, and the size it gives. */
static ZSTD_CCtx *judge_plane(size_t *coded, opd_codec *codec, const uint8_t *plane, size_t size)
{
    size_t literals = compress_into(codec->literals, codec->coded, codec->coded_capacity, plane, size);
    size_t matches = compress_into(codec->matcher, codec->coded, codec->coded_capacity, plane, size);

    if (literals > 0 && is_gain(literals, size) && !(matches > 0 && is_gain(matches, literals))) {
        *coded = literals;
        return codec->literals;
    }
    if (matches > 0 && is_gain(matches, size)) {
        *coded = matches;
        return codec->matcher;
    }
    *coded = size;
    return NULL;
}

static void judge_sample(plan *out, opd_codec *codec, const uint8_t *src, size_t size, size_t width)
{
    uint8_t sample[CODEC_SAMPLE];
    uint8_t planes[CODEC_SAMPLE];
    size_t taken = take_sample(sample, src, size) / width * width;
    size_t count = taken / width;
    size_t plain = compress_into(codec->matcher, codec->coded, codec->coded_capacity, sample, taken);
    size_t split = 0;

    out->codec = plain > 0 && is_gain(plain, taken) ? CODEC_ZSTD : CODEC_RAW;
    if (width == 1) {
        return;
    }
    uint8_t *split_to[PLANES_WIDTH_MAX];
    for (size_t byte = 0; byte < width; byte++) {
        split_to[byte] = planes + byte * count;
    }
    planes_split(split_to, sample, count, width);
    for (size_t byte = 0; byte < width; byte++) {
        size_t coded = 0;
        out->planes[byte] = judge_plane(&coded, codec, split_to[byte], count);
        split += coded;
    }
    if (is_gain(split, taken) && (plain == 0 || split < plain)) {
        out->codec = CODEC_PLANES;
    }
}

/* Length of the planes form at codec->coded; 0 when it is no gain after all. */
static size_t encode_planes(opd_codec *codec, const uint8_t *src, size_t size, size_t width, const plan *how)
{
    size_t count = size / width;
    size_t used = width * sizeof(uint32_t);

    /* The low bytes come first and are mostly stored raw: those go straight to their place. */
    uint8_t *split_to[PLANES_WIDTH_MAX];
    bool is_leading = true;
    for (size_t byte = 0; byte < width; byte++) {
        is_leading = is_leading && !how->planes[byte];
        split_to[byte] = is_leading ? codec->coded + used + byte * count : codec->planes + byte * count;
    }
    planes_split(split_to, src, count, width);
    for (size_t byte = 0; byte < width; byte++) {
        const uint8_t *plane = split_to[byte];
        size_t coded = 0;
        if (how->planes[byte]) {
            coded = compress_into(how->planes[byte], codec->coded + used, codec->coded_capacity - used, plane, count);
        }
        uint32_t head = (uint32_t)coded;
        if (coded == 0 || !is_gain(coded, count)) {
            if (plane != codec->coded + used) {
                memcpy(codec->coded + used, plane, count);
            }
            coded = count;
            head = (uint32_t)count | CODEC_PLANE_RAW;
        }
        for (int i = 0; i < 4; i++) {
            codec->coded[byte * sizeof(uint32_t) + (size_t)i] = (uint8_t)(head >> (8 * i));
        }
        used += coded;
    }
    return is_gain(used, size) ? used : 0;
}

/* Bytes of one component: what planes are made of; 1 where planes do not apply. */
static size_t component_width(opd_dtype dtype, size_t size)
{
    size_t width = opd_dtype_size(opd_dtype_real(dtype));

    return width > 1 && width <= PLANES_WIDTH_MAX && size % width == 0 ? width : 1;
}

opd_status codec_encode(opd_coded *out, opd_codec *codec, const void *src, size_t size, opd_dtype dtype)
{
    opd_coded result = { .codec = CODEC_RAW, .bytes = src, .size = size };
    size_t element = opd_dtype_size(dtype);
    size_t width = component_width(dtype, size);
    plan how = { .codec = CODEC_RAW };

    if (element > 0 && is_constant(src, size, element)) {
        *out = (opd_coded){ .codec = CODEC_CONSTANT, .width = (uint32_t)element, .bytes = src, .size = element };
        return OPD_OK;
    }
    if (size > CODEC_SMALL) {
        opd_status status = codec_prepare(codec);
        if (status != OPD_OK) {
            return status;
        }
        judge_sample(&how, codec, src, size, width);
        size_t coded = 0;
        if (how.codec == CODEC_PLANES) {
            coded = encode_planes(codec, src, size, width, &how);
        } else if (how.codec == CODEC_ZSTD) {
            coded = compress_into(codec->matcher, codec->coded, codec->coded_capacity, src, size);
        }
        if (coded > 0 && is_gain(coded, size)) {
            result = (opd_coded){ .codec = how.codec,
                                  .width = how.codec == CODEC_PLANES ? (uint32_t)width : 0,
                                  .bytes = codec->coded,
                                  .size = coded };
        }
    }
    *out = result;
    return OPD_OK;
}

/* The declared size is checked before a byte is decompressed; the output cannot grow past it. */
static opd_status decompress(opd_codec *codec, void *dst, size_t dst_size, const uint8_t *src, size_t src_size)
{
    unsigned long long declared = ZSTD_getFrameContentSize(src, src_size);
    opd_status status = need_decompressor(codec);

    if (status != OPD_OK) {
        return status;
    }
    if (declared != dst_size) {
        return opd_fail(OPD_E_FORMAT, "a zstd frame does not declare the %zu bytes it should hold", dst_size);
    }
    size_t got = ZSTD_decompressDCtx(codec->decompressor, dst, dst_size, src, src_size);
    if (ZSTD_isError(got)) {
        return opd_fail(OPD_E_FORMAT, "zstd: %s", ZSTD_getErrorName(got));
    }
    return got == dst_size ? OPD_OK : opd_fail(OPD_E_FORMAT, "a zstd frame holds %zu bytes, not %zu", got, dst_size);
}

static opd_status decode_planes(void *dst, size_t size, opd_codec *codec, const opd_coded *coded)
{
    const uint8_t *planes[PLANES_WIDTH_MAX];
    size_t width = coded->width;
    size_t used = width * sizeof(uint32_t);
    bool is_width = width == 2 || width == 4 || width == 8;

    if (!is_width || size % width != 0 || size > CODEC_CHUNK || coded->size < used) {
        return opd_fail(OPD_E_FORMAT, "byte planes of width %zu do not fit %zu bytes", width, size);
    }
    size_t count = size / width;
    for (size_t byte = 0; byte < width; byte++) {
        const uint8_t *head = coded->bytes + byte * sizeof(uint32_t);
        uint32_t value = (uint32_t)head[0] | (uint32_t)head[1] << 8 | (uint32_t)head[2] << 16 | (uint32_t)head[3] << 24;
        size_t length = value & ~CODEC_PLANE_RAW;
        if (length > coded->size - used) {
            return opd_fail(OPD_E_FORMAT, "byte plane %zu is cut off", byte);
        }
        planes[byte] = coded->bytes + used;
        used += length;
        if (value & CODEC_PLANE_RAW) {
            if (length != count) {
                return opd_fail(OPD_E_FORMAT, "byte plane %zu has %zu bytes, not %zu", byte, length, count);
            }
            continue;
        }
        opd_status status = need_planes(codec);
        if (status == OPD_OK) {
            status = decompress(codec, codec->planes + byte * count, count, planes[byte], length);
        }
        if (status != OPD_OK) {
            return status;
        }
        planes[byte] = codec->planes + byte * count;
    }
    if (used != coded->size) {
        return opd_fail(OPD_E_FORMAT, "%zu bytes after the last byte plane", coded->size - used);
    }
    planes_join(dst, planes, count, width);
    return OPD_OK;
}

static opd_status decode_constant(uint8_t *dst, size_t size, const opd_coded *coded)
{
    size_t width = coded->width;

    if (width == 0 || width > CODEC_WIDTH_MAX || coded->size != width || size % width != 0) {
        return opd_fail(OPD_E_FORMAT, "a constant of %zu bytes does not fill %zu bytes", coded->size, size);
    }
    if (size == 0) {
        return OPD_OK;
    }
    memcpy(dst, coded->bytes, width);
    for (size_t done = width; done < size;) {
        size_t step = done < size - done ? done : size - done;
        memcpy(dst + done, dst, step);
        done += step;
    }
    return OPD_OK;
}

opd_status codec_decode(void *dst, size_t size, opd_codec *codec, const opd_coded *coded)
{
    switch (coded->codec) {
    case CODEC_RAW:
        if (coded->size != size) {
            return opd_fail(OPD_E_FORMAT, "a raw chunk has %zu bytes, not %zu", coded->size, size);
        }
        if (size > 0) {
            memcpy(dst, coded->bytes, size);
        }
        return OPD_OK;
    case CODEC_ZSTD:
        return decompress(codec, dst, size, coded->bytes, coded->size);
    case CODEC_PLANES:
        return decode_planes(dst, size, codec, coded);
    case CODEC_CONSTANT:
        return decode_constant(dst, size, coded);
    default:
        return opd_fail(OPD_E_UNSUPPORTED, "codec %u is not known to this version", coded->codec);
    }
}
