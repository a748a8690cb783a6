foreach(name test_expression test_infer test_registry test_bind test_check test_call test_invoke test_reference)
  opd_add_test(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c LABEL unit LINK opd_kernels m)
endforeach()

opd_add_test(test_pool ${CMAKE_CURRENT_LIST_DIR}/test_pool.c LABEL "unit;threads" LINK opd_kernels)
set_tests_properties(test_registry PROPERTIES LABELS "unit;threads")
add_dependencies(thread_tests test_pool test_registry)

# Contracts of general operators, on samples of the tests' own.
foreach(name test_general test_grammar)
  opd_add_test(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c ${CMAKE_SOURCE_DIR}/tests/support/general_ops.c LABEL unit
    LINK opd_kernels)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)
endforeach()

# Private headers of kernels/ are opened for it: kernels come from libraries otherwise.
opd_add_test(test_definition ${CMAKE_CURRENT_LIST_DIR}/test_definition.c LABEL unit LINK opd_kernels opd_proto m)
target_include_directories(test_definition PRIVATE ${CMAKE_SOURCE_DIR}/kernels)
opd_add_test(test_definition_range ${CMAKE_CURRENT_LIST_DIR}/test_definition_range.c LABEL unit LINK opd_kernels opd_proto m)

# Against numpy, run as a process of its own.
opd_add_test(test_normalize_numpy ${CMAKE_CURRENT_LIST_DIR}/test_normalize_numpy.c ${CMAKE_CURRENT_LIST_DIR}/numpy_process.c
  LABEL unit LINK opd_kernels m)
target_compile_definitions(test_normalize_numpy PRIVATE OPD_NUMPY_SCRIPT="${CMAKE_CURRENT_LIST_DIR}/normalize_numpy.py")

# oneDNN's layouts are a private matter of kernels/.
opd_add_test(test_dnnl ${CMAKE_CURRENT_LIST_DIR}/test_dnnl.c LABEL unit LINK opd_kernels)
target_include_directories(test_dnnl PRIVATE ${CMAKE_SOURCE_DIR}/kernels)

opd_add_test(test_doubt ${CMAKE_CURRENT_LIST_DIR}/test_doubt.c LABEL unit LINK opd_kernels opd_proto m)
