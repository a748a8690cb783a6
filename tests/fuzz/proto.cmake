opd_add_fuzz(bundle fuzz_mend.c CORPUS bundle LINK opd_proto PkgConfig::libxxhash)
opd_add_fuzz(salvage fuzz_mend.c CORPUS bundle LINK opd_proto PkgConfig::libxxhash)
opd_add_fuzz(codec CORPUS codec LINK opd_proto PkgConfig::libxxhash)
opd_add_fuzz(onnx CORPUS onnx LINK opd_proto)
