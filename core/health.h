/* SPDX-License-Identifier: Apache-2.0 */
/* Health taken piece by piece; pieces are packed elements in walk order. */
#ifndef OPD_CORE_HEALTH_H
#define OPD_CORE_HEALTH_H

#include <opsdebug/tensor.h>

#include "dtype.h"
#include "kernels.h"

typedef struct opd_health_state {
    opd_health *out;
    const opd_dtype_info *info;
    const opd_kernels *kernels;
    opd_dtype dtype;
    bool is_full; /* else only NaN and Inf */
    bool is_complex;
    double normal; /* smallest normal number of a component; 0 for integers */
    opd_lanes lanes;
    unsigned lane; /* of the next component */
} opd_health_state;

/* is_full false: floats only. The calling thread's floating-point environment does not matter and stays as it is. */
void opd_health_begin(opd_health_state *state, opd_health *out, opd_dtype dtype, bool is_full);
void opd_health_update(opd_health_state *state, const void *elements, size_t count);
void opd_health_end(opd_health_state *state);

#endif
