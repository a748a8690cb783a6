/* SPDX-License-Identifier: Apache-2.0 */
/* Operators from a user's shared object: found by its one entry point, checked against this build, registered. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <opsdebug/memory.h>

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
    if (library->op_count == 0 && library->kernel_count == 0) {
        return opd_fail(OPD_E_INVALID, "%s has no operators and no variants", path);
    }
    return OPD_OK;
}

static bool is_in(int value, int last)
{
    return value >= 0 && value <= last;
}

/* What a contract says outside its texts, which the grammar checks. */
static opd_status check_op(const opd_op *op, int index, const char *path)
{
    if (op->domain == NULL || op->name == NULL || op->signature == NULL) {
        return opd_fail(OPD_E_INVALID, "%s: contract %d (%s) lacks its %s", path, index,
                        op->name != NULL ? op->name : "without a name",
                        op->name == NULL     ? "name"
                        : op->domain == NULL ? "domain"
                                             : "signature");
    }
    if (!is_in((int)op->bound.kind, OPD_BOUND_ULP) || !(op->bound.limit >= 0) || !(op->bound.narrow_limit >= 0) ||
        !is_in((int)op->determinism, OPD_DETERMINISM_ISA) || !is_in((int)op->overflow, OPD_OVERFLOW_SATURATE)) {
        return opd_fail(OPD_E_INVALID, "%s: contract of %s: its bound, determinism or overflow is none of the listed",
                        path, op->name);
    }
    return OPD_OK;
}

static opd_status check_variant(const opd_kernel *kernel, int index, const char *path)
{
    const opd_variant *variant = &kernel->variants[index];
    if (variant->name == NULL || variant->name[0] == '\0' || variant->run == NULL) {
        return opd_fail(OPD_E_INVALID, "%s: variant %d of %s lacks its name or its run function", path, index,
                        kernel->name);
    }
    bool is_taken = strcmp(variant->name, "naive") == 0 || strcmp(variant->name, "high-precision") == 0;
    if (is_taken) {
        return opd_fail(OPD_E_INVALID, "%s: variant %s of %s: that name is the definition's", path, variant->name,
                        kernel->name);
    }
    for (int i = 0; i < index; i++) {
        if (strcmp(kernel->variants[i].name, variant->name) == 0) {
            return opd_fail(OPD_E_INVALID, "%s: %s has two variants %s", path, kernel->name, variant->name);
        }
    }
    if (!is_in((int)variant->determinism, OPD_DETERMINISM_ISA) ||
        !is_in((int)variant->overflow, OPD_OVERFLOW_SATURATE) || !(variant->growth >= 0)) {
        return opd_fail(OPD_E_INVALID,
                        "%s: variant %s of %s: its determinism, overflow or growth is none of the listed", path,
                        variant->name, kernel->name);
    }
    return OPD_OK;
}

static bool is_known(const opd_library *library, const opd_kernel *kernel)
{
    for (int i = 0; i < library->op_count; i++) {
        if (strcmp(library->ops[i].domain, kernel->domain) == 0 && strcmp(library->ops[i].name, kernel->name) == 0) {
            return true;
        }
    }
    return opd_op_find(kernel->domain, kernel->name) != NULL;
}

static opd_status check_kernel(const opd_library *library, int index, const char *path)
{
    const opd_kernel *kernel = &library->kernels[index];
    opd_status status = OPD_OK;
    if (kernel->domain == NULL || kernel->name == NULL || !is_known(library, kernel)) {
        return opd_fail(OPD_E_INVALID, "%s: kernel %d (%s) is of no operator known here", path, index,
                        kernel->name != NULL ? kernel->name : "without a name");
    }
    if (kernel->variant_count < 0 || (kernel->variant_count > 0 && kernel->variants == NULL)) {
        return opd_fail(OPD_E_INVALID, "%s: the table of variants of %s is malformed", path, kernel->name);
    }
    for (int i = 0; i < kernel->variant_count && status == OPD_OK; i++) {
        status = check_variant(kernel, i, path);
    }
    return status;
}

/* All that can be said without registering anything. */
static opd_status check_library(const opd_library *library, const char *path)
{
    opd_status status = check_sizes(library, path);
    for (int i = 0; status == OPD_OK && i < library->op_count; i++) {
        status = check_op(&library->ops[i], i, path);
    }
    for (int i = 0; status == OPD_OK && i < library->kernel_count; i++) {
        status = check_kernel(library, i, path);
    }
    return status;
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
    opd_status status = check_library(library, path);
    for (int i = 0; status == OPD_OK && i < library->op_count; i++) {
        status = opd_op_register(&library->ops[i]);
        if (status != OPD_OK) {
            status = opd_fail_in(status, "%s", path);
        }
    }
    if (status == OPD_OK) {
        status = opd_kernels_add(library->kernels, library->kernel_count);
    }
    if (status == OPD_OK) {
        loaded[loaded_count++] = library;
    }
    return status;
}

/* dlerror() repeats the path it was given. */
static const char *without_path(const char *text, const char *path)
{
    size_t size = strlen(path);
    bool is_repeated = strncmp(text, path, size) == 0 && strncmp(text + size, ": ", 2) == 0;
    return is_repeated ? text + size + 2 : text;
}

static opd_status open_object(void **out, const char *path)
{
    char name[PATH_MAX];
    struct stat info;
    if (stat(path, &info) != 0) {
        return opd_fail(OPD_E_NOTFOUND, "cannot load the library %s: %s", path, strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return opd_fail(OPD_E_UNSUPPORTED, "cannot load the library %s: it is no file", path);
    }
    /* The loader would look for a bare name in its own places. */
    if ((size_t)snprintf(name, sizeof name, "%s%s", strchr(path, '/') == NULL ? "./" : "", path) >= sizeof name) {
        return opd_fail(OPD_E_INVALID, "cannot load the library %s: its path is too long", path);
    }
    /* Kept open for good: contracts and variants point into it. */
    *out = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (*out == NULL) {
        return opd_fail(OPD_E_UNSUPPORTED, "cannot load the library %s: %s", path, without_path(dlerror(), name));
    }
    return OPD_OK;
}

opd_status opd_library_load(const char *path)
{
    void *handle = NULL;
    opd_status status = open_object(&handle, path);
    if (status != OPD_OK) {
        return status;
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
    status = register_once(library, path);
    pthread_mutex_unlock(&lock);
    return status;
}
