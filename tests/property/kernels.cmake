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

set(unit ${CMAKE_SOURCE_DIR}/tests/unit)
opd_add_test(test_general_shapes ${here}/test_general_shapes.c ${unit}/numpy_process.c ${CMAKE_SOURCE_DIR}/tests/support/general_ops.c
  LABEL property LINK opd_proto opd_ops)
target_compile_definitions(test_general_shapes PRIVATE OPD_NUMPY_SCRIPT="${here}/general_numpy.py")
target_include_directories(test_general_shapes PRIVATE ${unit} ${CMAKE_SOURCE_DIR}/tests/support)
opd_add_test(test_norm_variants ${CMAKE_CURRENT_LIST_DIR}/test_norm_variants.c LABEL "property;threads" LINK opd_kernels m)
add_dependencies(thread_tests test_norm_variants)
