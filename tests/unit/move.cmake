# Against numpy, run as a process of its own.
opd_add_test(test_move ${CMAKE_CURRENT_LIST_DIR}/test_move.c ${CMAKE_CURRENT_LIST_DIR}/numpy_process.c
  ${CMAKE_CURRENT_LIST_DIR}/../support/trial_file.c LABEL unit LINK opd_kernels)
target_include_directories(test_move PRIVATE ${CMAKE_CURRENT_LIST_DIR}/../support)
target_compile_definitions(test_move PRIVATE OPD_NUMPY_SCRIPT="${CMAKE_CURRENT_LIST_DIR}/move_numpy.py")
