opd_add_test(test_export_faults test_export_faults.c LABEL fault LINK opd_export)
