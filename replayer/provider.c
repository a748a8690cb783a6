/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding and loading the provider. RTLD_LOCAL and symbols by handle: the worker links no BLAS, so nothing can stand in for
 * the library that was asked for.
 */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <opsdebug/library.h>

#include "dnnl_product.h"
#include "dnnl_run.h"
#include "libraries.h"
#include "provider.h"

/*
 * May a path that only a bundle names be loaded? Loading runs code, so only what the administrator installed: a file that, with all its
 * directories, belongs to root and that nobody else may write.
 */
static bool is_installed(const char *path)
{
    char real[PATH_MAX];
    if (realpath(path, real) == NULL) {
        return false;
    }
    for (;;) {
        struct stat info;
        if (stat(real[0] != '\0' ? real : "/", &info) != 0 || info.st_uid != 0 ||
            (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
            return false;
        }
        char *slash = strrchr(real, '/');
        if (slash == NULL || real[0] == '\0') {
            return true;
        }
        *slash = '\0';
    }
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* What dlopen is to be given for the wish. */
static opd_status choose_file(char *path, size_t size, const opd_job *job)
{
    const char *wish = job->library;
    if (opd_library_is_name(wish)) {
        return opd_library_find(path, size, wish) ? OPD_OK
                                                  : opd_fail(OPD_E_NOTFOUND, "no %s library is installed", wish);
    }
    if (!job->is_trusted_path && strchr(wish, '/') != NULL) {
        struct stat info;
        if (stat(wish, &info) != 0) {
            /* Recorded elsewhere: the same name from the loader's own directories is the nearest thing. */
            snprintf(path, size, "%s", base_name(wish));
            return OPD_OK;
        }
        if (!is_installed(wish)) {
            return opd_fail(OPD_E_NOTFOUND,
                            "the recorded library %s is not installed by the system: name it with --library "
                            "to load it all the same",
                            wish);
        }
    }
    snprintf(path, size, "%s", wish);
    return OPD_OK;
}

/* ------------------------------------------------------------------------------------------- the routine */

static void *find_symbol(void *handle, char *text, size_t size, const opd_routine *routine,
                         const opd_name_pattern *pattern)
{
    return opd_routine_symbol(text, size, routine, pattern) ? dlsym(handle, text) : NULL;
}

/* The first exported name of a form; recorded: the exact name called first. int_bytes 0 = any. */
static void *find_form(opd_provider *out, const opd_routine *routine, bool is_cblas, int int_bytes,
                       const char *recorded)
{
    for (int i = 0; i < opd_name_pattern_count(); i++) {
        const opd_name_pattern *pattern = opd_name_pattern_at(i);
        char text[64];
        if (pattern->is_cblas != is_cblas || (int_bytes != 0 && pattern->int_bytes != int_bytes)) {
            continue;
        }
        void *address = find_symbol(out->handle, text, sizeof text, routine, pattern);
        if (address != NULL && (recorded == NULL || strcmp(recorded, text) == 0)) {
            snprintf(out->symbol, sizeof out->symbol, "%s", text);
            out->is_cblas = pattern->is_cblas;
            out->int_bytes = pattern->int_bytes;
            out->is_direct = pattern->is_direct;
            return address;
        }
    }
    return NULL;
}

static opd_status check_narrow(const opd_call *call)
{
    const opd_value *lists[] = { call->symbols, call->attrs };
    const int counts[] = { call->symbol_count, call->attr_count };
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < counts[k]; i++) {
            const opd_value *value = &lists[k][i];
            if (value->kind == OPD_VALUE_INT && (value->i > INT32_MAX || value->i < INT32_MIN)) {
                return opd_fail(OPD_E_UNSUPPORTED, "%s = %lld does not fit the 32-bit integers of this library",
                                value->name, (long long)value->i);
            }
        }
    }
    return OPD_OK;
}

static opd_status resolve(opd_provider *out, const opd_job *job, const opd_routine *routine)
{
    const opd_call *call = &job->call;
    bool is_cblas = (call->flags & OPD_CALL_CBLAS) != 0;
    int int_bytes = (call->flags & OPD_CALL_ILP64) != 0 ? 8 : 4;
    void *address = NULL;
    if (call->symbol[0] != '\0') {
        address = find_form(out, routine, is_cblas, 0, call->symbol);
    }
    if (address == NULL) {
        address = find_form(out, routine, is_cblas, int_bytes, NULL);
    }
    if (address == NULL) {
        address = find_form(out, routine, is_cblas, 0, NULL);
    }
    if (address == NULL) {
        bool has_other = find_form(out, routine, !is_cblas, 0, NULL) != NULL;
        return opd_fail(OPD_E_NOTFOUND, "%s has no %s form of %s%s%s%s", base_name(job->library),
                        is_cblas ? "CBLAS" : "Fortran", routine->name, has_other ? " (it has " : "",
                        has_other ? out->symbol : "", has_other ? ")" : "");
    }
    memcpy(&out->function, &address, sizeof out->function);
    return out->int_bytes == 4 ? check_narrow(call) : OPD_OK;
}

/* ------------------------------------------------------------------------------------------- its identity */

