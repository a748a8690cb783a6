/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded objects of the recorded process, as they go into the session: who called, who provides. */
#ifndef OPD_MODULES_H
#define OPD_MODULES_H

#include <dlfcn.h>
#include <link.h>

#include "here.h"

/* The loaded object that holds address; false when none does. Takes no lock. */
bool opd_module_find(struct dl_find_object *out, const void *address);

/* Path of a loaded object; the executable's is that of /proc/self/exe. */
const char *opd_module_path(const struct dl_find_object *object);

/* Number (index + 1) of the object in the process header, entered when new; 0 when there is no room. handle: NULL = not at hand. */
uint16_t opd_module_number(const struct dl_find_object *object, void *handle);

/* Does the object itself export names of a BLAS or LAPACK library? */
bool opd_module_is_blas(void *handle, const struct dl_find_object *object);

/* Is there such a library behind this object in the search order? */
bool opd_module_is_blas_next(void);
/* Has any loaded object the name of one? It may have been loaded for nobody but its user. */
bool opd_module_is_blas_loaded(void);
/* Is one in a name space other than the program's (dlmopen)? */
bool opd_module_is_blas_elsewhere(void);

/* Enters all loaded objects as bystanders, for a process that ends without a recorded call. */
void opd_module_note_all(void);

/* Enters the BLAS of each other name space that no recorded call went to: what is called inside there is not seen. */
void opd_module_note_elsewhere(void);

#endif
