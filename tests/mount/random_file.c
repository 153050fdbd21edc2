/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Random operations on some files, each compared with a model in memory:
 *
 *     random_file DIR MODEL SEED OPERATIONS [SHARED NUMBER]
 *
 * The files are in DIR. What they must contain is read from MODEL, a directory
 * on another file system, and written there in the end, so that the next run
 * goes on from there, after a remount for instance. SHARED is one file more, of
 * which the NUMBERth region, full of zeros, is ours; others may change the
 * other regions meanwhile. It is not in MODEL.
 *
 * Exits with 1 when a file is not what it must be, and says how it came to
 * that.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/mount/file_ops.h"
#include "tests/mount/file_world.h"

struct paths {
	char file[4096];
	char model[4096];
};

static void file_paths(struct paths *paths, char **argv, size_t number)
{
	snprintf(paths->file, sizeof(paths->file), "%s/file%zu", argv[1],
		 number);
	snprintf(paths->model, sizeof(paths->model), "%s/file%zu", argv[2],
		 number);
}

static void check_all(struct world *w)
{
	world_note(w, "compare all");
	world_check_sizes(w);
	for (size_t i = 0; i < w->files; i++)
		world_check_content(w, &w->file[i]);
}

static void add_all(struct world *w, int argc, char **argv)
{
	struct paths paths;

	for (size_t i = 0; i < WORLD_FILES; i++) {
		file_paths(&paths, argv, i);
		world_add(w, paths.file, paths.model);
	}
	if (argc == 7)
		world_add_region(w, argv[5], strtoul(argv[6], NULL, 10));
}

int main(int argc, char **argv)
{
	struct world w;
	struct paths paths;

	if (argc != 5 && argc != 7) {
		fputs("usage: random_file DIR MODEL SEED OPERATIONS [SHARED "
		      "NUMBER]\n",
		      stderr);
		return 2;
	}
	world_init(&w, strtoull(argv[3], NULL, 10));
	add_all(&w, argc, argv);
	check_all(&w);
	for (unsigned long count = strtoul(argv[4], NULL, 10); count; count--)
		file_op(&w);
	file_ops_end(&w);
	check_all(&w);
	for (size_t i = 0; i < WORLD_FILES; i++) {
		file_paths(&paths, argv, i);
		world_save(&w, &w.file[i], paths.model);
	}
	world_free(&w);
	return 0;
}
