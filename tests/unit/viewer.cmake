opd_add_test(test_packet test_packet.c LABEL unit LINK opd_proto)
