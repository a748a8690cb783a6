set(golden_v1 ${CMAKE_SOURCE_DIR}/tests/golden/bundles/v1)
opd_add_program(write_golden ${CMAKE_SOURCE_DIR}/tests/support/write_golden.c LINK opd_proto)
set_target_properties(write_golden PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
opd_add_program(test_golden_bundle ${CMAKE_CURRENT_LIST_DIR}/test_golden_bundle.c LINK opd_proto PkgConfig::cmocka)
set_target_properties(test_golden_bundle PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_test(NAME test_golden_bundle COMMAND test_golden_bundle ${golden_v1})
add_test(NAME test_bundle_by_protoc COMMAND python3 ${CMAKE_CURRENT_LIST_DIR}/check_bundle.py ${CMAKE_SOURCE_DIR}/proto
  ${golden_v1} $<TARGET_FILE:write_golden>)
set_tests_properties(test_golden_bundle test_bundle_by_protoc PROPERTIES LABELS golden TIMEOUT ${OPD_TEST_TIMEOUT})
