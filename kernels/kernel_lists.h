/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of kernels, declared from kernels.def, and what a definition is run by. Private to kernels/. */
#ifndef OPD_KERNELS_KERNEL_LISTS_H
#define OPD_KERNELS_KERNEL_LISTS_H

#include <opsdebug/kernel.h>

#define OPD_KERNELS(list)                         \
    extern const opd_kernel opd_kernels_##list[]; \
    extern const int opd_kernels_##list##_count;
#include "kernels.def"
#undef OPD_KERNELS

/* Kernels of a user's library, found before those of this build. errors: E_LIMIT too many libraries. */
opd_status opd_kernels_add(const opd_kernel *kernels, int count);

#endif
