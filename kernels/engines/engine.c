/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a library of another maker, at most one in a process: two of them could bind each other's symbols. */
#include "engine.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <opsdebug/kernel.h>
#include <opsdebug/library.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *wanted;
static void *opened;
static char file[512];
static const char *maker = "";

void opd_engine_use(const char *path)
{
    pthread_mutex_lock(&lock);
    wanted = path;
    pthread_mutex_unlock(&lock);
}

const char *opd_engine_file(void)
{
    return file;
}

const char *opd_engine_maker(void)
{
    return maker;
}

static void *open_first(const char *const *names)
{
    void *library = wanted != NULL ? dlopen(wanted, RTLD_NOW | RTLD_LOCAL) : NULL;
    for (int i = 0; wanted == NULL && library == NULL && names[i] != NULL; i++) {
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

void *opd_engine_open(const char *const *names)
{
    pthread_mutex_lock(&lock);
    if (opened == NULL) {
        struct link_map *map = NULL;
        opened = open_first(names);
        if (opened != NULL && dlinfo(opened, RTLD_DI_LINKMAP, &map) == 0) {
            snprintf(file, sizeof file, "%s", map->l_name);
            maker = opd_library_maker(dlsym, opened);
        }
    }
    void *library = opened;
    pthread_mutex_unlock(&lock);
    return library;
}

opd_status opd_engine_check(void)
{
    static const char *const none[] = { NULL };
    if (opd_engine_open(none) != NULL) {
        return OPD_OK;
    }
    const char *reason = dlerror();
    return opd_fail(OPD_E_NOTFOUND, "the library cannot be loaded: %s", reason != NULL ? reason : wanted);
}

/* ISO C has no conversion from dlsym's pointer: its bytes are copied. */
void opd_engine_symbol(void *out, void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof symbol);
}
