# SPDX-License-Identifier: Apache-2.0
tacfs_unit_test(test_share SOURCES test_share.c LINK fs)
tacfs_unit_test(test_log SOURCES test_log.c LINK fs)
tacfs_unit_test(test_fd SOURCES test_fd.c store_fixture.c LINK fs)
foreach(test clock counters damage kill leases measure open publish reference reports threads)
  tacfs_unit_test(test_store_${test}
    SOURCES test_store_${test}.c store_fixture.c collision.c
    LINK fs PkgConfig::XXHASH)
endforeach()
foreach(test collect evict guard index rewrite trash)
  tacfs_unit_test(test_store_${test}
    SOURCES test_store_${test}.c store_fixture.c store_collecting.c reseal.c
    LINK fs)
endforeach()
tacfs_unit_test(test_store_steps
  SOURCES test_store_steps.c stops.c store_fixture.c store_collecting.c
  LINK fs)
tacfs_unit_test(test_store_exchange
  SOURCES test_store_exchange.c stops.c store_fixture.c store_collecting.c
  LINK fs)
foreach(call openat64 fstatat64 pwrite64 linkat symlinkat renameat renameat2 unlinkat
    faccessat)
  target_link_options(test_store_steps PRIVATE -Wl,--wrap=${call})
  target_link_options(test_store_exchange PRIVATE -Wl,--wrap=${call})
endforeach()
tacfs_unit_test(test_store_check
  SOURCES test_store_check.c store_fixture.c reseal.c LINK fs)
# Each in one thread: nothing for the thread sanitizer.
set_property(TEST test_store_check test_store_damage test_store_exchange test_store_kill test_store_steps
  APPEND PROPERTY LABELS single)
# The sanitizers see more of these, and they are long.
set_property(TEST test_store_check test_store_damage
  APPEND PROPERTY LABELS sanitized)
# Very many processes, and little memory that is had and freed.
set_property(TEST test_store_steps APPEND PROPERTY LABELS slow)
# See tests/CMakeLists.txt.
set_tests_properties(test_store_steps PROPERTIES COST 150)
set_tests_properties(test_store_check test_store_damage PROPERTIES COST 50)
tacfs_unit_test(test_pack_set SOURCES test_pack_set.c LINK fs)
