/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of the functions that OpenBLAS, its wheels and BLIS answer about themselves with.
 */
#include <opsdebug/library.h>
#include <opsdebug/memory.h>

/* None of these has a side effect but bli_thread_get_num_threads. */
static const opd_library_query queries[] = {
    { "openblas_get_corename", "openblas_get_config", "openblas_get_num_threads", NULL },
    { "openblas_get_corename64_", "openblas_get_config64_", "openblas_get_num_threads64_", NULL },
    { "scipy_openblas_get_corename64_", "scipy_openblas_get_config64_", "scipy_openblas_get_num_threads64_", NULL },
    { "scipy_openblas_get_corename", "scipy_openblas_get_config", "scipy_openblas_get_num_threads", NULL },
    { NULL, "bli_info_get_version_str", NULL, "bli_thread_get_num_threads" },
};

int opd_library_query_count(void)
{
    return OPD_COUNT(queries);
}

const opd_library_query *opd_library_query_at(int index)
{
    return index >= 0 && index < opd_library_query_count() ? &queries[index] : NULL;
}
