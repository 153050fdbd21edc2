# SPDX-License-Identifier: Apache-2.0
tacfs_fuzz_target(fuzz_pickle SOURCES fuzz_pickle.c CORPUS pickle readable LINK compiler DICT pickle.dict)
tacfs_fuzz_target(fuzz_marshal SOURCES fuzz_marshal.c CORPUS marshal LINK compiler DICT marshal.dict)
tacfs_fuzz_target(fuzz_dis SOURCES fuzz_dis.c code_recipe.c CORPUS dis LINK compiler DICT dis.dict)
tacfs_fuzz_target(fuzz_readable SOURCES fuzz_readable.c CORPUS readable pickle LINK compiler
  DICT pickle.dict marshal.dict readable.dict)
tacfs_fuzz_target(fuzz_om SOURCES fuzz_om.c CORPUS om LINK compiler)
tacfs_fuzz_target(fuzz_index SOURCES fuzz_index.c CORPUS index LINK compiler)
