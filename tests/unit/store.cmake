# SPDX-License-Identifier: Apache-2.0
foreach(test publish damage open)
  tacfs_unit_test(test_store_${test}
    SOURCES test_store_${test}.c store_fixture.c collision.c
    LINK fs PkgConfig::XXHASH)
endforeach()
