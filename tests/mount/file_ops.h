/* SPDX-License-Identifier: Apache-2.0 */

/* What may be done to the files of a world, and looked at afterwards. */
#ifndef TACFS_FILE_OPS_H
#define TACFS_FILE_OPS_H

#include "tests/mount/file_world.h"

/*
 * Does one operation at random, if it is possible at all: every answer of the
 * system is compared with the model's. Exits with 1 when they differ.
 */
void file_op(struct world *w);

/* Ends the mappings and closes the descriptors, in any order. */
void file_ops_end(struct world *w);

#endif
