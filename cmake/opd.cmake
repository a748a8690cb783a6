# Flags and dependencies that every folder shares, and the two functions that make a library or a program of ours.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
foreach(package libprotobuf-c libzstd libxxhash zlib libdw jansson smartcols libffi cmocka)
  string(MAKE_C_IDENTIFIER ${package} id)
  pkg_check_modules(${id} REQUIRED IMPORTED_TARGET ${package})
endforeach()

# What a user's library has: no sanitizer in any build.
add_library(opd_plain INTERFACE)
target_include_directories(opd_plain INTERFACE ${CMAKE_SOURCE_DIR}/include)
target_compile_definitions(opd_plain INTERFACE _GNU_SOURCE OPD_VERSION="${PROJECT_VERSION}")
# Results must not depend on how the compiler contracts or reorders floating point.
target_compile_options(opd_plain INTERFACE -ffp-contract=off)
target_link_libraries(opd_plain INTERFACE Threads::Threads)

add_library(opd_flags INTERFACE)
target_link_libraries(opd_flags INTERFACE opd_plain)
if(OPD_SANITIZE)
  target_compile_options(opd_flags INTERFACE -fsanitize=${OPD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(opd_flags INTERFACE -fsanitize=${OPD_SANITIZE})
endif()
if(OPD_FUZZ)
  target_compile_options(opd_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Warnings of hand-written code; generated code is compiled without them.
add_library(opd_warnings INTERFACE)
target_compile_options(opd_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes
  -Wmissing-prototypes -Wvla -Wcast-qual -Wpointer-arith -Wundef -Werror)

# Seconds after which a test counts as hung: far beyond what the slowest takes on a busy machine, so that load fails none.
if(OPD_SANITIZE)
  set(OPD_TEST_TIMEOUT 3000)
else()
  set(OPD_TEST_TIMEOUT 900)
endif()

# opd_add_library(NAME sources... LINK libraries...): a static library of one folder.
function(opd_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
  add_library(${name} STATIC ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC opd_flags ${arg_LINK} PRIVATE opd_warnings)
endfunction()

# opd_add_program(NAME sources... LINK libraries...)
function(opd_add_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE opd_flags opd_warnings ${arg_LINK})
endfunction()

# opd_add_test(NAME sources... LABEL labels LINK libraries...): a cmocka program run by ctest; the name is unique in the tree.
function(opd_add_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL" "LINK")
  opd_add_program(${name} ${arg_UNPARSED_ARGUMENTS} LINK ${arg_LINK} PkgConfig::cmocka)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABEL}" SKIP_RETURN_CODE 77 TIMEOUT ${OPD_TEST_TIMEOUT})
endfunction()
