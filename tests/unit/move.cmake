# Against numpy, run as a process of its own.
foreach(operators move lstm)
  opd_add_test(test_${operators} ${CMAKE_CURRENT_LIST_DIR}/test_${operators}.c ${CMAKE_CURRENT_LIST_DIR}/numpy_process.c
    ${CMAKE_CURRENT_LIST_DIR}/../support/trial_file.c ${CMAKE_CURRENT_LIST_DIR}/../support/wish_builder.c LABEL unit LINK opd_kernels)
  target_include_directories(test_${operators} PRIVATE ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_CURRENT_LIST_DIR}/../support)
  target_compile_definitions(test_${operators} PRIVATE OPD_NUMPY_SCRIPT="${CMAKE_CURRENT_LIST_DIR}/${operators}_numpy.py")
endforeach()

opd_add_test(test_onnx_nodes ${CMAKE_CURRENT_LIST_DIR}/test_onnx_nodes.c ${CMAKE_CURRENT_LIST_DIR}/numpy_process.c
  ${CMAKE_CURRENT_LIST_DIR}/../support/trial_file.c LABEL unit LINK opd_kernels m)
target_include_directories(test_onnx_nodes PRIVATE ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_CURRENT_LIST_DIR}/../support)
target_compile_definitions(test_onnx_nodes PRIVATE OPD_NUMPY_SCRIPT="${CMAKE_CURRENT_LIST_DIR}/../support/onnx_cases.py")
