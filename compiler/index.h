/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_INDEX_H
#define TACFS_COMPILER_INDEX_H

/*
 * An .idx: the JSON record by which CANN's graph engine commits a compiled
 * model ({"cache_file_list": [{"graph_key", "cache_file_name",
 * "var_desc_file_name"?}]}).
 */

#include <stdbool.h>
#include <stddef.h>

#include "compiler/artifact.h"

enum { INDEX_SIZE_MAX = 1024 * 1024, INDEX_NAMES_MAX = 1024 };

struct index_names {
	char **names;	 /* base names, each once, in the order of the file */
	bool *described; /* which are only a record's var_desc_file_name */
	size_t count;
};

/*
 * Judges an .idx, and gives the files it names: older ones hold a path before
 * the name, which is dropped. What does not start as an object of JSON is
 * FOREIGN; git's pack indexes end in .idx, too. `names` may be NULL; it holds
 * nothing unless the verdict is SOUND; index_names_free() it.
 */
void index_read(const void *bytes, size_t size, struct verdict *verdict,
		struct index_names *names);
void index_names_free(struct index_names *names);

#endif
