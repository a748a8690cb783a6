# Private headers of recorder/ are opened for its own unit tests.
foreach(name ring chunks)
  opd_add_test(test_${name} ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c LABEL "unit;threads" LINK opd_session)
  add_dependencies(thread_tests test_${name})
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/recorder)
endforeach()
opd_add_test(test_record_options ${CMAKE_CURRENT_LIST_DIR}/test_record_options.c LABEL unit LINK opd_collector)
opd_add_test(test_locate ${CMAKE_CURRENT_LIST_DIR}/test_locate.c LABEL unit LINK opd_collector)
target_include_directories(test_locate PRIVATE ${CMAKE_SOURCE_DIR}/recorder)
