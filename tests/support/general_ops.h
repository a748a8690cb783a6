/* SPDX-License-Identifier: Apache-2.0 */
/* Sample contracts of general operators, domain "test". */
#ifndef OPD_TESTS_GENERAL_OPS_H
#define OPD_TESTS_GENERAL_OPS_H

#include <opsdebug/op.h>

extern const opd_op general_ops[];
extern const int general_op_count;

#endif
