opd_add_program(bench_bundle ${CMAKE_SOURCE_DIR}/bench/bench_bundle.c LINK opd_proto)
