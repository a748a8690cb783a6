/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the functions that OpenBLAS, its wheels and BLIS answer about themselves with, and what tells other libraries.
 */
#include <stddef.h>

#include <opsdebug/library.h>
#include <opsdebug/memory.h>

/* None of these has a side effect but bli_thread_get_num_threads. */
static const opd_library_query queries[] = {
    { .maker = "openblas",
      .core = "openblas_get_corename",
      .config = "openblas_get_config",
      .threads = "openblas_get_num_threads" },
    { .maker = "openblas",
      .core = "openblas_get_corename64_",
      .config = "openblas_get_config64_",
      .threads = "openblas_get_num_threads64_" },
    { .maker = "openblas",
      .core = "scipy_openblas_get_corename64_",
      .config = "scipy_openblas_get_config64_",
      .threads = "scipy_openblas_get_num_threads64_" },
    { .maker = "openblas",
      .core = "scipy_openblas_get_corename",
      .config = "scipy_openblas_get_config",
      .threads = "scipy_openblas_get_num_threads" },
    { .maker = "blis", .config = "bli_info_get_version_str", .threads_long = "bli_thread_get_num_threads" },
    { .maker = "mkl", .mark = "MKL_Get_Version_String" },
    { .maker = "netlib", .mark = "CBLAS_CallFromC" }, /* a variable of the reference CBLAS */
    { .maker = "onednn", .mark = "dnnl_version" },
};

int opd_library_query_count(void)
{
    return OPD_COUNT(queries);
}

const opd_library_query *opd_library_query_at(int index)
{
    return index >= 0 && index < opd_library_query_count() ? &queries[index] : NULL;
}

const char *opd_library_maker(void *(*find)(void *library, const char *name), void *library)
{
    for (size_t i = 0; i < OPD_COUNT(queries); i++) {
        const char *const names[] = { queries[i].config, queries[i].mark };
        for (size_t k = 0; k < OPD_COUNT(names); k++) {
            if (names[k] != NULL && find(library, names[k]) != NULL) {
                return queries[i].maker;
            }
        }
    }
    return "";
}
