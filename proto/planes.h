/* SPDX-License-Identifier: Apache-2.0 */
/* Byte planes: byte b of every component, for each b. The exponent bytes of floats compress, the low bytes do not. */
#ifndef OPD_PROTO_PLANES_H
#define OPD_PROTO_PLANES_H

#include <stddef.h>
#include <stdint.h>

#define PLANES_WIDTH_MAX 8

/* width 2, 4 or 8; count components; planes[b] holds count bytes. dst, src and planes do not overlap. */
void planes_split(uint8_t *const planes[], const uint8_t *src, size_t count, size_t width);
void planes_join(uint8_t *dst, const uint8_t *const planes[], size_t count, size_t width);

#endif
