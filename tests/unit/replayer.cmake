# Private headers of replayer/ are opened for its own unit tests.
foreach(name cores environment answer)
  opd_add_test(test_${name} ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c LABEL unit LINK opd_replayer)
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/replayer)
endforeach()
opd_add_test(test_canary ${CMAKE_CURRENT_LIST_DIR}/test_canary.c ${CMAKE_SOURCE_DIR}/replayer/canary.c LABEL unit
  LINK opd_core)
target_include_directories(test_canary PRIVATE ${CMAKE_SOURCE_DIR}/replayer)
opd_add_test(test_component ${CMAKE_CURRENT_LIST_DIR}/test_component.c ${CMAKE_SOURCE_DIR}/replayer/component.c LABEL unit
  LINK opd_core m)
target_include_directories(test_component PRIVATE ${CMAKE_SOURCE_DIR}/replayer)
opd_add_test(test_stage_search ${CMAKE_CURRENT_LIST_DIR}/test_stage_search.c ${CMAKE_SOURCE_DIR}/cli/stage_search.c
  LABEL unit LINK opd_core)
target_include_directories(test_stage_search PRIVATE ${CMAKE_SOURCE_DIR}/cli)
