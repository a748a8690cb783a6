opd_add_test(test_reduce ${CMAKE_CURRENT_LIST_DIR}/test_reduce.c LABEL unit LINK opd_reducer)
