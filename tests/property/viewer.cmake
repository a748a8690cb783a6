opd_add_test(test_intervals test_intervals.c LABEL property LINK opd_proto)
