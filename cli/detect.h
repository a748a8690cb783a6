/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of fault a variant has, told from which probes fail and how. Knows neither names nor declared faults. */
#ifndef OPD_CLI_DETECT_H
#define OPD_CLI_DETECT_H

#include "probes.h"

/* "stride", "nan-rule", ...: one of the kinds of docs/kernels.md; NULL when nothing failed. memory: static. */
const char *opd_detect_kind(const opd_op *op, const opd_probe_list *probes, const opd_finding *findings);

#endif
