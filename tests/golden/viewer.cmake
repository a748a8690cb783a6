add_test(NAME golden_bad_traces
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/check_bad_traces.py ${CMAKE_CURRENT_SOURCE_DIR}/bad_traces)
set_tests_properties(golden_bad_traces PROPERTIES LABELS golden TIMEOUT ${OPD_TEST_TIMEOUT})
