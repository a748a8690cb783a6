/* SPDX-License-Identifier: Apache-2.0 */
/* One LTTng-ust tracepoint with the arguments of the call that bench_recorder repeats. Read several times by LTTng's headers. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER opd_bench

#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "recorder_lttng.h"

#if !defined(OPD_RECORDER_LTTNG_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define OPD_RECORDER_LTTNG_H

#include <lttng/tracepoint.h>

LTTNG_UST_TRACEPOINT_EVENT(opd_bench, call, LTTNG_UST_TP_ARGS(int, n, float, alpha, float *, x, int, incx),
                           LTTNG_UST_TP_FIELDS(lttng_ust_field_integer(int, n, n)
                                                   lttng_ust_field_float(float, alpha, alpha)
                                                       lttng_ust_field_integer_hex(unsigned long, x, (unsigned long)x)
                                                           lttng_ust_field_integer(int, incx, incx)))

#endif

#include <lttng/tracepoint-event.h>
