opd_add_test(test_emit_faults ${CMAKE_CURRENT_LIST_DIR}/test_emit_faults.c LABEL e2e LINK opd_reducer)
