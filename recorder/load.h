/* SPDX-License-Identifier: Apache-2.0 */
/* Turning the recorder on in this process. */
#ifndef OPD_LOAD_H
#define OPD_LOAD_H

#include <stdbool.h>

/* Connects to a session directory; false: recording stays off. */
bool opd_load(const char *session);

/* Has this object's constructor run? */
bool opd_is_loaded(void);

#endif
