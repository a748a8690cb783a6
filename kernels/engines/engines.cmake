# Libraries of other makers as variants: opened at run time; oneDNN's header is needed to build its variants.
target_sources(opd_kernels PRIVATE engines/engine.c engines/onednn.c engines/onednn_recipes.c engines/engine_kernels.c)
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h)
if(DNNL_INCLUDE_DIR)
  set_property(SOURCE engines/onednn.c engines/onednn_recipes.c engines/engine_kernels.c APPEND PROPERTY COMPILE_DEFINITIONS OPD_HAVE_DNNL)
else()
  message(STATUS "oneDNN's header is not there: no variants of it (libdnnl-dev)")
endif()
