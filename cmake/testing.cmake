# SPDX-License-Identifier: Apache-2.0
# How tests are declared. All of them may run at the same time.

find_program(TACFS_PYTHON_COMMAND NAMES python3 REQUIRED)
# That may be a script, which takes longer than a test to find the program.
execute_process(COMMAND ${TACFS_PYTHON_COMMAND} -c "import sys; print(sys.executable)"
  OUTPUT_VARIABLE TACFS_PYTHON OUTPUT_STRIP_TRAILING_WHITESPACE
  COMMAND_ERROR_IS_FATAL ANY)

# ctest reads this before it runs a test. What the caller's environment says is
# left alone, so that one can try other options without configuring again.
cmake_path(GET PROJECT_SOURCE_DIR PARENT_PATH TACFS_SHARED_DEFAULT)
cmake_path(APPEND TACFS_SHARED_DEFAULT shared)
configure_file(${CMAKE_CURRENT_LIST_DIR}/test-environment.cmake.in
  ${PROJECT_BINARY_DIR}/test-environment.cmake @ONLY)

function(tacfs_test name label)
  set_tests_properties(${name} PROPERTIES
    LABELS ${label}
    SKIP_RETURN_CODE 77
    ENVIRONMENT "TACFS_BIN=$<TARGET_FILE:tacfs>")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES
    ${PROJECT_BINARY_DIR}/test-environment.cmake)
endfunction()

# A program of which there are many is linked fast, not optimised as a whole.
function(tacfs_test_program name)
  set_target_properties(${name} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
  if(CMAKE_INTERPROCEDURAL_OPTIMIZATION)
    target_link_options(${name} PRIVATE -fno-lto)
  endif()
endfunction()

# tacfs_unit_test(NAME SOURCES file... LINK library...): a cmocka program.
function(tacfs_unit_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} PkgConfig::CMOCKA)
  tacfs_test_program(${name})
  add_test(NAME ${name} COMMAND ${name})
  tacfs_test(${name} unit)
  set_tests_properties(${name} PROPERTIES TIMEOUT 900)
endfunction()

# libFuzzer takes one dictionary only, so several are put behind each other.
function(tacfs_fuzz_dictionary out)
  set(text)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} part)
    string(APPEND text "${part}")
  endforeach()
  file(WRITE ${out} "${text}")
endfunction()

# tacfs_fuzz_target(NAME SOURCES file... CORPUS dir... LINK library...
# [DICT file...]): one LLVMFuzzerTestOneInput(). Directories are absolute, or
# below tests/corpus; what minimise.sh has put in found-DIR belongs to DIR.
# Without TACFS_FUZZ the inputs found there are replayed as an ordinary test;
# with it libFuzzer starts from them and from the words in the dictionaries, and
# keeps what it finds in the build directory.
function(tacfs_fuzz_target name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;CORPUS;LINK;DICT")
  set(corpus)
  foreach(dir IN LISTS arg_CORPUS)
    cmake_path(ABSOLUTE_PATH dir BASE_DIRECTORY ${PROJECT_SOURCE_DIR}/tests/corpus)
    if(NOT IS_DIRECTORY ${dir})
      message(FATAL_ERROR "${name}: there is no corpus directory ${dir}")
    endif()
    list(APPEND corpus ${dir})
    cmake_path(GET dir PARENT_PATH parent)
    cmake_path(GET dir FILENAME kind)
    if(IS_DIRECTORY ${parent}/found-${kind})
      list(APPEND corpus ${parent}/found-${kind})
    endif()
  endforeach()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK})
  tacfs_test_program(${name})
  if(TACFS_FUZZ)
    set(found ${CMAKE_CURRENT_BINARY_DIR}/found/${name})
    file(MAKE_DIRECTORY ${found})
    set(dictionary)
    if(arg_DICT)
      set(dictionary -dict=${CMAKE_CURRENT_BINARY_DIR}/${name}.dict)
      tacfs_fuzz_dictionary(${CMAKE_CURRENT_BINARY_DIR}/${name}.dict ${arg_DICT})
    endif()
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/asan_options.c)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    add_test(NAME ${name} COMMAND ${name} -max_total_time=${TACFS_FUZZ_SECONDS}
      -timeout=25 -rss_limit_mb=2048 -print_final_stats=1 ${dictionary}
      -artifact_prefix=${CMAKE_CURRENT_BINARY_DIR}/${name}- ${found} ${corpus})
    math(EXPR timeout "${TACFS_FUZZ_SECONDS} * 2 + 300")
  else()
    target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests/fuzz/replay.c)
    add_test(NAME ${name} COMMAND ${name} ${corpus})
    set(timeout 600)
  endif()
  tacfs_test(${name} fuzz)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout})
endfunction()

# tacfs_script_tests(DIR): every tests/DIR/test_*.py is a test labelled DIR.
# Other files there are modules of theirs.
function(tacfs_script_tests dir)
  file(GLOB scripts CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${dir}/test_*.py)
  foreach(script IN LISTS scripts)
    cmake_path(GET script STEM stem)
    set(name ${dir}.${stem})
    add_test(NAME ${name} COMMAND ${TACFS_PYTHON} ${script})
    tacfs_test(${name} ${dir})
    set_tests_properties(${name} PROPERTIES TIMEOUT 900)
  endforeach()
endfunction()
