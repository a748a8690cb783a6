foreach(name test_view_walk test_view_digest)
  opd_add_test(${name} ${CMAKE_CURRENT_LIST_DIR}/${name}.c ${CMAKE_CURRENT_LIST_DIR}/view_generator.c LABEL property LINK opd_core)
endforeach()
