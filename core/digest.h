/* SPDX-License-Identifier: Apache-2.0 */
/* A digest taken piece by piece; pieces are packed bytes in walk order. */
#ifndef OPD_CORE_DIGEST_H
#define OPD_CORE_DIGEST_H

#include <opsdebug/tensor.h>

/* Room and alignment of an XXH3_state_t; digest.c checks both. */
typedef struct opd_digester {
    _Alignas(64) uint8_t state[576];
} opd_digester;

/* runs must be as opd_runs_begin() left it. */
void opd_digester_begin(opd_digester *digester, const opd_runs *runs);
void opd_digester_update(opd_digester *digester, const void *bytes, size_t size);
opd_digest opd_digester_end(const opd_digester *digester);

/* In one call: what is hashed is the header and, right behind it, the packed bytes. */
#define OPD_DIGEST_HEADER 112 /* bytes that a header may have */
size_t opd_digest_header(uint8_t header[OPD_DIGEST_HEADER], const opd_runs *runs);
opd_digest opd_digest_whole(const uint8_t *header_and_bytes, size_t size);

#endif
