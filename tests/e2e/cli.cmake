# The program on real files and real programs.
opd_add_program(make_bundle ${CMAKE_SOURCE_DIR}/tests/support/make_bundle.c LINK opd_proto opd_ops opd_core)
set_target_properties(make_bundle PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

foreach(script cli_bad_input cli_next cli_main_job cli_install cli_open cli_reduce_killed cli_salvage cli_full_disk cli_hostile)
  add_test(NAME ${script} COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/${script}.py ${CMAKE_BINARY_DIR})
  set_tests_properties(${script} PROPERTIES LABELS e2e SKIP_RETURN_CODE 77 TIMEOUT ${OPD_TEST_TIMEOUT})
endforeach()

# Faults of real libraries through the whole path, named by what happens; each .json cites the report upstream.
file(GLOB cases CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cases/*.json)
foreach(case ${cases})
  get_filename_component(name ${case} NAME_WE)
  add_test(NAME case_${name} COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli_cases.py ${CMAKE_BINARY_DIR} ${case})
  set_tests_properties(case_${name} PROPERTIES LABELS e2e SKIP_RETURN_CODE 77 TIMEOUT ${OPD_TEST_TIMEOUT}
    ENVIRONMENT "${recorded_under_asan}")
endforeach()

# run and what follows it, on a user's library of operators that are wrong on purpose. Without sanitizers: their faults
# are the signals and wrong bytes themselves.
foreach(library wrong_ops hostile_ops)
  add_library(${library} MODULE ${CMAKE_SOURCE_DIR}/tests/support/${library}.c)
  target_link_libraries(${library} PRIVATE opd_plain opd_warnings)
  set_target_properties(${library} PROPERTIES PREFIX "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()
foreach(script cli_run cli_names cli_trace cli_general cli_references cli_validate cli_own_operators)
  add_test(NAME ${script} COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/${script}.py ${CMAKE_BINARY_DIR})
  set_tests_properties(${script} PROPERTIES LABELS e2e SKIP_RETURN_CODE 77 TIMEOUT ${OPD_TEST_TIMEOUT})
endforeach()

# import: what is written there, and Debian's ONNX tests.
foreach(which written stored)
  add_test(NAME cli_import_${which} COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/cli_import.py ${CMAKE_BINARY_DIR} ${which})
  set_tests_properties(cli_import_${which} PROPERTIES LABELS e2e SKIP_RETURN_CODE 77 TIMEOUT ${OPD_TEST_TIMEOUT})
endforeach()

add_library(wrong_gemm MODULE ${CMAKE_SOURCE_DIR}/tests/support/wrong_gemm.c)
target_link_libraries(wrong_gemm PRIVATE opd_plain) # Python loads it, which has no sanitizer either
set_target_properties(wrong_gemm PROPERTIES PREFIX "" C_VISIBILITY_PRESET default LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
