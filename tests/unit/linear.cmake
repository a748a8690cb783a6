# Operators against numpy, scipy and closed forms: operator_probe runs what the scripts ask for.
opd_add_program(operator_probe ${CMAKE_SOURCE_DIR}/tests/support/operator_probe.c LINK opd_kernels m)
foreach(group products windows attention)
  add_test(NAME test_linear_${group}
    COMMAND /usr/bin/python3 ${CMAKE_CURRENT_LIST_DIR}/linear_numpy.py $<TARGET_FILE:operator_probe> ${group})
  set_tests_properties(test_linear_${group} PROPERTIES LABELS unit SKIP_RETURN_CODE 77 TIMEOUT 300)
endforeach()

opd_add_test(test_linear ${CMAKE_CURRENT_LIST_DIR}/test_linear.c LABEL "unit;threads" LINK opd_kernels m)
add_dependencies(thread_tests test_linear)
