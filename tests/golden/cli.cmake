# A case is a folder with a cmd file; run_golden.py says how to write one and rewrites what is expected.
file(GLOB commands CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*/cmd)
foreach(command ${commands})
  get_filename_component(case ${command} DIRECTORY)
  get_filename_component(name ${case} NAME)
  add_test(NAME golden_${name} COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/run_golden.py ${CMAKE_BINARY_DIR} ${case})
  set_tests_properties(golden_${name} PROPERTIES LABELS golden SKIP_RETURN_CODE 77 TIMEOUT ${OPD_TEST_TIMEOUT})
endforeach()

add_test(NAME golden_readme_session
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/run_readme.py ${CMAKE_BINARY_DIR})
set_tests_properties(golden_readme_session PROPERTIES LABELS golden SKIP_RETURN_CODE 77 TIMEOUT ${OPD_TEST_TIMEOUT})

# Gates over the sources. They depend on nothing that is built.
set(support ${CMAKE_SOURCE_DIR}/tests/support)
add_test(NAME gate_layers COMMAND /usr/bin/python3 ${support}/check_layers.py ${CMAKE_SOURCE_DIR})
add_test(NAME gate_sources COMMAND /usr/bin/python3 ${support}/check_sources.py ${CMAKE_SOURCE_DIR})
add_test(NAME gate_format COMMAND /usr/bin/python3 ${support}/check_format.py ${CMAKE_SOURCE_DIR})
add_test(NAME gate_headers COMMAND /usr/bin/python3 ${support}/check_headers.py ${CMAKE_SOURCE_DIR} ${CMAKE_C_COMPILER} g++)
add_test(NAME gate_quad COMMAND /usr/bin/python3 ${support}/check_quad.py ${CMAKE_BINARY_DIR})
set_tests_properties(gate_layers gate_sources gate_format gate_headers gate_quad PROPERTIES LABELS gate SKIP_RETURN_CODE 77)
