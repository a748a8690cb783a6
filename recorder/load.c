/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading of the preloaded object: connects when the environment names a session, else stays off for good. Everything
 * that needs no call to be known is prepared here, before the program's own code runs.
 */
#include <stdlib.h>

#include "crash.h"
#include "here.h"
#include "interpose.h"
#include "load.h"
#include "modules.h"

_Bool opd_record_enabled;
static bool is_loaded;

bool opd_is_loaded(void)
{
    return is_loaded;
}

bool opd_load(const char *session)
{
    if (opd_ops_compile() != OPD_OK || !opd_here_connect(session)) {
        return false;
    }
    for (unsigned i = 0; i < sizeof(opd_cblas_letters); i++) {
        opd_cblas_letters[i] = (uint8_t)opd_choice_from_cblas((int)i + 100);
    }
    opd_crash_install();
    opd_record_enabled = true;
    return true;
}

/* The preloaded object and the one with the C API may be in the same process: the first in the search order records. */
static bool is_first(void)
{
    struct dl_find_object first;
    struct dl_find_object own;
    const void *symbol = dlsym(RTLD_DEFAULT, "opd_record_begin");
    return symbol == NULL || !opd_module_find(&first, symbol) || !opd_module_find(&own, &is_loaded) ||
           first.dlfo_link_map == own.dlfo_link_map;
}

__attribute__((constructor)) static void load(void)
{
    const char *session = getenv(OPD_SESSION_VARIABLE);
    if (session != NULL && is_first()) {
        opd_load(session);
    }
    is_loaded = true;
}

/* A process that ends without a recorded call leaves its list of objects, so that the collector can say why. */
__attribute__((destructor)) static void unload(void)
{
    const opd_here *here = &opd_recorder;
    if (here->guard == NULL || atomic_load(&here->guard->epoch) <= 1 || here->process == NULL) {
        return;
    }
    uint32_t used = atomic_load(&here->process->slots_used);
    if (used == 0) {
        opd_module_note_all();
    }
    atomic_store(&here->process->is_ended, 1);
}