typedef struct identity {
    uint64_t address;
    char *build_id; /* 41 bytes */
} identity;

static void read_build_id(char *text, const uint8_t *note, size_t size)
{
    while (size >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) head;
        memcpy(&head, note, sizeof head);
        size_t name = (head.n_namesz + 3U) & ~3U;
        size_t body = (head.n_descsz + 3U) & ~3U;
        if (size - sizeof head < name || size - sizeof head - name < body) {
            return;
        }
        const uint8_t *id = note + sizeof head + name;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && memcmp(note + sizeof head, "GNU", 4) == 0) {
            for (size_t i = 0; i < head.n_descsz && i < 20; i++) {
                snprintf(text + 2 * i, 3, "%02x", id[i]);
            }
            return;
        }
        note += sizeof head + name + body;
        size -= sizeof head + name + body;
    }
}

static int visit_object(struct dl_phdr_info *info, size_t size, void *context)
{
    identity *wanted = context;
    bool is_inside = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *head = &info->dlpi_phdr[i];
        uint64_t low = info->dlpi_addr + head->p_vaddr;
        is_inside |= head->p_type == PT_LOAD && wanted->address >= low && wanted->address < low + head->p_memsz;
    }
    for (int i = 0; is_inside && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *head = &info->dlpi_phdr[i];
        if (head->p_type == PT_NOTE && wanted->build_id[0] == '\0') {
            read_build_id(wanted->build_id, (const uint8_t *)(info->dlpi_addr + head->p_vaddr), head->p_memsz);
        }
    }
    return is_inside ? 1 : 0;
}

/* What the library says of itself. */
static void ask_library(void *handle, opd_replay_result *result)
{
    for (int i = 0; i < opd_library_query_count(); i++) {
        const opd_library_query *query = opd_library_query_at(i);
        void *found = query->core != NULL ? dlsym(handle, query->core) : NULL;
        char *(*core)(void) = NULL;
        int (*threads)(void) = NULL;
        long (*threads_long)(void) = NULL;
        if (found != NULL && result->core[0] == '\0') {
            memcpy(&core, &found, sizeof core);
            const char *name = core();
            snprintf(result->core, sizeof result->core, "%s", name != NULL ? name : "");
        }
        found = query->threads != NULL ? dlsym(handle, query->threads) : NULL;
        if (found != NULL && result->threads == 0) {
            memcpy(&threads, &found, sizeof threads);
            result->threads = threads();
        }
        found = query->threads_long != NULL ? dlsym(handle, query->threads_long) : NULL;
        if (found != NULL && result->threads == 0) {
            memcpy(&threads_long, &found, sizeof threads_long);
            long count = threads_long();
            result->threads = count > 0 && count < INT_MAX ? (int32_t)count : 1; /* -1: not set, serial */
        }
    }
}

void opd_provider_identify(opd_replay_result *result, const void *address)
{
    Dl_info info;
    identity wanted = { .address = (uint64_t)(uintptr_t)address, .build_id = result->build_id };
    if (dladdr(address, &info) != 0 && info.dli_fname != NULL) {
        char real[PATH_MAX];
        const char *path = realpath(info.dli_fname, real) != NULL ? real : info.dli_fname;
        snprintf(result->library, sizeof result->library, "%.*s", (int)sizeof result->library - 1, path);
    }
    dl_iterate_phdr(visit_object, &wanted);
}

static void identify(const opd_provider *provider, opd_replay_result *result)
{
    void *address = NULL;
    memcpy(&address, &provider->function, sizeof address);
    opd_provider_identify(result, address);
    ask_library(provider->handle, result);
    snprintf(result->maker, sizeof result->maker, "%s", opd_library_maker(dlsym, provider->handle));
}

/* A wish that the library cannot know of would be passed over in silence. */
static opd_status check_core(const opd_job *job)
{
    if (!job->is_core_asked || job->result.core[0] != '\0') {
        return OPD_OK;
    }
    return opd_fail(
        OPD_E_UNSUPPORTED,
        "--core %s has no effect on %s, which names no core: only OpenBLAS has them to choose from; leave it "
        "out, or give --library openblas",
        job->core, job->result.library);
}

static opd_status load_user_library(opd_job *job)
{
    if (job->library[0] == '\0') {
        return OPD_OK;
    }
    if (!job->is_trusted_path) {
        return opd_fail(OPD_E_NOTFOUND, "name the library of %s with --library to load it: %s", job->call.name,
                        job->library);
    }
    snprintf(job->result.library, sizeof job->result.library, "%s", job->library);
    return opd_library_load(job->library);
}

/* The file that a variant of another maker's library is to be taken from: as asked for, or where distributions keep one of its name. */
static opd_status choose_engine(const opd_job *job)
{
    static char path[PATH_MAX];
    if (job->engine[0] != '\0') {
        snprintf(path, sizeof path, "%s", job->engine);
        opd_engine_use(path);
        return opd_engine_check();
    }
    if (opd_library_is_name(job->variant) && opd_library_find(path, sizeof path, job->variant)) {
        opd_engine_use(path);
    }
    return OPD_OK;
}

