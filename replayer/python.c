/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libpython comes in by dlopen, as any provider; opdsebug_torch.py, which records the calls, also runs them. It leaves the address of a
 * function in the struct below; Python's own names are looked up, so that nothing of it is needed to build.
 */
#include "python.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "provider.h"

#define SCRIPT_SIZE (PATH_MAX + 256)

/* What the script and this file share; the script has the same layout. */
typedef struct meeting {
    const opd_call *call;
    int32_t threads;
    int32_t status; /* opd_status */
    int (*run)(void);
    char text[OPD_JOB_TEXT];
    const void *library; /* an address in it */
    char version[OPD_NAME];
} meeting;

static meeting own;
static void *handle; /* of libpython; NULL = not loaded */

/* The newest first; the plain name is there with the development package only. */
static const char *const libraries[] = { "libpython3.11.so.1.0", "libpython3.so" };

static bool find_folder(char *path, size_t size)
{
    static const char *const places[] = { "torch", "../torch" };
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = '\0';
    char *slash = strrchr(self, '/');
    for (size_t i = 0; slash != NULL && i < OPD_COUNT(places); i++) {
        char file[PATH_MAX + 64];
        *slash = '\0';
        if (snprintf(path, size, "%s/%s", self, places[i]) < (int)size && strpbrk(path, "'\\\n") == NULL &&
            snprintf(file, sizeof file, "%s/opsdebug_aten.py", path) < (int)sizeof file && access(file, R_OK) == 0) {
            return true;
        }
    }
    return false;
}

static void *find(void *library, const char *name)
{
    return library != NULL ? dlsym(library, name) : NULL;
}

/* Runs a line of Python; false when it raised, after it said so. */
static bool run_text(void *library, const char *text)
{
    union {
        void *object;
        int (*function)(const char *command, void *flags);
    } run = { .object = find(library, "PyRun_SimpleStringFlags") };
    return run.object != NULL && run.function(text, NULL) == 0;
}

static bool initialize(void *library)
{
    static wchar_t name[] = L"/usr/bin/python3";
    union {
        void *object;
        void (*function)(const wchar_t *name);
    } set_name = { .object = find(library, "Py_SetProgramName") };
    union {
        void *object;
        void (*function)(int with_signals);
    } start = { .object = find(library, "Py_InitializeEx") };
    if (set_name.object == NULL || start.object == NULL) {
        return false;
    }
    set_name.function(name);
    start.function(0);
    return true;
}

static opd_status take_answer(opd_status without)
{
    opd_status status = own.status != OPD_OK ? (opd_status)own.status : without;
    own.text[sizeof own.text - 1] = '\0';
    return status == OPD_OK
               ? OPD_OK
               : opd_fail(status, "%s", own.text[0] != '\0' ? own.text : "the Python of the worker failed");
}

/* Says once why it cannot be. */
opd_status opd_python_load(void)
{
    char folder[PATH_MAX];
    char script[SCRIPT_SIZE];
    if (handle != NULL) {
        return OPD_OK;
    }
    if (!find_folder(folder, sizeof folder)) {
        return opd_fail(OPD_E_CHILD, "opsdebug_aten.py is not in torch/ beside opd-worker");
    }
    for (size_t i = 0; i < OPD_COUNT(libraries) && handle == NULL; i++) {
        handle = dlopen(libraries[i], RTLD_NOW | RTLD_GLOBAL); /* extension modules take its symbols */
    }
    if (handle == NULL) {
        return opd_fail(OPD_E_NOTFOUND, "%s: cannot load %s; apt-get install libpython3.11 python3-torch",
                        "replay of ATen operators", libraries[0]);
    }
    (void)setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    (void)setenv("PYTHONNOUSERSITE", "1", 1);
    (void)unsetenv("PYTHONPATH");
    (void)unsetenv("PYTHONSTARTUP");
    snprintf(script, sizeof script,
             "import sys\nsys.path.insert(0, '%s')\nimport opsdebug_aten\nopsdebug_aten.load(%llu)\n", folder,
             (unsigned long long)(uintptr_t)&own);
    own.status = OPD_E_CHILD;
    return initialize(handle) && run_text(handle, script) ? take_answer(OPD_OK) : take_answer(OPD_E_CHILD);
}

void opd_python_copied(void)
{
    union {
        void *object;
        void (*function)(void);
    } copied = { .object = find(handle, "PyOS_AfterFork_Child") };
    if (copied.object != NULL) {
        copied.function();
    }
}

opd_status opd_python_open(opd_job *job)
{
    char script[SCRIPT_SIZE];
    opd_status status = opd_python_load();
    if (status != OPD_OK) {
        return status;
    }
    own.call = &job->call;
    own.threads = job->threads;
    own.status = OPD_E_CHILD;
    snprintf(script, sizeof script, "opsdebug_aten.serve(%llu)\n", (unsigned long long)(uintptr_t)&own);
    status = run_text(handle, script) ? take_answer(OPD_OK) : take_answer(OPD_E_CHILD);
    if (status == OPD_OK) {
        opd_provider_identify(&job->result, own.library);
        snprintf(job->result.variant, sizeof job->result.variant, "%.*s", (int)sizeof own.version - 1, own.version);
        job->result.threads = own.threads;
    }
    return status;
}

opd_status opd_python_run(const opd_call *call)
{
    own.call = call;
    own.status = OPD_OK;
    own.text[0] = '\0';
    return own.run() == 0 ? take_answer(OPD_OK) : take_answer(OPD_E_CHILD);
}
