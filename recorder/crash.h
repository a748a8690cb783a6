/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers that add context to a crash. The crash itself is known without them. */
#ifndef OPD_CRASH_H
#define OPD_CRASH_H

/* Installs them where the disposition is the default. */
void opd_crash_install(void);

#endif
