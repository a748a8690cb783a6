# With OPD_FUZZ (clang) each target is a libFuzzer program; without it, its corpus is replayed as a test.
foreach(target bundle codec)
  if(OPD_FUZZ)
    opd_add_program(fuzz_${target} ${CMAKE_CURRENT_LIST_DIR}/fuzz_${target}.c LINK opd_proto PkgConfig::libxxhash)
    target_compile_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_${target} PRIVATE -fsanitize=fuzzer)
  else()
    opd_add_program(fuzz_${target} ${CMAKE_CURRENT_LIST_DIR}/fuzz_${target}.c ${CMAKE_CURRENT_LIST_DIR}/fuzz_replay.c
      LINK opd_proto PkgConfig::libxxhash)
    add_test(NAME fuzz_${target} COMMAND fuzz_${target} ${CMAKE_CURRENT_LIST_DIR}/corpus/${target})
    set_tests_properties(fuzz_${target} PROPERTIES LABELS fuzz TIMEOUT 120)
  endif()
  set_target_properties(fuzz_${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endforeach()
