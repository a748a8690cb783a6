/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading of the preloaded object: connects when the environment names a session, else stays off for good. Everything
 * that needs no call to be known is prepared here, before the program's own code runs.
 */
#include <stdlib.h>
#include <unistd.h>

#include "api.h"
#include "audit.h"
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
    if (!opd_here_connect(session)) {
        return false;
    }
    opd_crash_install();
    opd_record_enabled = true;
    return true;
}

/*
 * The preloaded object and the one with the C API may be in the same process, in either order: the one with the wrappers
 * records, the other passes its calls on.
 */
static const opd_record_api *find_preload(void)
{
    struct dl_find_object found;
    struct dl_find_object own;
    const opd_record_api *api = dlsym(RTLD_DEFAULT, "opd_preload_api");
    bool is_other = api != NULL && api->bytes == sizeof(*api) && opd_module_find(&found, api) &&
                    opd_module_find(&own, &is_loaded) && found.dlfo_link_map != own.dlfo_link_map;
    return is_other ? api : NULL;
}

/* The program itself is in the session from the start, and so is a process with a BLAS; others when they first call. */
static bool is_likely_to_call(void)
{
    return getppid() == opd_recorder.control->collector_pid || opd_module_is_blas_next();
}

__attribute__((constructor)) static void load(void)
{
    const char *session = getenv(OPD_SESSION_VARIABLE);
    opd_api_other = find_preload();
    if (session != NULL && opd_api_other == NULL && opd_load(session) && is_likely_to_call()) {
        opd_here_attach();
    }
    if (opd_record_enabled) {
        opd_audit_start();
    }
    is_loaded = true;
}

static bool has_calls(opd_process *process)
{
    for (uint32_t i = 0; i < OPD_PROCESS_THREADS; i++) {
        const opd_slot *slot = opd_session_slot(process, i);
        if (slot != NULL && slot->earlier + slot->number > 0) {
            return true;
        }
    }
    return false;
}

/* A process that ends without a recorded call leaves its list of objects, so that the collector can say why; if it has a BLAS. */
__attribute__((destructor)) static void unload(void)
{
    const opd_here *here = &opd_recorder;
    if (here->guard != NULL && here->pid == getpid() && atomic_load(&here->guard->epoch) == 0 &&
        (opd_module_is_blas_loaded() || opd_module_is_blas_elsewhere())) {
        opd_here_attach();
    }
    if (here->guard == NULL || atomic_load(&here->guard->epoch) <= 1 || here->process == NULL) {
        return;
    }
    opd_crash_note_exit();
    if (!has_calls(here->process)) { /* but perhaps seeds or marks */
        opd_module_note_all();
    }
    opd_module_note_elsewhere();
    atomic_store(&here->process->is_ended, 1);
}