opd_status opd_provider_choose(opd_provider *out, opd_job *job)
{
    opd_provider provider = { .int_bytes = 4 };
    opd_status status = load_user_library(job);
    if (status == OPD_OK) {
        status = choose_engine(job);
    }
    if (status != OPD_OK) {
        return status;
    }
    const opd_op *op = opd_op_find(job->call.domain, job->call.name);
    const opd_kernel *kernel = opd_kernel_find(job->call.domain, job->call.name);
    if (op == NULL || kernel == NULL) {
        return opd_fail(OPD_E_NOTFOUND, "no %s for the operator %s.%s", op == NULL ? "contract" : "variant",
                        job->call.domain, job->call.name);
    }
    job->call.op = op;
    for (int i = 0; i < job->call.operand_count;
         i++) { /* addresses of another process: a variant declines by views alone */
        job->call.operands[i].view.data = NULL;
    }
    status = opd_kernel_choose(&provider.variant, kernel, &job->call, job->variant[0] != '\0' ? job->variant : NULL);
    if (status != OPD_OK) {
        return status;
    }
    provider.threads = job->threads > 0 ? job->threads : (int32_t)sysconf(_SC_NPROCESSORS_ONLN);
    provider.threads = provider.threads > 0 ? provider.threads : 1;
    job->result.threads = provider.threads;
    snprintf(job->result.variant, sizeof job->result.variant, "%s", provider.variant->name);
    if (provider.variant->is_library) {
        snprintf(job->result.library, sizeof job->result.library, "%s", opd_engine_file());
        snprintf(job->result.maker, sizeof job->result.maker, "%s", opd_engine_maker());
    }
    *out = provider;
    return OPD_OK;
}

static void choose_naive(opd_provider *out, opd_job *job)
{
    out->is_naive = true;
    out->is_cblas = (job->call.flags & OPD_CALL_CBLAS) != 0; /* in the form of the call: positions count from there */
    out->is_direct = (job->call.flags & OPD_CALL_DIRECT) != 0;
    out->int_bytes = (job->call.flags & OPD_CALL_ILP64) != 0 ? 8 : 4;
    snprintf(job->result.library, sizeof job->result.library, "naive");
    job->result.threads = 1;
}

static opd_status load(opd_provider *out, const opd_job *job)
{
    char path[PATH_MAX];
    opd_status status = choose_file(path, sizeof path, job);
    if (status != OPD_OK) {
        return status;
    }
    out->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    return out->handle != NULL ? OPD_OK : opd_fail(OPD_E_NOTFOUND, "cannot load the library: %s", dlerror());
}

opd_status opd_provider_primitive(opd_provider *out, opd_job *job)
{
    opd_provider provider = { .int_bytes = 4, .symbol = "dnnl_primitive_execute" };
    job->call.op = opd_op_find(job->call.domain, job->call.name);
    if (opd_dnnl_product_is(&job->call)) {
        snprintf(provider.symbol, sizeof provider.symbol, "%s", job->call.op->name);
    }
    if (strcmp(job->library, "naive") == 0) {
        choose_naive(out, job);
        return check_core(job);
    }
    opd_status status = load(&provider, job);
    if (status != OPD_OK) {
        return status;
    }
    void *function = dlsym(provider.handle, provider.symbol);
    if (function == NULL) {
        return opd_fail(OPD_E_NOTFOUND, "%s has no %s", base_name(job->library), provider.symbol);
    }
    memcpy(&provider.function, &function, sizeof provider.function);
    identify(&provider, &job->result);
    void *threads = dlsym(provider.handle, "omp_get_max_threads");
    int (*max_threads)(void) = NULL;
    memcpy(&max_threads, &threads, sizeof max_threads);
    job->result.threads = max_threads != NULL ? max_threads() : 0;
    snprintf(job->result.symbol, sizeof job->result.symbol, "%s", provider.symbol);
    status = check_core(job);
    if (status == OPD_OK) {
        status = opd_dnnl_run_open(&provider.primitive, provider.handle, job);
    }
    if (status == OPD_OK) {
        *out = provider;
    }
    return status;
}

opd_status opd_provider_open(opd_provider *out, opd_job *job, const opd_routine *routine)
{
    opd_provider provider = { .int_bytes = 4 };
    if (strcmp(job->library, "naive") == 0) {
        choose_naive(out, job);
        return check_core(job);
    }
    opd_status status = load(&provider, job);
    if (status != OPD_OK) {
        return status;
    }
    status = resolve(&provider, job, routine);
    if (status != OPD_OK) {
        return status;
    }
    identify(&provider, &job->result);
    snprintf(job->result.symbol, sizeof job->result.symbol, "%s", provider.symbol);
    *out = provider;
    return check_core(job);
}

bool opd_provider_scratch(uint64_t *bytes, const opd_provider *provider, const opd_call *call)
{
    *bytes = 0;
    if (provider->primitive != NULL) {
        *bytes = opd_dnnl_run_scratch(provider->primitive);
    } else if (provider->variant != NULL && provider->variant->workspace != NULL) {
        *bytes = provider->variant->workspace(call, provider->threads);
    } else {
        return false;
    }
    return true;
}
