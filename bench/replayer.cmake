opd_add_program(bench_replay ${CMAKE_CURRENT_LIST_DIR}/bench_replay.c LINK opd_proto opd_ops opd_core ${CMAKE_DL_LIBS})
target_compile_definitions(bench_replay PRIVATE OPD_BENCH_PROGRAM="$<TARGET_FILE:ops-debug>")
add_dependencies(bench_replay ops-debug opd-worker)
