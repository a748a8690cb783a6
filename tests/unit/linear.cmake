# Operators against numpy, scipy and closed forms: operator_probe runs what the scripts ask for.
opd_add_program(operator_probe ${CMAKE_SOURCE_DIR}/tests/support/operator_probe.c LINK opd_kernels m)
foreach(group products windows attention)
  add_test(NAME test_linear_${group}
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/linear_numpy.py $<TARGET_FILE:operator_probe> ${group})
  set_tests_properties(test_linear_${group} PROPERTIES LABELS unit SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()
