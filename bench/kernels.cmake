# Greatest errors of all variants: the tables of docs/kernels.md.
pkg_check_modules(mpfr IMPORTED_TARGET mpfr)
if(mpfr_FOUND)
  opd_add_program(kernel_ulp ${CMAKE_CURRENT_LIST_DIR}/kernel_ulp.c ${CMAKE_SOURCE_DIR}/tests/support/mpfr_functions.c
    LINK opd_kernels PkgConfig::mpfr m)
  target_include_directories(kernel_ulp PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)
endif()

# SLEEF is measured beside us where it is installed.
opd_add_program(bench_elementwise ${CMAKE_CURRENT_LIST_DIR}/bench_elementwise.c LINK opd_kernels)
pkg_check_modules(sleef IMPORTED_TARGET sleef)
if(sleef_FOUND AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_sources(bench_elementwise PRIVATE ${CMAKE_CURRENT_LIST_DIR}/sleef_loops.c)
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/sleef_loops.c PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
  target_compile_definitions(bench_elementwise PRIVATE OPD_HAVE_SLEEF)
  target_link_libraries(bench_elementwise PRIVATE PkgConfig::sleef)
endif()
