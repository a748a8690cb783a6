/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digest: XXH3-128 over the walk's header and the packed bytes. The bulk is hashed by the kernel of
 * the CPU's instruction set; the state is the same for all of them.
 */
#include "digest.h"

#include <string.h>

#include "kernels.h"
#include "walk.h"
#include "xxh3.h"

_Static_assert(sizeof(XXH3_state_t) <= sizeof(opd_digester), "opd_digester is too small");
_Static_assert(_Alignof(XXH3_state_t) <= _Alignof(opd_digester), "opd_digester is not aligned enough");

#define HEADER_WORDS (1 + OPD_MAX_RANK + 5)

_Static_assert(HEADER_WORDS * sizeof(int64_t) <= OPD_DIGEST_HEADER, "a header may not fit");

static XXH3_state_t *state_of(opd_digester *digester)
{
    return (XXH3_state_t *)(void *)digester->state;
}

/* Every field is stored as the little-endian integer it is. */
size_t opd_digest_header(uint8_t header[OPD_DIGEST_HEADER], const opd_runs *runs)
{
    const opd_tensor *walk = &runs->walk;
    uint32_t head[2] = { (uint32_t)walk->dtype, (uint32_t)walk->rank | (uint32_t)walk->mask.kind << 16 };
    int64_t words[HEADER_WORDS];
    size_t count = 0;
    for (int32_t d = 0; d < walk->rank; d++) {
        words[count++] = walk->shape[d];
    }
    if (walk->mask.kind == OPD_FORM_SLOPE) {
        words[count++] = runs->slope;
        words[count++] = runs->lower;
        words[count++] = runs->upper;
        words[count++] = runs->hole_outer;
        words[count++] = runs->hole_inner;
    } else if (walk->mask.kind == OPD_FORM_PACKED) {
        words[count++] = walk->mask.upper;
    }
    memcpy(header, head, sizeof(head));
    memcpy(header + sizeof(head), words, count * sizeof(words[0]));
    return sizeof(head) + count * sizeof(words[0]);
}

void opd_digester_begin(opd_digester *digester, const opd_runs *runs)
{
    uint8_t header[OPD_DIGEST_HEADER];
    size_t size = opd_digest_header(header, runs);
    (void)XXH3_128bits_reset(state_of(digester));
    (void)XXH3_128bits_update(state_of(digester), header, size);
}

void opd_digester_update(opd_digester *digester, const void *bytes, size_t size)
{
    opd_kernels_get()->digest_update(digester->state, bytes, size);
}

static opd_digest digest_of(XXH128_hash_t hash)
{
    XXH128_canonical_t canonical;
    opd_digest digest;
    XXH128_canonicalFromHash(&canonical, hash);
    memcpy(digest.bytes, canonical.digest, sizeof(digest.bytes));
    if (opd_digest_is_none(&digest)) {
        digest.bytes[15] = 1; /* all zero is kept for "not taken" */
    }
    return digest;
}

opd_digest opd_digester_end(const opd_digester *digester)
{
    return digest_of(XXH3_128bits_digest((const XXH3_state_t *)(const void *)digester->state));
}

opd_digest opd_digest_whole(const uint8_t *header_and_bytes, size_t size)
{
    return digest_of(XXH3_128bits(header_and_bytes, size));
}

opd_digest opd_packed_digest(const opd_tensor *view, const void *packed)
{
    opd_runs runs;
    opd_digester digester;
    opd_runs_begin(&runs, view);
    opd_digester_begin(&digester, &runs);
    opd_digester_update(&digester, packed, (size_t)opd_walk_count(&runs) * opd_dtype_size(view->dtype));
    return opd_digester_end(&digester);
}

bool opd_digest_equal(const opd_digest *a, const opd_digest *b)
{
    return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

bool opd_digest_is_none(const opd_digest *digest)
{
    static const opd_digest none;
    return opd_digest_equal(digest, &none);
}

void opd_digest_print(char text[OPD_DIGEST_TEXT], const opd_digest *digest)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < sizeof(digest->bytes); i++) {
        text[2 * i] = digits[digest->bytes[i] >> 4];
        text[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    text[OPD_DIGEST_TEXT - 1] = '\0';
}
