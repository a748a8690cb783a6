/* SPDX-License-Identifier: Apache-2.0 */
/* Operators from a user's shared object: found by its one entry point, checked against this build, registered. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

#include "kernel_lists.h"

static opd_status check_sizes(const opd_library *library, const char *path)
{
    if (library->abi != OPD_LIBRARY_ABI) {
        return opd_fail(OPD_E_UNSUPPORTED, "%s was built for operator ABI %u, this ops-debug has %d: rebuild it", path,
                        library->abi, OPD_LIBRARY_ABI);
    }
    if (library->op_bytes != sizeof(opd_op) || library->variant_bytes != sizeof(opd_variant) ||
        library->call_bytes != sizeof(opd_call)) {
        return opd_fail(OPD_E_UNSUPPORTED, "%s was built with other opsdebug headers: rebuild it", path);
    }
    if (library->op_count < 0 || library->kernel_count < 0 || (library->op_count > 0 && library->ops == NULL) ||
        (library->kernel_count > 0 && library->kernels == NULL)) {
        return opd_fail(OPD_E_INVALID, "%s: its table of operators is malformed", path);
    }
    return OPD_OK;
}

static opd_status check_kernels(const opd_library *library, const char *path)
{
    for (int i = 0; i < library->kernel_count; i++) {
        const opd_kernel *kernel = &library->kernels[i];
        if (kernel->domain == NULL || kernel->name == NULL || opd_op_find(kernel->domain, kernel->name) == NULL) {
            return opd_fail(OPD_E_INVALID, "%s: kernel %d (%s) is of no operator known here", path, i,
                            kernel->name != NULL ? kernel->name : "without a name");
        }
        for (int k = 0; k < kernel->variant_count; k++) {
            if (kernel->variants[k].name == NULL || kernel->variants[k].run == NULL) {
                return opd_fail(OPD_E_INVALID, "%s: variant %d of %s lacks its name or its run function", path, k,
                                kernel->name);
            }
        }
    }
    return OPD_OK;
}

enum { MAX_LIBRARIES = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const opd_library *loaded[MAX_LIBRARIES];
static int loaded_count;

static opd_status register_once(const opd_library *library, const char *path)
{
    for (int i = 0; i < loaded_count; i++) {
        if (loaded[i] == library) {
            return OPD_OK;
        }
    }
    if (loaded_count == MAX_LIBRARIES) {
        return opd_fail(OPD_E_LIMIT, "more than %d libraries of operators", MAX_LIBRARIES);
    }
    opd_status status = check_sizes(library, path);
    for (int i = 0; status == OPD_OK && i < library->op_count; i++) {
        status = opd_op_register(&library->ops[i]);
        if (status != OPD_OK) {
            status = opd_fail_in(status, "%s", path);
        }
    }
    if (status == OPD_OK) {
        status = check_kernels(library, path);
    }
    if (status == OPD_OK) {
        status = opd_kernels_add(library->kernels, library->kernel_count);
    }
    if (status == OPD_OK) {
        loaded[loaded_count++] = library;
    }
    return status;
}

opd_status opd_library_load(const char *path)
{
    /* Kept open for good: contracts and variants point into it. */
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        return opd_fail(OPD_E_NOTFOUND, "cannot load the library: %s", dlerror());
    }
    void *address = dlsym(handle, OPD_LIBRARY_ENTRY);
    if (address == NULL) {
        dlclose(handle);
        return opd_fail(OPD_E_NOTFOUND, "%s exports no %s(): it is no library of operators", path, OPD_LIBRARY_ENTRY);
    }
    const opd_library *(*entry)(void) = NULL;
    memcpy(&entry, &address, sizeof entry);
    const opd_library *library = entry();
    if (library == NULL) {
        return opd_fail(OPD_E_INVALID, "%s: %s() returned nothing", path, OPD_LIBRARY_ENTRY);
    }
    pthread_mutex_lock(&lock);
    opd_status status = register_once(library, path);
    pthread_mutex_unlock(&lock);
    return status;
}
