# Against numpy, run as a process of its own.
opd_add_test(test_elementwise ${CMAKE_CURRENT_LIST_DIR}/test_elementwise.c ${CMAKE_CURRENT_LIST_DIR}/numpy_process.c LABEL unit LINK opd_kernels)
target_compile_definitions(test_elementwise PRIVATE OPD_NUMPY_SCRIPT="${CMAKE_CURRENT_LIST_DIR}/elementwise_numpy.py")

pkg_check_modules(mpfr REQUIRED IMPORTED_TARGET mpfr)
opd_add_test(test_elementwise_mpfr ${CMAKE_CURRENT_LIST_DIR}/test_elementwise_mpfr.c
  ${CMAKE_SOURCE_DIR}/tests/support/mpfr_functions.c LABEL unit LINK opd_kernels PkgConfig::mpfr m)
target_include_directories(test_elementwise_mpfr PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)

opd_add_test(test_elementwise_runs ${CMAKE_CURRENT_LIST_DIR}/test_elementwise_runs.c LABEL "unit;threads" LINK opd_kernels)
add_dependencies(thread_tests test_elementwise_runs)
