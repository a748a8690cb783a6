# Private headers of reducer/ are opened for its own tests.
opd_add_test(test_shape_search ${CMAKE_CURRENT_LIST_DIR}/test_shape_search.c LABEL property LINK opd_reducer)
target_include_directories(test_shape_search PRIVATE ${CMAKE_SOURCE_DIR}/reducer)
opd_add_test(test_emit_c ${CMAKE_CURRENT_LIST_DIR}/test_emit_c.c LABEL property LINK opd_reducer opd_kernels)
set_tests_properties(test_emit_c PROPERTIES TIMEOUT ${OPD_TEST_TIMEOUT})
