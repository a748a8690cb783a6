opd_add_program(bench_export ${CMAKE_CURRENT_LIST_DIR}/bench_export.c LINK opd_export)
