/* SPDX-License-Identifier: Apache-2.0 */
/* Entering loaded objects into the process header, with what a BLAS says about itself. */
#include "modules.h"

#include <stdio.h>
#include <string.h>

#include <opsdebug/library.h>

#include "elf_names.h"

/* Names of which any BLAS or LAPACK exports one. */
static const char *const library_names[] = { "dgemm_",         "cblas_dgemm",   "dgetrf_",   "dgemm_64_",
                                             "cblas_dgemm64_", "LAPACKE_dgesv", "dgetrf_64_" };

bool opd_module_find(struct dl_find_object *out, const void *address)
{
    return _dl_find_object((void *)(uintptr_t)address, out) == 0;
}

const char *opd_module_path(const struct dl_find_object *object)
{
    const char *name = object->dlfo_link_map->l_name;
    return name != NULL && name[0] != '\0' ? name : opd_recorder.process->program;
}

bool opd_module_is_blas(void *handle, const struct dl_find_object *object)
{
    for (size_t i = 0; handle != NULL && i < OPD_COUNT(library_names); i++) {
        struct dl_find_object found;
        void *symbol = dlsym(handle, library_names[i]);
        if (symbol != NULL && opd_module_find(&found, symbol) && found.dlfo_link_map == object->dlfo_link_map) {
            return true;
        }
    }
    return false;
}

