/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One thread loads and unloads a library whose constructor calls a routine, another calls routines all the while: a recorder
 * that asked the loader while it held something of its own would lock up. The program also wraps dlsym, as some do.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

double cblas_ddot(int n, const double *x, int incx, const double *y, int incy);
void *dlsym(void *handle, const char *name);

static atomic_int is_over;

/* Every lookup of the process comes through here; it looks its own original up by version. */
void *dlsym(void *handle, const char *name)
{
    static void *(*original)(void *, const char *);
    if (original == NULL) {
        *(void **)&original = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
    }
    return original != NULL ? original(handle, name) : NULL;
}

static void *call_always(void *context)
{
    double *sum = context;
    const double x[2] = { 1, 2 };
    while (!atomic_load(&is_over)) {
        *sum = cblas_ddot(2, x, 1, x, 1);
    }
    return NULL;
}

int main(int count, char **words)
{
    pthread_t caller;
    double sum = 0;
    double value = 0;
    pthread_create(&caller, NULL, call_always, &sum);
    for (int i = 0; i < 200 && count > 1; i++) {
        void *plugin = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
        const double *found = plugin != NULL ? dlsym(plugin, "plugin_value") : NULL;
        value += found != NULL ? *found : -1e9;
        if (plugin != NULL) {
            dlclose(plugin);
        }
    }
    atomic_store(&is_over, 1);
    pthread_join(caller, NULL);
    printf("%g %g\n", sum, value);
    return 0;
}
