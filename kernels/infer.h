/* SPDX-License-Identifier: Apache-2.0 */
/* What changes the sizes of a call without a contract. Private to kernels/. */
#ifndef OPD_INFER_H
#define OPD_INFER_H

#include <opsdebug/op.h>

/* Of calls for which opd_call_is_foreign() holds. errors: E_INVALID no such size, or a view that cannot be. */
opd_status opd_infer_set(opd_call *call, const char *name, int64_t value);
/* All operands row-major, without gaps. */
opd_status opd_infer_compact(opd_call *call);

#endif
