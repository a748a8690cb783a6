opd_add_program(bench_core ${CMAKE_CURRENT_LIST_DIR}/bench_core.c LINK opd_core)
opd_add_program(bench_metrics ${CMAKE_CURRENT_LIST_DIR}/bench_metrics.c LINK opd_core m)
