# Products, windows and attention. A file named by an instruction set is compiled for it; which one runs is chosen at run time.
target_sources(opd_ops PRIVATE
  linear/linear_contracts.c linear/linear_shapes.c linear/attention_shapes.c)
target_sources(opd_kernels PRIVATE
  linear/linear_kernels.c linear/product_define.c linear/window_define.c linear/attention_define.c
  linear/product_variants.c linear/integer_product.c linear/blas_provider.c linear/fused_products.c
  linear/window_variants.c linear/max_indices.c linear/attention_variants.c linear/workers.c)

# Without x86 the vectors are as wide, and made of what the machine has.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(linear_avx2 ${OPD_AVX2})
  set(linear_avx512 ${OPD_AVX512})
endif()
foreach(engine gemm window attention gelu)
  foreach(set portable avx2 avx512)
    target_sources(opd_kernels PRIVATE linear/${engine}_${set}.c)
    set_source_files_properties(linear/${engine}_${set}.c PROPERTIES COMPILE_OPTIONS "${OPD_LOOPS};${linear_${set}}")
  endforeach()
endforeach()
