# SPDX-License-Identifier: Apache-2.0
set(tools ${CMAKE_CURRENT_SOURCE_DIR}/../tools)

tacfs_unit_test(test_reader SOURCES test_reader.c LINK codec)
tacfs_unit_test(test_writer SOURCES test_writer.c LINK codec)
tacfs_unit_test(test_arena SOURCES test_arena.c LINK codec)
tacfs_unit_test(test_digest SOURCES test_digest.c collision.c LINK codec PkgConfig::XXHASH)
tacfs_unit_test(test_chunk SOURCES test_chunk.c LINK codec)
tacfs_unit_test(test_block SOURCES test_block.c samples.c LINK codec)
tacfs_unit_test(test_pack SOURCES test_pack.c samples.c reseal.c LINK codec)
tacfs_unit_test(test_xattrs SOURCES test_xattrs.c LINK codec)
tacfs_unit_test(test_manifest SOURCES test_manifest.c samples.c reseal.c LINK codec)
tacfs_unit_test(test_codec_corpus SOURCES test_codec_corpus.c samples.c LINK codec)
target_compile_definitions(test_codec_corpus PRIVATE
  CORPUS="${PROJECT_SOURCE_DIR}/tests/corpus")

add_executable(make_collision ${tools}/make_collision.c collision.c)
target_link_libraries(make_collision PRIVATE tacfs_options PkgConfig::XXHASH)
add_executable(make_codec_corpus ${tools}/make_codec_corpus.c samples.c reseal.c)
target_link_libraries(make_codec_corpus PRIVATE codec)
add_executable(bench_codec ${tools}/bench_codec.c)
target_link_libraries(bench_codec PRIVATE codec)
