/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the fuzz targets that read bundles make of their input. Checks would stop most inputs at the door, so the first byte chooses: the
 * rest as it is, or with every record's check made right, so that what lies behind it is reached.
 */
#ifndef OPD_TESTS_FUZZ_MEND_H
#define OPD_TESTS_FUZZ_MEND_H

#include <stddef.h>
#include <stdint.h>

/* Writes size - 1 bytes; size is at least 1. */
void fuzz_bundle_bytes(uint8_t *bytes, const uint8_t *data, size_t size);

#endif
