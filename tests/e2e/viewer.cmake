add_test(NAME e2e_export_details
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/check_export_details.py $<TARGET_FILE:write_run>)
set_tests_properties(e2e_export_details PROPERTIES LABELS e2e TIMEOUT ${OPD_TEST_TIMEOUT})

add_test(NAME e2e_trace_processor
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/check_trace_processor.py $<TARGET_FILE:write_run>)
set_tests_properties(e2e_trace_processor PROPERTIES LABELS e2e SKIP_RETURN_CODE 77 TIMEOUT ${OPD_TEST_TIMEOUT})
