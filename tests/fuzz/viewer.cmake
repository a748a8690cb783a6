opd_add_fuzz(view fuzz_mend.c CORPUS bundle LINK opd_export PkgConfig::libxxhash)
