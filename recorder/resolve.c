/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding the true routine: what the loader would have bound, else what the calling object can see, else the only loaded
 * object that has it. Runs once per routine and calling object, holds nothing while it asks the loader, and never
 * answers with NULL. Providers stay referenced, so that an answer never goes stale.
 */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "interpose.h"
#include "load.h"
#include "modules.h"

#define TARGETS_MAX 4096u /* pairs of routine and calling object */
#define OBJECTS_MAX 512u  /* loaded objects that are searched */
#define SPACES_MAX  16    /* name spaces that glibc has (DL_NNS) */

static opd_target pool[TARGETS_MAX]; /* untouched pages cost nothing */
static _Atomic uint32_t pool_used;

/* Answers given before the recorder was loaded (calls from constructors of other libraries) are not remembered. */
static opd_target early[16];
static _Atomic uint32_t early_used;

typedef struct finding {
    void *function;
    struct dl_find_object object;
    bool is_ambiguous;
} finding;

/* Is symbol a definition outside ourselves? Fills found then. */
static bool accept(finding *found, void *symbol)
{
    struct dl_find_object own;
    struct dl_find_object object;
    if (symbol == NULL || !opd_module_find(&object, symbol)) {
        return false;
    }
    if (opd_module_find(&own, (const void *)&pool) && own.dlfo_link_map == object.dlfo_link_map) {
        return false;
    }
    found->function = symbol;
    found->object = object;
    return true;
}

/* Does handle mean that object? The same file may be loaded into several name spaces. */
static bool is_handle_of(void *handle, const struct dl_find_object *object)
{
    struct link_map *map = NULL;
    return handle != NULL && dlinfo(handle, RTLD_DI_LINKMAP, (void *)&map) == 0 && map == object->dlfo_link_map;
}

/* A handle of an object that is loaded already; NULL for the executable. The reference is kept on purpose. */
static void *handle_of(const struct dl_find_object *object)
{
    const char *name = object->dlfo_link_map->l_name;
    if (name == NULL || name[0] == '\0') {
        return NULL;
    }
    void *handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    for (Lmid_t space = LM_ID_BASE + 1; !is_handle_of(handle, object) && space < SPACES_MAX; space++) {
        if (handle != NULL) {
            dlclose(handle);
        }
        handle = dlmopen(space, name, RTLD_LAZY | RTLD_NOLOAD);
    }
    return handle;
}

/* Looked up in what the calling object was linked with. */
static bool find_by_caller(finding *found, const char *symbol, const struct dl_find_object *caller)
{
    void *handle = handle_of(caller);
    if (handle == NULL) {
        return false;
    }
    bool is_found = accept(found, dlsym(handle, symbol));
    dlclose(handle); /* the caller may be unloaded as before */
    return is_found;
}

typedef struct object_list {
    const char *names[OBJECTS_MAX];
    uint32_t count;
} object_list;

static int list_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    object_list *list = context;
    if (info->dlpi_name != NULL && info->dlpi_name[0] != '\0' && list->count < OBJECTS_MAX) {
        list->names[list->count++] = info->dlpi_name;
    }
    return 0;
}

/* Looked up in every loaded object; counts those that define it themselves. */
static bool find_anywhere(finding *found, const char *symbol)
{
    object_list *list = mmap(NULL, sizeof(*list), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED) {
        return false;
    }
    dl_iterate_phdr(list_object, list);
    const struct link_map *first = NULL;
    for (uint32_t i = 0; i < list->count; i++) {
        void *handle = dlopen(list->names[i], RTLD_LAZY | RTLD_NOLOAD);
        finding candidate;
        if (handle == NULL) {
            continue;
        }
        if (accept(&candidate, dlsym(handle, symbol)) && candidate.object.dlfo_link_map != first) {
            if (first != NULL) {
                found->is_ambiguous = true;
            } else {
                first = candidate.object.dlfo_link_map;
                *found = candidate;
            }
        }
        dlclose(handle);
    }
    munmap(list, sizeof(*list));
    return first != NULL;
}

