# The recorder under failures from outside: each case is a function of recorder_faults.py. Victims: tests/e2e/recorder.cmake.
file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/recorder_faults.py cases REGEX "^def [a-z_0-9]+\\(\\):$")
list(TRANSFORM cases REPLACE "^def ([a-z_0-9]+).*" "\\1")
list(REMOVE_ITEM cases need_root)
foreach(case ${cases})
  add_test(NAME record_${case} COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/recorder_faults.py ${CMAKE_BINARY_DIR} ${case})
  set_tests_properties(record_${case} PROPERTIES LABELS fault SKIP_RETURN_CODE 77 TIMEOUT ${OPD_TEST_TIMEOUT}
    ENVIRONMENT "OPD_SANITIZE=${OPD_SANITIZE}")
endforeach()
# They look at every session there is: another test's may not come or go meanwhile.
set_tests_properties(record_sessions_of_killed_collectors_do_not_pile_up PROPERTIES RUN_SERIAL ON)
