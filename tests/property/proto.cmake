opd_add_test(test_bundle_roundtrip test_bundle_roundtrip.c ${CMAKE_SOURCE_DIR}/tests/support/bundle_make.c
  LABEL property LINK opd_proto)
target_include_directories(test_bundle_roundtrip PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)
