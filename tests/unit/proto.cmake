set(support ${CMAKE_SOURCE_DIR}/tests/support)
opd_add_test(test_hostile ${CMAKE_CURRENT_LIST_DIR}/test_hostile.c ${support}/bundle_forge.c LABEL unit LINK opd_proto
  PkgConfig::libzstd)
target_include_directories(test_hostile PRIVATE ${support})
