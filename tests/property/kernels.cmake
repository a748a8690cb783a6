set(here ${CMAKE_CURRENT_LIST_DIR})
opd_add_test(test_blas_reference ${here}/test_blas_reference.c ${here}/blas_case.c LABEL property
  LINK opd_kernels ${CMAKE_DL_LIBS} m)
add_test(NAME test_blas_reference_openblas COMMAND test_blas_reference openblas)
set_tests_properties(test_blas_reference_openblas PROPERTIES LABELS property SKIP_RETURN_CODE 77 TIMEOUT ${OPD_TEST_TIMEOUT})
opd_add_test(test_blas_words ${here}/test_blas_words.c ${here}/blas_case.c LABEL property LINK opd_kernels)
opd_add_test(test_blas_errors ${here}/test_blas_errors.c ${here}/blas_case.c LABEL property
  LINK opd_kernels ${CMAKE_DL_LIBS})
# netlib ends the forked children by STOP: a leak check of each would cost a minute.
set_tests_properties(test_blas_errors PROPERTIES ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
