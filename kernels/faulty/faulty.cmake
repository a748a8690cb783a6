foreach(part elementwise rows products chains kernels)
  target_sources(opd_kernels PRIVATE ${CMAKE_CURRENT_LIST_DIR}/faulty_${part}.c)
endforeach()
