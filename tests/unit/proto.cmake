set(support ${CMAKE_SOURCE_DIR}/tests/support)
opd_add_test(test_hostile ${CMAKE_CURRENT_LIST_DIR}/test_hostile.c ${support}/bundle_forge.c LABEL unit LINK opd_proto
  PkgConfig::libzstd)
foreach(name test_case test_salvage)
  opd_add_test(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c ${support}/bundle_make.c LABEL unit LINK opd_proto)
endforeach()
# Private headers of proto/ are opened for the test of its search: what it hashes is seen there only.
opd_add_test(test_frame ${CMAKE_CURRENT_LIST_DIR}/test_frame.c ${support}/bundle_forge.c LABEL unit LINK opd_proto
  PkgConfig::libxxhash)
target_include_directories(test_frame PRIVATE ${CMAKE_SOURCE_DIR}/proto)
foreach(name test_frame test_hostile test_case test_salvage)
  target_include_directories(${name} PRIVATE ${support})
endforeach()

# Against python, run as a process of its own.
opd_add_test(test_onnx ${CMAKE_CURRENT_LIST_DIR}/test_onnx.c ${CMAKE_CURRENT_LIST_DIR}/numpy_process.c LABEL unit LINK opd_proto)
target_compile_definitions(test_onnx PRIVATE OPD_NUMPY_SCRIPT="${CMAKE_CURRENT_LIST_DIR}/onnx_tensors.py")
opd_add_test(test_recipe ${CMAKE_CURRENT_LIST_DIR}/test_recipe.c LABEL unit LINK opd_proto)
