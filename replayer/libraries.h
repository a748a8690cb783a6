/* SPDX-License-Identifier: Apache-2.0 */
/* BLAS libraries by the names users give them. The table is the only one: loading and linking both read it. */
#ifndef OPD_REPLAYER_LIBRARIES_H
#define OPD_REPLAYER_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

/* Is it a name rather than a file? */
bool opd_library_is_name(const char *name);
/* The file of the first installed library of that name; false when there is none. */
bool opd_library_find(char *path, size_t size, const char *name);

#endif
