# What `cmake --install` puts where; the programs look for their helpers beside themselves and then at these places.
install(TARGETS ops-debug RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS opsdebug-preload LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/opsdebug)
if(TARGET opsdebug-audit)
  install(TARGETS opsdebug-audit LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/opsdebug)
endif()
install(TARGETS opsdebug-record LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# Programs record through record.h and libraries of operators are written against kernel.h; these bring the rest of the list with
# them. The other headers are between our own folders.
foreach(header record kernel bundle memory op contract random tensor status)
  install(FILES ${CMAKE_SOURCE_DIR}/include/opsdebug/${header}.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/opsdebug)
endforeach()
install(FILES ${CMAKE_BINARY_DIR}/ops-debug.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
# Relative, so that any --prefix works.
file(RELATIVE_PATH opd_prefix_from_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/opsdebug.pc.in ${CMAKE_BINARY_DIR}/opsdebug.pc @ONLY)
# With PKG_CONFIG_PATH at the build tree, pkg-config takes this one.
configure_file(${CMAKE_CURRENT_LIST_DIR}/opsdebug-uninstalled.pc.in ${CMAKE_BINARY_DIR}/opsdebug-uninstalled.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/opsdebug.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
