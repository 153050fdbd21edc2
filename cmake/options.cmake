# SPDX-License-Identifier: Apache-2.0
# What every target is compiled with, and the switches the presets set.

option(TACFS_TESTS "build the tests" ON)
option(TACFS_FUZZ "build the fuzz targets with libFuzzer (clang)" OFF)
option(TACFS_WERROR "warnings are errors" OFF)
option(TACFS_ANALYZE "run gcc's static analyzer over the layers" OFF)
set(TACFS_SANITIZE "" CACHE STRING "sanitizers, as for -fsanitize=")
set(TACFS_FUZZ_SECONDS 20 CACHE STRING "how long ctest runs each libFuzzer target")

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

add_library(tacfs_options INTERFACE)
target_compile_definitions(tacfs_options INTERFACE
  _GNU_SOURCE _FILE_OFFSET_BITS=64)
target_include_directories(tacfs_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(tacfs_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow
  -Wstrict-prototypes -Wmissing-prototypes -Wvla -Wformat=2 -Wundef
  -Wcast-qual -Wwrite-strings -Wimplicit-fallthrough -fno-strict-aliasing
  $<$<BOOL:${TACFS_WERROR}>:-Werror>)

if(TACFS_SANITIZE)
  target_compile_options(tacfs_options INTERFACE
    -fsanitize=${TACFS_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  target_link_options(tacfs_options INTERFACE -fsanitize=${TACFS_SANITIZE})
else()
  target_compile_options(tacfs_options INTERFACE -fstack-protector-strong
    $<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>
    $<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=2>)
  target_link_options(tacfs_options INTERFACE -Wl,-z,relro,-z,now)
endif()
if(CMAKE_INTERPROCEDURAL_OPTIMIZATION)
  # With code in the libraries they can be looked into, and linked to tests fast.
  target_compile_options(tacfs_options INTERFACE -ffat-lto-objects)
endif()
if(TACFS_FUZZ)
  target_compile_options(tacfs_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# gcc 12's analyzer does not know __attribute__((cleanup)): everything that is
# released at the end of its scope looks like a leak to it. LeakSanitizer
# watches for leaks instead.
set(TACFS_ANALYZER_OPTIONS -fanalyzer -Wno-analyzer-malloc-leak)

# tacfs_layer(NAME SOURCES... [LINK libs...]): a static library of one layer.
function(tacfs_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_library(${name} STATIC ${arg_SOURCES})
  target_link_libraries(${name} PUBLIC tacfs_options ${arg_LINK})
  if(TACFS_ANALYZE)
    target_compile_options(${name} PRIVATE ${TACFS_ANALYZER_OPTIONS})
  endif()
endfunction()
