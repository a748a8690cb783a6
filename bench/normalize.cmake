opd_add_program(bench_normalize ${CMAKE_CURRENT_LIST_DIR}/bench_normalize.c LINK opd_kernels)
