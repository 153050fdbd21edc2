# SPDX-License-Identifier: Apache-2.0
set(unit ${CMAKE_CURRENT_SOURCE_DIR}/../unit)

tacfs_fuzz_target(fuzz_pack SOURCES fuzz_pack.c ${unit}/reseal.c ${unit}/samples.c CORPUS pack LINK codec)
tacfs_fuzz_target(fuzz_manifest SOURCES fuzz_manifest.c ${unit}/reseal.c CORPUS manifest LINK codec)
tacfs_fuzz_target(fuzz_block SOURCES fuzz_block.c CORPUS block LINK codec)
