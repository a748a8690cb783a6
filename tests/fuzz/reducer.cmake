# Private headers of reducer/ are opened for its own targets.
opd_add_fuzz(ledger CORPUS ledger LINK opd_reducer)
target_include_directories(fuzz_ledger PRIVATE ${CMAKE_SOURCE_DIR}/reducer)
