set(support ${CMAKE_SOURCE_DIR}/tests/support)
opd_add_test(test_hostile ${CMAKE_CURRENT_LIST_DIR}/test_hostile.c ${support}/bundle_forge.c LABEL unit LINK opd_proto
  PkgConfig::libzstd)
foreach(name test_case test_salvage)
  opd_add_test(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c ${support}/bundle_make.c LABEL unit LINK opd_proto)
endforeach()
foreach(name test_hostile test_case test_salvage)
  target_include_directories(${name} PRIVATE ${support})
endforeach()
