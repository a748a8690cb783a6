/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several BLAS libraries in one process, reached in every way a program can: linked, by handle, through a plugin opened with
 * RTLD_DEEPBIND. Prints results, so that a run under the recorder can be compared with one alone.
 *   binding_victim lookup LIBRARY...   dgemm_ of each by dlsym, the i-th called i + 2 times, all from one place
 *   binding_victim plugin PATH MODE    the plugin's own ways to its library; MODE: now, lazy
 *   binding_victim spaces LIBRARY... as lookup, each opened in a name space of its own (dlmopen)
 *   binding_victim apart PATH          the plugin, with all that it needs, in a name space of its own
 *   binding_victim default             dlsym(RTLD_DEFAULT) of a routine that is there, and of one that is not
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void gemm(const char *, const char *, const int *, const int *, const int *, const double *, const double *,
                  const int *, const double *, const int *, const double *, double *, const int *, size_t, size_t);
void dgemm_(const char *transa, const char *transb, const int *m, const int *n, const int *k, const double *alpha,
            const double *a, const int *lda, const double *b, const int *ldb, const double *beta, double *c,
            const int *ldc, size_t one, size_t two);

static double call(gemm *routine)
{
    const int n = 2;
    const double one = 1;
    const double zero = 0;
    const double a[4] = { 1, 2, 3, 4 };
    double c[4] = { 0 };
    routine("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n, 1, 1);
    return c[0] + c[1] + c[2] + c[3];
}

static void *open_or_end(const char *path, int mode, Lmid_t space)
{
    void *handle = space == LM_ID_BASE ? dlopen(path, mode) : dlmopen(space, path, mode);
    if (handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(9);
    }
    return handle;
}

static int look_up(int count, char **paths, Lmid_t space)
{
    gemm *routines[8] = { dgemm_ };
    for (int i = 1; i <= count && i < 8; i++) {
        *(void **)&routines[i] = dlsym(open_or_end(paths[i - 1], RTLD_NOW | RTLD_LOCAL, space), "dgemm_");
    }
    double sum = 0;
    for (int round = 0; round < count + 1; round++) {
        for (int i = round; i <= count; i++) {
            sum += call(routines[i]); /* the linked one once, then 2, 3, ... */
        }
    }
    printf("%g\n", sum);
    return 0;
}

static int plug_in(const char *path, int mode, Lmid_t space)
{
    void *plugin = open_or_end(path, mode, space);
    double (*run)(void);
    *(void **)&run = dlsym(plugin, "plugin_run");
    printf("%g\n", run());
    return space == LM_ID_BASE ? dlclose(plugin) : 0;
}

int main(int count, char **words)
{
    if (count > 2 && strcmp(words[1], "lookup") == 0) {
        return look_up(count - 2, words + 2, LM_ID_BASE);
    }
    if (count > 2 && strcmp(words[1], "spaces") == 0) {
        return look_up(count - 2, words + 2, LM_ID_NEWLM);
    }
    if (count > 3 && strcmp(words[1], "plugin") == 0) {
        int now = strcmp(words[3], "now") == 0 ? RTLD_NOW : RTLD_LAZY;
        printf("%g ", call(dgemm_));
        return plug_in(words[2], now | RTLD_LOCAL | RTLD_DEEPBIND, LM_ID_BASE);
    }
    if (count > 2 && strcmp(words[1], "apart") == 0) {
        return plug_in(words[2], RTLD_NOW | RTLD_LOCAL, LM_ID_NEWLM);
    }
    gemm *found;
    *(void **)&found = dlsym(RTLD_DEFAULT, "dgemm_");
    const void *missing = dlsym(RTLD_DEFAULT, "dgemm_64_");
    printf("%g %s\n", call(found), missing != NULL ? "found" : "missing");
    return 0;
}
