# Calls under other floating-point modes than the default, recorded and replayed.
find_library(OPENBLAS_SHARED openblas)
opd_add_program(mode_victim ${CMAKE_SOURCE_DIR}/tests/support/mode_victim.c LINK opsdebug-record ${OPENBLAS_SHARED} m)
set_target_properties(mode_victim PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME floating_modes COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/floating_modes.py ${CMAKE_BINARY_DIR})
set_tests_properties(floating_modes PROPERTIES LABELS e2e SKIP_RETURN_CODE 77 TIMEOUT ${OPD_TEST_TIMEOUT}
  ENVIRONMENT "${recorded_under_asan}")
