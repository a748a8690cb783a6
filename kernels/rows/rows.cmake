# Passes over rows and columns: one source, rows_template.h, for every instruction set.
target_sources(opd_kernels PRIVATE rows/rows_call.c rows/rows_portable.c rows/rows_avx2.c rows/rows_avx512.c)
set_source_files_properties(rows/rows_portable.c PROPERTIES COMPILE_OPTIONS "${OPD_LOOPS}")
set_source_files_properties(rows/rows_avx2.c PROPERTIES COMPILE_OPTIONS "${OPD_LOOPS};${OPD_AVX2}")
set_source_files_properties(rows/rows_avx512.c PROPERTIES COMPILE_OPTIONS "${OPD_LOOPS};${OPD_AVX512}")
