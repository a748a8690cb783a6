# Private headers of reducer/ are opened for its own unit tests.
foreach(name reduce shrink_scalars diagnose group ledger)
  opd_add_test(test_${name} ${CMAKE_CURRENT_LIST_DIR}/test_${name}.c LABEL unit LINK opd_reducer)
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/reducer)
endforeach()
target_compile_definitions(test_diagnose PRIVATE OPD_LABELS_DOCUMENT="${CMAKE_SOURCE_DIR}/docs/labels.md")
