/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of BLAS libraries, where distributions keep them below the loader's directories, and what a linker calls them.
 */
#include "libraries.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <opsdebug/replay.h>

/* The first file that exists is taken. link: cc -lNAME takes this file. */
static const struct {
    const char *name;
    const char *file;
    const char *link;
} known[] = {
    { "openblas", "openblas-pthread/libopenblas.so.0", NULL },
    { "openblas", "openblas-openmp/libopenblas.so.0", NULL },
    { "openblas", "openblas-serial/libopenblas.so.0", NULL },
    { "openblas", "libopenblas.so.0", NULL },
    { "openblas", "libopenblas.so", "openblas" },
    { "blis", "blis-pthread/libblis.so.4", NULL },
    { "blis", "blis-openmp/libblis.so.4", NULL },
    { "blis", "blis-serial/libblis.so.4", NULL },
    { "blis", "libblis.so.4", NULL },
    { "blis", "libblis.so", "blis" },
    { "netlib", "blas/libblas.so.3", NULL }, /* -lblas is whichever BLAS the system prefers */
    { "netlib", "libblas.so.3", NULL },
};

static const char *const directories[] = { "", "/usr/lib64", "/usr/lib", "/usr/local/lib" }; /* "" = where libc is */

static bool directory_of_libc(char *text, size_t size)
{
    Dl_info info;
    char real[PATH_MAX];
    void *address = NULL;
    int (*function)(const char *) = puts;
    memcpy(&address, &function, sizeof address);
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL || realpath(info.dli_fname, real) == NULL) {
        return false;
    }
    char *slash = strrchr(real, '/');
    return slash != NULL && snprintf(text, size, "%.*s", (int)(slash - real), real) < (int)size;
}

bool opd_library_is_name(const char *name)
{
    for (size_t i = 0; i < OPD_COUNT(known); i++) {
        if (strcmp(known[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* The path of a row below a directory; false when nothing is there. */
static bool locate(char *path, size_t size, size_t row, size_t directory)
{
    char base[PATH_MAX];
    struct stat info;
    snprintf(base, sizeof base, "%s", directories[directory]);
    if (base[0] == '\0' && !directory_of_libc(base, sizeof base)) {
        return false;
    }
    return snprintf(path, size, "%s/%s", base, known[row].file) < (int)size && stat(path, &info) == 0;
}

bool opd_library_find(char *path, size_t size, const char *name)
{
    for (size_t i = 0; i < OPD_COUNT(known); i++) {
        for (size_t k = 0; k < OPD_COUNT(directories) && strcmp(known[i].name, name) == 0; k++) {
            if (locate(path, size, i, k)) {
                return true;
            }
        }
    }
    return false;
}

static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? (size_t)(slash - path) : 0;
}

/*
 * Is a library what the linker takes at found? The same file, or one beside it in a folder of the package's own, where distributions keep
 * the same code once more as libblas.so.3.
 */
static bool is_same_package(const char *library, const char *found)
{
    char real[PATH_MAX];
    if (realpath(found, real) == NULL) {
        return false;
    }
    size_t folder = directory_length(real);
    bool is_own_folder = folder != directory_length(found) || strncmp(real, found, folder) != 0;
    return strcmp(library, real) == 0 ||
           (is_own_folder && folder == directory_length(library) && strncmp(library, real, folder) == 0);
}

const char *opd_library_linker_name(const char *library)
{
    char real[PATH_MAX];
    char found[PATH_MAX];
    if (realpath(library, real) == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < OPD_COUNT(known); i++) {
        for (size_t k = 0; k < OPD_COUNT(directories) && known[i].link != NULL; k++) {
            if (locate(found, sizeof found, i, k) && is_same_package(real, found)) {
                return known[i].link;
            }
        }
    }
    return NULL;
}
