# SPDX-License-Identifier: Apache-2.0
set(files compiler_files.c)

tacfs_unit_test(test_compiler_corpus SOURCES test_compiler_corpus.c ${files} LINK compiler)
tacfs_unit_test(test_compiler_golden SOURCES test_compiler_golden.c ${files} LINK compiler)
target_compile_definitions(test_compiler_corpus PRIVATE
  CORPUS="${PROJECT_SOURCE_DIR}/tests/corpus")
target_compile_definitions(test_compiler_golden PRIVATE
  DATA="${PROJECT_SOURCE_DIR}/tests/data"
  GOLDEN="${PROJECT_SOURCE_DIR}/tests/golden")

tacfs_unit_test(test_utf8 SOURCES test_utf8.c LINK compiler)
tacfs_unit_test(test_python_numbers SOURCES test_python_numbers.c LINK compiler)
tacfs_unit_test(test_marshal SOURCES test_marshal.c python_values.c LINK compiler)
tacfs_unit_test(test_python_repr SOURCES test_python_repr.c python_values.c LINK compiler)
tacfs_unit_test(test_python_opcodes SOURCES test_python_opcodes.c LINK compiler)
tacfs_unit_test(test_python_words SOURCES test_python_words.c ${files} LINK compiler)
tacfs_unit_test(test_python_tables SOURCES test_python_tables.c python_values.c LINK compiler)
tacfs_unit_test(test_python_detect SOURCES test_python_detect.c python_values.c ${files} LINK compiler)
target_compile_definitions(test_python_detect PRIVATE
  GOLDEN="${PROJECT_SOURCE_DIR}/tests/golden")
tacfs_unit_test(test_python_dis SOURCES test_python_dis.c python_values.c LINK compiler)
tacfs_unit_test(test_pickle SOURCES test_pickle.c pickles.c LINK compiler)
tacfs_unit_test(test_readable SOURCES test_readable.c pickles.c python_values.c LINK compiler)
tacfs_unit_test(test_artifact SOURCES test_artifact.c LINK compiler)
