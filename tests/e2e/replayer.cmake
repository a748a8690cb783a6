# Replay on real libraries, and on one that misbehaves to order. Both start the worker of this build.
add_library(bad_blas MODULE ${CMAKE_SOURCE_DIR}/tests/support/bad_blas.c)
target_link_libraries(bad_blas PRIVATE Threads::Threads)
target_compile_options(bad_blas PRIVATE -w)
set_target_properties(bad_blas PROPERTIES C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

foreach(name replay_faults replay_libraries replay_bundle)
  opd_add_test(test_${name} ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c ${CMAKE_SOURCE_DIR}/tests/support/handmade.c LABEL e2e
    LINK opd_replayer opd_proto opd_ops opd_core)
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)
  add_dependencies(test_${name} opd-worker bad_blas)
  set_tests_properties(test_${name} PROPERTIES
    ENVIRONMENT "OPD_TEST_WORKER=$<TARGET_FILE:opd-worker>;OPD_BAD_BLAS=$<TARGET_FILE:bad_blas>")
endforeach()
