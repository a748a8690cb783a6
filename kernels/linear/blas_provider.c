/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CBLAS of the "openblas" variants, opened by name: this library links none, as programs that must load a BLAS of their own
 * choice link this library.
 */
#include "blas_provider.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "../engines/engine.h"

static const char *const libraries[] = { "libopenblas.so.0", "libblas.so.3", NULL };

static opd_blas found;
static void (*set_threads)(int threads);
static atomic_int threads_set; /* 0: not yet */
static const opd_blas *_Atomic provider;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* A function of the library. ISO C has no conversion from dlsym's pointer: its bytes are copied. */
static void look_up(void *out, void *library, const char *name)
{
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof symbol);
}

static void open_library(void)
{
    for (const char *const *name = libraries; *name != NULL; name++) {
        void *library = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) {
            continue;
        }
        look_up(&found.sgemm, library, "cblas_sgemm");
        look_up(&found.dgemm, library, "cblas_dgemm");
        look_up(&set_threads, library, "openblas_set_num_threads");
        if (found.sgemm != NULL && found.dgemm != NULL) {
            atomic_store_explicit(&provider, &found, memory_order_release);
            return;
        }
        dlclose(library);
    }
}

const opd_blas *opd_blas_find(void)
{
    const opd_blas *blas = atomic_load_explicit(&provider, memory_order_acquire);
    if (blas == NULL) {
        pthread_once(&once, open_library);
        blas = atomic_load_explicit(&provider, memory_order_acquire);
    }
    return blas;
}

void opd_blas_set_threads(int32_t threads)
{
    if (set_threads != NULL && atomic_load_explicit(&threads_set, memory_order_relaxed) != threads) {
        set_threads(threads);
        atomic_store_explicit(&threads_set, threads, memory_order_relaxed);
    }
}

/* ---------------------------------------------------------------------------------- the one asked for by name */

static opd_blas other;
static bool has_other;

static void open_other(void)
{
    static const char *const names[] = { "libblas.so.3", "libcblas.so.3", NULL };
    void *library = opd_engine_open(names);
    if (library != NULL) {
        opd_engine_symbol(&other.sgemm, library, "cblas_sgemm");
        opd_engine_symbol(&other.dgemm, library, "cblas_dgemm");
        has_other = other.sgemm != NULL && other.dgemm != NULL;
    }
}

const opd_blas *opd_blas_other(void)
{
    static pthread_once_t other_once = PTHREAD_ONCE_INIT;
    pthread_once(&other_once, open_other);
    return has_other ? &other : NULL;
}
