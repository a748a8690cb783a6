opd_add_fuzz(wish ${CMAKE_SOURCE_DIR}/tests/support/general_ops.c CORPUS wish LINK opd_ops)
target_include_directories(fuzz_wish PRIVATE ${CMAKE_SOURCE_DIR}/kernels ${CMAKE_SOURCE_DIR}/tests/support)
