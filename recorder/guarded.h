/* SPDX-License-Identifier: Apache-2.0 */
/* Reading memory that may not be there. */
#ifndef OPD_GUARDED_H
#define OPD_GUARDED_H

#include <stdbool.h>

#include <opsdebug/tensor.h>

/*
 * opd_tensor_scan() of an operand that may not be there: false when it is not, and what was to be filled is undefined. A jump leaves the scan in
 * the middle, so the floating-point mode is given back here.
 */
bool opd_guarded_scan(const opd_tensor *view, void *copy, opd_digest *digest, opd_health *health);
/* Likewise opd_tensor_sample(), which tells *is_part. */
bool opd_guarded_sample(const opd_tensor *view, uint64_t seed, bool *is_part, opd_health *health);

#endif
