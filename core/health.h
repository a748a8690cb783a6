/* SPDX-License-Identifier: Apache-2.0 */
/* Health taken piece by piece; pieces are packed elements in walk order. */
#ifndef OPD_CORE_HEALTH_H
#define OPD_CORE_HEALTH_H

#include <opsdebug/tensor.h>

/* Components are summed in this many lanes by their position, so that the mean does not depend on how the memory was cut. */
#define OPD_HEALTH_LANES 8

typedef struct opd_health_state {
    opd_health *out;
    opd_dtype dtype;
    bool is_full;        /* else only NaN and Inf */
    uint64_t components; /* seen */
    uint64_t finite;     /* of these */
    double sum[OPD_HEALTH_LANES];
} opd_health_state;

/* Between begin and end the thread's floating-point environment is the default one, on x86. */
void opd_health_begin(opd_health_state *state, opd_health *out, opd_dtype dtype, bool is_full);
void opd_health_update(opd_health_state *state, const void *elements, size_t count);
void opd_health_end(opd_health_state *state);

#endif
