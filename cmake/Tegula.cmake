# How a Tegula library and a Tegula test are declared; warnings, sanitizers and precompiled headers in one place.

add_library(tegula_options INTERFACE)
target_compile_options(tegula_options INTERFACE -Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers
                                                -fno-omit-frame-pointer)
target_include_directories(tegula_options INTERFACE ${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/include)
if(TEGULA_SANITIZE)
  target_compile_options(tegula_options INTERFACE -fsanitize=${TEGULA_SANITIZE} -fno-sanitize-recover=all -g1)
  target_link_options(tegula_options INTERFACE -fsanitize=${TEGULA_SANITIZE})
endif()
if(TEGULA_FUZZ)
  target_compile_options(tegula_options INTERFACE -fsanitize=fuzzer-no-link) # the fuzzer sees what the libraries do
endif()
find_program(LLD ld.lld-22 ld.lld)
if(LLD)
  target_link_options(tegula_options INTERFACE -fuse-ld=${LLD})
endif()
find_program(CCACHE ccache)
if(CCACHE)
  # The sloppiness and -fno-pch-timestamp let ccache keep objects that used a precompiled header.
  set(launcher ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()
target_compile_options(tegula_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")

# Headers of the standard library and of the distribution's packages that most files include, compiled once; files still
# include what they use. One set for libraries, one for the command, one for tests: -fPIC and -fPIE do not mix.
set(TEGULA_LIBRARY_HEADERS <algorithm> <cmath> <cstdint> <cstring> <filesystem> <fstream> <functional> <map> <memory> <optional>
  <set> <span> <sstream> <string> <string_view> <unordered_map> <utility> <variant> <vector>
  <absl/container/flat_hash_map.h> <absl/container/flat_hash_set.h> <absl/container/inlined_vector.h>
  <absl/status/statusor.h> <absl/synchronization/mutex.h> <fmt/format.h> <fmt/ranges.h>)
set(TEGULA_LIBRARY_PACKAGES absl::status absl::statusor absl::flat_hash_map absl::flat_hash_set absl::inlined_vector
  absl::synchronization fmt::fmt spdlog::spdlog)
file(WRITE ${CMAKE_BINARY_DIR}/precompiled/empty.cpp "")
file(WRITE ${CMAKE_BINARY_DIR}/precompiled/main.cpp "int main() { return 0; }\n")
function(tegula_precompile target)
  target_link_libraries(${target} PRIVATE tegula_options ${TEGULA_LIBRARY_PACKAGES} ${ARGN})
endfunction()
add_library(tegula_precompiled STATIC ${CMAKE_BINARY_DIR}/precompiled/empty.cpp)
tegula_precompile(tegula_precompiled)
target_precompile_headers(tegula_precompiled PRIVATE ${TEGULA_LIBRARY_HEADERS})

# tegula_sees_reference(target): its sources ask TEGULA_REFERENCE, whether primitives have their evaluation.
function(tegula_sees_reference target)
  target_compile_definitions(${target} PRIVATE TEGULA_REFERENCE=$<BOOL:${TEGULA_REFERENCE}>)
endfunction()

# tegula_library(name DEPENDS lib...): one static library per src folder, from every .cpp below it.
function(tegula_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)
    add_library(tegula_${name} INTERFACE) # headers only
    target_link_libraries(tegula_${name} INTERFACE tegula_options ${ARG_DEPENDS})
    return()
  endif()
  add_library(tegula_${name} STATIC ${sources})
  target_link_libraries(tegula_${name} PUBLIC tegula_options ${ARG_DEPENDS} PRIVATE ${ARG_PRIVATE})
  target_precompile_headers(tegula_${name} REUSE_FROM tegula_precompiled)
endfunction()

# tegula_test(name DEPENDS lib... [LABELS label...] [TIMEOUT s]): one gtest binary from every .cpp of the current folder.
function(tegula_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "DEPENDS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  if(TEGULA_SANITIZE)
    math(EXPR ARG_TIMEOUT "6 * ${ARG_TIMEOUT}")
  endif()
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)
    return() # no tests here
  endif()
  add_executable(test_${name} ${sources})
  target_precompile_headers(test_${name} REUSE_FROM tegula_test_precompiled)
  target_link_libraries(test_${name} PRIVATE tegula_options ${ARG_DEPENDS} GTest::gmock GTest::gtest GTest::gtest_main)
  target_compile_definitions(test_${name} PRIVATE TEGULA_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                                                  TEGULA_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${name} COMMAND test_${name})
  # Those that may take longest begin first, so that none of them runs alone at the end.
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} COST ${ARG_TIMEOUT} LABELS "${ARG_LABELS}")
endfunction()
