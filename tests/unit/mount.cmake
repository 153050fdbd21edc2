# SPDX-License-Identifier: Apache-2.0
foreach(test node options process)
  tacfs_unit_test(test_mount_${test} SOURCES test_mount_${test}.c LINK fs)
endforeach()
tacfs_unit_test(test_mount_scratch
  SOURCES test_mount_scratch.c store_fixture.c
  LINK fs PkgConfig::XXHASH)
