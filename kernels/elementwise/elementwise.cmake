target_sources(opd_ops PRIVATE ${CMAKE_CURRENT_LIST_DIR}/elementwise_contracts.c)
foreach(part define kernels run plan move portable avx2 avx512)
  target_sources(opd_kernels PRIVATE ${CMAKE_CURRENT_LIST_DIR}/elementwise_${part}.c)
endforeach()
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/elementwise_portable.c PROPERTIES COMPILE_OPTIONS "${OPD_LOOPS}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/elementwise_avx2.c PROPERTIES
    COMPILE_OPTIONS "${OPD_LOOPS};${OPD_AVX2}")
  set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/elementwise_avx512.c PROPERTIES
    COMPILE_OPTIONS "${OPD_LOOPS};${OPD_AVX512}")
endif()