/* As the loader says it and ends. */
static void *give_up(const char *symbol)
{
    char line[512];
    const char *program = opd_recorder.process != NULL ? opd_recorder.process->program : "program";
    int length = snprintf(line, sizeof(line),
                          "%s: symbol lookup error: undefined symbol: %s (no loaded library defines it; "
                          "seen by the ops-debug recorder)\n",
                          program, symbol);
    ssize_t written = write(STDERR_FILENO, line, (size_t)length);
    (void)written;
    _exit(127);
}

static opd_target *new_target(void)
{
    uint32_t index = atomic_fetch_add(&pool_used, 1);
    if (index < TARGETS_MAX) {
        return &pool[index];
    }
    void *page = mmap(NULL, sizeof(opd_target), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return page != MAP_FAILED ? page : NULL;
}

static bool is_watched(const opd_site *site)
{
    const opd_control *control = opd_recorder.control;
    const opd_routine *routine = opd_routine_at(site->routine);
    return control == NULL || routine == NULL ||
           (control->match[0] == '\0' || fnmatch(control->match, routine->name, 0) == 0 ||
            fnmatch(control->match, routine->op->name, 0) == 0);
}

/* Caller, provider and flags of a target, for the records. */
static uint64_t describe(const finding *found, void *provider, const struct dl_find_object *caller, bool has_caller)
{
    uint64_t flags = found->is_ambiguous ? OPD_CALL_AMBIGUOUS : 0;
    uint16_t provider_number = 0;
    uint16_t caller_number = 0;
    if (opd_recorder.process == NULL) {
        return flags << 32;
    }
    provider_number = opd_module_number(&found->object, provider);
    if (has_caller) {
        void *handle = handle_of(caller);
        caller_number = opd_module_number(caller, handle);
        flags |= opd_module_is_blas(handle, caller) ? OPD_CALL_FROM_LIBRARY : 0;
        if (handle != NULL) {
            dlclose(handle);
        }
    }
    return (uint64_t)provider_number | (uint64_t)caller_number << 16 | flags << 32;
}

void *opd_find_locally(const char *symbol, const struct link_map *map)
{
    finding found;
    struct dl_find_object object = { .dlfo_link_map = (struct link_map *)(uintptr_t)map };
    return dlsym(RTLD_NEXT, symbol) == NULL && find_by_caller(&found, symbol, &object) ? found.function : NULL;
}

static bool find(finding *found, const char *symbol, const struct dl_find_object *caller, const opd_binding *given)
{
    if (given != NULL && accept(found, atomic_load(&given->function))) {
        return true;
    }
    return accept(found, dlsym(RTLD_NEXT, symbol)) || (caller != NULL && find_by_caller(found, symbol, caller)) ||
           find_anywhere(found, symbol);
}

static const opd_target *resolve(opd_site *site, const void *return_address, const opd_binding *given)
{
    struct dl_find_object caller;
    bool has_caller = opd_module_find(&caller, return_address);
    finding found = { .function = NULL };
    if (!find(&found, site->symbol, has_caller ? &caller : NULL, given)) {
        give_up(site->symbol);
    }
    /* Nor those given while another thread attaches the process: they cannot say whose they are. */
    bool is_early = !opd_is_loaded() || (opd_record_enabled && opd_recorder.guard != NULL && !opd_here_attach());
    opd_target *target = is_early ? &early[atomic_fetch_add(&early_used, 1) % OPD_COUNT(early)] : new_target();
    if (target == NULL) {
        give_up(site->symbol); /* out of memory for one page */
    }
    void *provider = handle_of(&found.object);
    target->function = found.function;
    target->binding = given;
    target->start = has_caller ? (uintptr_t)caller.dlfo_map_start : (uintptr_t)return_address;
    target->size = has_caller ? (uintptr_t)caller.dlfo_map_end - (uintptr_t)caller.dlfo_map_start : 1;
    target->modules = describe(&found, provider, &caller, has_caller);
    target->is_watched = is_watched(site);
    const opd_target *first = atomic_load(&site->targets);
    do {
        target->next = is_early ? NULL : first;
    } while (!is_early && !atomic_compare_exchange_weak(&site->targets, &first, target));
    return target;
}

const opd_target *opd_resolve(opd_site *site, const void *return_address, const opd_binding *given)
{
    sigset_t signals;
    opd_here_hold_signals(&signals);
    const opd_target *target = resolve(site, return_address, given);
    opd_here_release_signals(&signals);
    return target;
}
