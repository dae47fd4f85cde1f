# The few rules every folder's CMakeLists.txt is written with: one static library per folder,
# explicit sources, one INTERFACE target that carries the language level and the warnings.

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
  set(CMAKE_C_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()

add_library(laird_rules INTERFACE)
target_compile_features(laird_rules INTERFACE cxx_std_20)
target_include_directories(laird_rules INTERFACE "${CMAKE_SOURCE_DIR}")
# -ffp-contract=off everywhere: a fused multiply-add would make x86 and ARM differ in the last bit,
# and the same source must replay bit for bit on both.
target_compile_options(laird_rules INTERFACE
  -Wall -Wextra -Wconversion -Wshadow -Werror -ffp-contract=off)
# g++ 12 sees overlaps in std::string's operator+ (GCC bug 105651) and uninitialised members in
# moved std::variants that are not there.
target_compile_options(laird_rules INTERFACE "$<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-maybe-uninitialized>")
set(CMAKE_CXX_FLAGS_RELEASE "-O2")
# Lines for the sanitizers' reports; more only makes the sanitizer builds slower.
set(CMAKE_CXX_FLAGS_DEBUG "-g1")
if(LAIRD_SANITIZE)
  target_compile_options(laird_rules INTERFACE
    -fsanitize=${LAIRD_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -O1)
  target_link_options(laird_rules INTERFACE -fsanitize=${LAIRD_SANITIZE})
endif()
if(LAIRD_FUZZ)
  target_compile_options(laird_rules INTERFACE -fsanitize=fuzzer-no-link)
endif()

# laird_library(NAME SOURCES a.cpp b.cpp DEPS x y): one static library, C++20, warnings as errors.
function(laird_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC laird_rules ${ARG_DEPS})
endfunction()

# laird_program(NAME SOURCES main.cpp DEPS x y): an executable in <build>/bin.
function(laird_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE laird_rules ${ARG_DEPS})
endfunction()

# Under sanitizers and under emulation the searches of the unit tests take ten times as long and more.
set(LAIRD_UNIT_TIMEOUT 300)
if(LAIRD_SANITIZE OR CMAKE_CROSSCOMPILING)
  set(LAIRD_UNIT_TIMEOUT 1500)
endif()

# Everything a run of the unit tests needs, for the sanitizer and cross builds.
add_custom_target(unit_programs)

# laird_unit_tests(NAME SOURCES test_a.cpp test_b.cpp DEPS x y): one program for the folder, one
# CTest entry per source file, named unit/<folder>/<file>.
function(laird_unit_tests name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE laird_rules laird_test_harness ${ARG_DEPS})
  add_dependencies(unit_programs ${name})
  file(RELATIVE_PATH folder "${CMAKE_SOURCE_DIR}/tests/unit" "${CMAKE_CURRENT_SOURCE_DIR}")
  foreach(source IN LISTS ARG_SOURCES)
    get_filename_component(stem "${source}" NAME_WE)
    add_test(NAME "unit/${folder}/${stem}" COMMAND ${CMAKE_CROSSCOMPILING_EMULATOR}
             $<TARGET_FILE:${name}> --file ${stem})
    set_tests_properties("unit/${folder}/${stem}" PROPERTIES
      LABELS unit TIMEOUT ${LAIRD_UNIT_TIMEOUT} SKIP_REGULAR_EXPRESSION "every test of this file was skipped"
      ENVIRONMENT "LAIRD_SHARED_DATA=${LAIRD_SHARED_DATA}")
  endforeach()
endfunction()

# Real captures and curves used by some tests live beside the checkout, not in it; those tests skip
# with a message when the folder is absent.
get_filename_component(_beside "${CMAKE_SOURCE_DIR}/../shared/data" ABSOLUTE)
set(LAIRD_SHARED_DATA "${_beside}" CACHE PATH "Folder of real captures and curves for the tests")

# laird_fuzzer(NAME SOURCES fuzz_x.cpp DEPS x): a libFuzzer target under laird_fuzzers when LAIRD_FUZZ
# is on (the asan preset); in any other build a CTest entry fuzz/NAME that runs that one briefly.
if(LAIRD_FUZZ)
  add_custom_target(laird_fuzzers)
endif()
function(laird_fuzzer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  if(LAIRD_FUZZ)
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE laird_rules ${ARG_DEPS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_dependencies(laird_fuzzers ${name})
    return()
  endif()
  add_test(NAME "fuzz/${name}" COMMAND "${CMAKE_SOURCE_DIR}/tests/fuzz/short_run.sh"
           "${CMAKE_SOURCE_DIR}/build/asan/bin/${name}" 5)
  set_tests_properties("fuzz/${name}" PROPERTIES LABELS fuzz TIMEOUT 120 SKIP_RETURN_CODE 77)
endfunction()
