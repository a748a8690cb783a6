foreach(name test_bundle_roundtrip test_bundle_damage)
  opd_add_test(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c ${CMAKE_SOURCE_DIR}/tests/support/bundle_make.c
    LABEL property LINK opd_proto)
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)
endforeach()
