foreach(name test_expression test_registry test_bind test_check test_call test_invoke test_reference)
  opd_add_test(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c LABEL unit LINK opd_kernels m)
endforeach()
