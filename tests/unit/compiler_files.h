/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_TESTS_COMPILER_FILES_H
#define TACFS_TESTS_COMPILER_FILES_H

/* Files that tests of the compiler layer go through. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_bytes {
	uint8_t *bytes; /* exactly `size`, so that a sanitizer sees the end */
	size_t size;
};

/* Fails the test when the file cannot be read. */
struct file_bytes file_read(const char *path);
/* False, and nothing to free, when there is no such file. */
bool file_try_read(const char *path, struct file_bytes *file);
void file_free(struct file_bytes *file);
/* All of a file as a string; to be freed. */
char *file_text(const char *path);

/*
 * Calls `visit` for every file below a directory whose name ends so, in the
 * order of their names. Returns how many there were; 0 without the directory.
 */
size_t files_visit(const char *directory, const char *suffix,
		   void (*visit)(const char *path, void *context),
		   void *context);

/* The last component. */
const char *file_name(const char *path);
/* `path` with its ending replaced; to be freed. */
char *path_with_ending(const char *path, const char *ending,
		       const char *replacement);

/* A directory of the shared material; NULL where that is not there. */
const char *shared_path(const char *below, char *room, size_t size);

#endif
