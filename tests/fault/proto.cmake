opd_add_test(test_bundle_fault ${CMAKE_CURRENT_LIST_DIR}/test_bundle_fault.c ${CMAKE_SOURCE_DIR}/tests/support/bundle_make.c
  LABEL fault LINK opd_proto)
target_include_directories(test_bundle_fault PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)
opd_add_test(test_store_fault ${CMAKE_CURRENT_LIST_DIR}/test_store_fault.c LABEL fault LINK opd_proto)
