/* SPDX-License-Identifier: Apache-2.0 */

/* Mappings of a world's files; they may outlive the descriptor they are made
 * of. */
#ifndef TACFS_FILE_MAPS_H
#define TACFS_FILE_MAPS_H

#include "tests/mount/file_world.h"

/* Operations, as those in file_ops.h; each does nothing where nothing is to do.
 */
void file_map(struct world *w);
void file_map_read(struct world *w);
void file_map_write(struct world *w);
void file_map_private(struct world *w);
void file_unmap(struct world *w);

void file_unmap_all(struct world *w);
bool file_is_mapped(const struct world *w, const struct file *file);

#endif
