# Definitions a second time with 113 bits of mantissa, under second names, where long double has the 64 of x87 otherwise.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_FLAGS "-mlong-double-128")
set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
set(CMAKE_REQUIRED_LIBRARIES m)
check_c_source_compiles("#include <math.h>
  _Static_assert(__LDBL_MANT_DIG__ == 113 && sizeof(long double) == 16, \"113 bits\");
  int main(int c, char **v) { (void)v; long double x = erff128((long double)c); return x > 2; }" OPD_HAVE_QUAD)
unset(CMAKE_REQUIRED_FLAGS)
unset(CMAKE_REQUIRED_DEFINITIONS)
unset(CMAKE_REQUIRED_LIBRARIES)

target_sources(opd_kernels PRIVATE quad/quad_table.c)
if(OPD_HAVE_QUAD AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(names)
  set(list)
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/quad.def lines REGEX "^OPD_QUAD")
  file(STRINGS ${CMAKE_CURRENT_LIST_DIR}/../elementwise/elementwise.def rules REGEX "^OPD_ELEMENTWISE\\(")
  foreach(line ${lines} ${rules})
    string(REGEX REPLACE "^OPD_QUAD(_PART)?\\(([a-z0-9_]+)\\).*" "\\2" name "${line}")
    string(REGEX REPLACE "^OPD_ELEMENTWISE\\(([a-z0-9_]+),.*" "opd_elementwise_define_\\1" name "${name}")
    string(APPEND names "#define ${name} quad_${name}\n")
    if(NOT line MATCHES "^OPD_QUAD_PART")
      string(APPEND list "OPD_QUAD(${name})\n")
    endif()
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/quad.def
    ${CMAKE_CURRENT_LIST_DIR}/../elementwise/elementwise.def)
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/quad/quad_names.h CONTENT "${names}")
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/quad/quad_list.inc CONTENT "${list}")
  opd_add_library(opd_quad
    elementwise/elementwise_define.c linear/product_define.c linear/window_define.c linear/attention_define.c
    normalize/norm_define.c normalize/line_define.c normalize/softmax_define.c normalize/window_l2_define.c
    recurrent/lstm_define.c reduce/reduce_define.c quad/quad_numbers.c
    LINK opd_ops m)
  target_include_directories(opd_quad PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/quad ${CMAKE_CURRENT_BINARY_DIR}/quad)
  target_compile_options(opd_quad PRIVATE -mlong-double-128 -include quad_math.h)
  target_include_directories(opd_kernels PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/quad)
  set_property(SOURCE quad/quad_table.c APPEND PROPERTY COMPILE_DEFINITIONS OPD_HAVE_QUAD)
  target_link_libraries(opd_kernels PRIVATE opd_quad)
  target_link_libraries(opd_quad PRIVATE opd_kernels)
endif()
