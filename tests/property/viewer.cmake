opd_add_test(test_intervals test_intervals.c LABEL property LINK opd_proto)

# Random runs, written and exported by one program and checked by others; also used by the e2e tests.
opd_add_program(write_run ${CMAKE_SOURCE_DIR}/tests/support/write_run.c LINK opd_export)
set_target_properties(write_run PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME property_exports
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/check_exports.py $<TARGET_FILE:write_run> 12)
set_tests_properties(property_exports PROPERTIES LABELS property TIMEOUT ${OPD_TEST_TIMEOUT})
