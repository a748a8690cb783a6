foreach(name test_status test_memory test_buffer test_file test_philox test_dtype test_element test_digest test_tensor test_scan test_health_sample test_fill test_metrics)
  opd_add_test(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c LABEL unit LINK opd_core m)
endforeach()
# Those that start threads; the others would only be slower under the thread sanitizer.
foreach(name test_status test_memory)
  set_tests_properties(${name} PROPERTIES LABELS "unit;threads")
  add_dependencies(thread_tests ${name})
endforeach()

# Against numpy, run as a process of its own.
foreach(name test_element_numpy test_health_numpy)
  opd_add_test(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c ${CMAKE_CURRENT_LIST_DIR}/numpy_process.c LABEL unit LINK opd_core)
  target_compile_definitions(${name} PRIVATE OPD_NUMPY_SCRIPT="${CMAKE_CURRENT_LIST_DIR}/core_numpy.py")
endforeach()
