/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of inner stages while they are traced: definitions and chains fill it and hand it over whole. Private to kernels/. */
#ifndef OPD_KERNELS_STAGE_MEMORY_H
#define OPD_KERNELS_STAGE_MEMORY_H

#include <opsdebug/kernel.h>

/* Memory for a stage of count numbers, zeroed, when stages are traced; *out stays NULL when they are not. errors: E_NOMEM. */
opd_status opd_stage_begin(double **out, int64_t count);
/* Reports the stage in f64 and frees it; NULL: nothing. */
void opd_stage_end(const char *stage, double *values, int32_t rank, const int64_t *shape);

#endif
