/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's matrix products that are no primitives, called again in the worker. */
#ifndef OPD_REPLAYER_DNNL_PRODUCT_H
#define OPD_REPLAYER_DNNL_PRODUCT_H

#include <opsdebug/dnnl.h>

/* Is the call one of them? */
bool opd_dnnl_product_is(const opd_call *call);
/*
 * Calls the routine of the library (handle) on the operands of call, as they are placed.
 * errors    E_NOTFOUND the library has no such function; E_INVALID a leading dimension is too small, a layout no matrix; E_CHILD the library returned an error.
 */
opd_status opd_dnnl_product_run(void *handle, const opd_call *call);

#endif
