/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How far one tensor is from another, in the figures people ask for. They describe; they never decide whether a result is right (that is
 * the bound of the operator's contract).
 */
#ifndef OPSDEBUG_METRICS_H
#define OPSDEBUG_METRICS_H

#include <stdint.h>

#include <opsdebug/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* decade[0]: no error; decade[i]: |error| in [10^(i-31), 10^(i-30)), the first and last open: 10^-30 .. 10^30. */
#define OPD_DECADES 62

enum { OPD_P50, OPD_P95, OPD_P99, OPD_PERCENTILES };

/* Of components (a complex element has two). Positions are row-major over the shape, in components; -1 = there is none. */
typedef struct opd_metrics {
    uint64_t count;           /* components that exist on both sides */
    uint64_t finite;          /* of them finite on both sides: what the figures below are of */
    uint64_t differing;       /* not the same value (NaN is the same as NaN, -0 as 0) */
    uint64_t class_differing; /* of them NaN or an infinity on one side that the other has not */
    int64_t first_differing;
    double cosine;            /* 1 when both are all zero, 0 when one is */
    double slope, offset;     /* of the line got = slope * want + offset of least squares; 1, 0 when want is constant and got is want */
    double mean_abs, rmse;
    double max_abs;
    int64_t max_abs_at;
    double rel[OPD_PERCENTILES], max_rel; /* |error| / |want|, 0 for no error, inf where only want is 0; nearest rank, single precision */
    int64_t max_rel_at;
    double ulp[OPD_PERCENTILES], max_ulp; /* |error| in units in the last place of want in got's dtype (integers: units); subnormals have the smallest */
    int64_t max_ulp_at;
    uint64_t decade[OPD_DECADES];
} opd_metrics;

/*
 * got and want have the same shape; dtypes may differ (want in f64 against got in f32). Exact over all elements, none sampled.
 * memory    about 2.3 MB while it runs, when something differs.
 * threads   safe.
 * errors    E_INVALID shapes differ; E_NOMEM.
 */
opd_status opd_metrics_compare(opd_metrics *out, const opd_tensor *got, const opd_tensor *want);
/* Likewise with want in row-major order (complex: re, im beside each other), as definitions give it. */
opd_status opd_metrics_compare_wide(opd_metrics *out, const opd_tensor *got, const long double *want);

#ifdef __cplusplus
}
#endif
#endif
