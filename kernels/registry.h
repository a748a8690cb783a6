/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of contracts, declared from ops.def. Private to kernels/. */
#ifndef OPD_KERNELS_REGISTRY_H
#define OPD_KERNELS_REGISTRY_H

#include <opsdebug/op.h>

#define OPD_CONTRACTS(list)                     \
    extern const opd_op opd_contracts_##list[]; \
    extern const int opd_contracts_##list##_count;
#include "ops.def"
#undef OPD_CONTRACTS

#endif
