add_test(NAME e2e_export_details
  COMMAND /usr/bin/python3 ${CMAKE_CURRENT_SOURCE_DIR}/check_export_details.py $<TARGET_FILE:write_run>)
set_tests_properties(e2e_export_details PROPERTIES LABELS e2e TIMEOUT 120)
