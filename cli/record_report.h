/* SPDX-License-Identifier: Apache-2.0 */
/* What `ops-debug record` says at the end. */
#ifndef OPD_CLI_RECORD_REPORT_H
#define OPD_CLI_RECORD_REPORT_H

#include <opsdebug/record.h>

#include "document.h"

/* A few lines on standard error: standard output is the program's. */
void opd_record_print_summary(const opd_record_report *report, const opd_record_options *record);

/* All of it. */
json_t *opd_record_document(const opd_record_report *report, const opd_record_options *record);

#endif
