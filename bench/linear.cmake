opd_add_program(bench_linear ${CMAKE_CURRENT_LIST_DIR}/bench_linear.c LINK opd_kernels m ${CMAKE_DL_LIBS})
target_compile_definitions(bench_linear PRIVATE OPD_BENCH_TORCH="${CMAKE_CURRENT_LIST_DIR}/bench_torch_attention.py")
