# Reductions, ArgMax, ArgMin, CumSum, TopK.
target_sources(opd_ops PRIVATE reduce/axes.c reduce/reduce_contracts.c)
target_sources(opd_kernels PRIVATE reduce/reduce_kernels.c reduce/reduce_define.c reduce/reduce_plan.c reduce/reduce_floats.c
  reduce/reduce_integers.c reduce/arg_extreme.c reduce/cumulative_sum.c reduce/top_k.c)
set_source_files_properties(reduce/reduce_integers.c reduce/arg_extreme.c reduce/cumulative_sum.c PROPERTIES
  COMPILE_OPTIONS "${OPD_LOOPS}")
