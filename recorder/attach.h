/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a collector from inside the program that is to be recorded. */
#ifndef OPD_ATTACH_H
#define OPD_ATTACH_H

#include <opsdebug/record.h>

/* Runs `ops-debug record --attach` for this process. errors: E_NOTFOUND the program is not there or gave no session. */
opd_status opd_attach_collector(char session[OPD_SESSION_PATH], const char *out);

#endif
