# SPDX-License-Identifier: Apache-2.0
set(reseal ${CMAKE_CURRENT_SOURCE_DIR}/../unit/reseal.c)

tacfs_fuzz_target(fuzz_pack SOURCES fuzz_pack.c ${reseal} CORPUS pack LINK codec)
tacfs_fuzz_target(fuzz_manifest SOURCES fuzz_manifest.c ${reseal} CORPUS manifest LINK codec)
tacfs_fuzz_target(fuzz_block SOURCES fuzz_block.c CORPUS block LINK codec)
