/* SPDX-License-Identifier: Apache-2.0 */
/* What the rest of kernels/ calls for an operator of the domain "dnnl". */
#ifndef OPD_KERNELS_DNNL_DEFINE_H
#define OPD_KERNELS_DNNL_DEFINE_H

#include <opsdebug/op.h>

/* The operator of a name; NULL when there is none. */
const opd_op *opd_dnnl_op(const char *name);

/* Is it a call of one of them, with its operator? */
bool opd_dnnl_is(const opd_call *call);

/* opd_call_bind(): views by symbols, attributes and layouts. errors: E_INVALID. */
opd_status opd_dnnl_bind(opd_call *call);
/* Drops explicit strides of inputs and outputs, and binds. */
opd_status opd_dnnl_compact(opd_call *call);
/* opd_call_flops(). */
double opd_dnnl_work(const opd_call *call);

/*
 * Right values of an output: as opd_reference_run(). is_narrow: each operation rounded as the library's accumulator rounds. errors: E_DECLINED there is no
 * definition.
 */
opd_status opd_dnnl_define(long double *value, long double *gauge, const opd_call *call, int operand, bool is_narrow);

#endif