bool opd_module_is_blas_next(void)
{
    for (size_t i = 0; i < OPD_COUNT(library_names); i++) {
        if (dlsym(RTLD_NEXT, library_names[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static int is_named_blas(struct dl_phdr_info *info, size_t size, void *context)
{
    static const char *const stems[] = { "blas", "lapack", "blis", "mkl_", "armpl", "atlas", "nvpl" };
    const char *slash = strrchr(info->dlpi_name, '/');
    (void)size;
    (void)context;
    for (size_t i = 0; i < OPD_COUNT(stems); i++) {
        if (strstr(slash != NULL ? slash : info->dlpi_name, stems[i]) != NULL) {
            return 1;
        }
    }
    return 0;
}

bool opd_module_is_blas_loaded(void)
{
    return dl_iterate_phdr(is_named_blas, NULL) != 0;
}

/* The first BLAS among the objects from this one on; NULL when there is none. */
static const struct link_map *first_blas(const struct link_map *map)
{
    opd_elf_names object;
    for (; map != NULL; map = map->l_next) {
        for (size_t i = 0; opd_elf_names_of(&object, map) && i < OPD_COUNT(library_names); i++) {
            if (opd_elf_find(&object, library_names[i], opd_elf_hash(library_names[i])) != NULL) {
                return map;
            }
        }
    }
    return NULL;
}

typedef struct walk {
    const struct r_debug_extended *first; /* its base is of the program's name space */
    bool (*visit)(const struct link_map *objects);
} walk;

/* Called by dl_iterate_phdr, which goes through the first name space alone, for the loader's lock. */
static int walk_locked(struct dl_phdr_info *info, size_t size, void *context)
{
    const walk *job = context;
    bool is_over = false;
    (void)info;
    (void)size;
    for (const struct r_debug_extended *space = job->first->r_next; space != NULL && !is_over; space = space->r_next) {
        is_over = job->visit(space->base.r_map);
    }
    return is_over ? 1 : -1;
}

/* Gives visit the objects of every other name space, until it answers true. source: <link.h>, from glibc 2.35 on. */
static bool walk_elsewhere(bool (*visit)(const struct link_map *objects))
{
    walk job = { .first = dlsym(RTLD_DEFAULT, "_r_debug"), .visit = visit };
    return job.first != NULL && job.first->base.r_version >= 2 && dl_iterate_phdr(walk_locked, &job) == 1;
}

static bool has_blas(const struct link_map *objects)
{
    return first_blas(objects) != NULL;
}

bool opd_module_is_blas_elsewhere(void)
{
    return walk_elsewhere(has_blas);
}

static void ask_text(char *text, size_t size, void *handle, const char *name)
{
    union {
        void *object;
        char *(*function)(void);
    } query = { .object = name != NULL ? dlsym(handle, name) : NULL };
    const char *answer = query.object != NULL ? query.function() : NULL;
    if (answer != NULL) {
        snprintf(text, size, "%s", answer);
    }
}

static void ask_library(opd_shared_module *module, void *handle)
{
    for (int i = 0; i < opd_library_query_count(); i++) {
        const opd_library_query *query = opd_library_query_at(i);
        ask_text(module->core, sizeof(module->core), handle, query->core);
        ask_text(module->config, sizeof(module->config), handle, query->config);
        union {
            void *object;
            int (*function)(void);
        } threads = { .object = query->threads != NULL ? dlsym(handle, query->threads) : NULL };
        if (threads.object != NULL) {
            module->threads = threads.function();
        }
    }
}

/* The entry of the object if there is one, else a new one. */
static opd_shared_module *enter(const struct dl_find_object *object, const char *path, uint16_t *number, bool *is_new)
{
    opd_process *process = opd_recorder.process;
    uint64_t start = (uint64_t)(uintptr_t)object->dlfo_map_start;
    uint32_t count = atomic_load(&process->module_count);
    *is_new = false;
    for (uint32_t i = 0; i < count && i < OPD_PROCESS_MODULES; i++) {
        opd_shared_module *module = &process->modules[i];
        if (atomic_load(&module->is_ready) != 0 && module->start == start && strcmp(module->path, path) == 0) {
            *number = (uint16_t)(i + 1);
            return module;
        }
    }
    uint32_t index = atomic_fetch_add(&process->module_count, 1);
    if (index >= OPD_PROCESS_MODULES) {
        atomic_store(&process->module_count, OPD_PROCESS_MODULES);
        return NULL;
    }
    *is_new = true;
    *number = (uint16_t)(index + 1);
    opd_shared_module *module = &process->modules[index];
    module->start = start;
    module->end = (uint64_t)(uintptr_t)object->dlfo_map_end;
    snprintf(module->path, sizeof(module->path), "%s", path);
    return module;
}

uint16_t opd_module_number(const struct dl_find_object *object, void *handle)
{
    uint16_t number = 0;
    bool is_new;
    opd_shared_module *module = enter(object, opd_module_path(object), &number, &is_new);
    if (module != NULL && is_new) {
        module->is_blas = opd_module_is_blas(handle, object);
        if (module->is_blas) {
            ask_library(module, handle);
        }
        atomic_store(&module->is_ready, 1);
    }
    return number;
}

static int note_object(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    (void)context;
    struct dl_find_object object;
    const void *address = (const void *)(info->dlpi_addr + info->dlpi_phdr[0].p_vaddr);
    uint16_t number;
    bool is_new;
    if (opd_module_find(&object, address)) {
        opd_shared_module *module = enter(&object, opd_module_path(&object), &number, &is_new);
        if (module != NULL && is_new) {
            module->is_bystander = 1;
            atomic_store(&module->is_ready, 1);
        }
    }
    return 0;
}

void opd_module_note_all(void)
{
    dl_iterate_phdr(note_object, NULL);
}

/* Has a call been recorded that one of these objects provided? Then the program reaches them by looking up their routines. */
static bool has_provider(const struct link_map *objects)
{
    const opd_process *process = opd_recorder.process;
    uint32_t count = atomic_load(&process->module_count);
    for (uint32_t i = 0; i < count && i < OPD_PROCESS_MODULES; i++) {
        const opd_shared_module *module = &process->modules[i];
        bool is_user = atomic_load(&module->is_ready) != 0 && module->is_bystander == 0;
        for (const struct link_map *map = objects; is_user && map != NULL; map = map->l_next) {
            uint64_t place = (uint64_t)(uintptr_t)map->l_ld;
            if (place >= module->start && place < module->end) {
                return true;
            }
        }
    }
    return false;
}

static bool note_elsewhere(const struct link_map *objects)
{
    const struct link_map *map = first_blas(objects);
    struct dl_find_object object;
    uint16_t number;
    bool is_new;
    if (map != NULL && !has_provider(objects) && opd_module_find(&object, map->l_ld)) {
        opd_shared_module *module = enter(&object, opd_module_path(&object), &number, &is_new);
        if (module != NULL && is_new) {
            module->is_bystander = 1;
            module->is_elsewhere = 1;
            atomic_store(&module->is_ready, 1);
        }
    }
    return false;
}

void opd_module_note_elsewhere(void)
{
    walk_elsewhere(note_elsewhere);
}
