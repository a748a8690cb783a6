# Private headers of recorder/ are opened for its own targets.
opd_add_fuzz(ring CORPUS ring LINK opd_collector)
target_include_directories(fuzz_ring PRIVATE ${CMAKE_SOURCE_DIR}/recorder)
