# Every routine on every library at hand: guards and the gauge rule must stay silent but for the known defects.
opd_add_test(test_replay_sweep ${CMAKE_CURRENT_LIST_DIR}/test_replay_sweep.c ${CMAKE_SOURCE_DIR}/tests/support/handmade.c
  LABEL property LINK opd_replayer opd_proto opd_ops opd_core)
target_include_directories(test_replay_sweep PRIVATE ${CMAKE_SOURCE_DIR}/tests/support)
add_dependencies(test_replay_sweep opd-worker)
set_tests_properties(test_replay_sweep PROPERTIES ENVIRONMENT "OPD_TEST_WORKER=$<TARGET_FILE:opd-worker>")
