opd_add_test(test_emit_faults ${CMAKE_CURRENT_LIST_DIR}/test_emit_faults.c LABEL e2e LINK opd_reducer opd_kernels)

add_test(NAME cli_wheel_library
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/cli_wheel_library.py ${CMAKE_BINARY_DIR})
set_tests_properties(cli_wheel_library PROPERTIES LABELS e2e SKIP_RETURN_CODE 77 TIMEOUT ${OPD_TEST_TIMEOUT})

add_test(NAME cli_bad_arguments
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/cli_bad_arguments.py ${CMAKE_BINARY_DIR})
set_tests_properties(cli_bad_arguments PROPERTIES LABELS e2e SKIP_RETURN_CODE 77 TIMEOUT ${OPD_TEST_TIMEOUT})
