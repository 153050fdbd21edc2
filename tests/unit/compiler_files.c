/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/compiler_files.h"

#include <fts.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

bool file_try_read(const char *path, struct file_bytes *file)
{
	FILE *stream = fopen(path, "rbe");
	struct stat st;

	if (!stream)
		return false;
	assert_int_equal(fstat(fileno(stream), &st), 0);
	file->size = (size_t)st.st_size;
	file->bytes = malloc(file->size ? file->size : 1);
	assert_non_null(file->bytes);
	assert_int_equal(fread(file->bytes, 1, file->size, stream), file->size);
	fclose(stream);
	return true;
}

struct file_bytes file_read(const char *path)
{
	struct file_bytes file = { NULL, 0 };

	if (!file_try_read(path, &file))
		fail_msg("%s cannot be read", path);
	return file;
}

void file_free(struct file_bytes *file)
{
	free(file->bytes);
	*file = (struct file_bytes){ NULL, 0 };
}

char *file_text(const char *path)
{
	struct file_bytes file = file_read(path);
	char *text = realloc(file.bytes, file.size + 1);

	assert_non_null(text);
	text[file.size] = '\0';
	return text;
}

static bool ends_with(const char *text, const char *ending)
{
	size_t size = strlen(text), end = strlen(ending);

	return size >= end && strcmp(text + size - end, ending) == 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

size_t files_visit(const char *directory, const char *suffix,
		   void (*visit)(const char *path, void *context),
		   void *context)
{
	char *start = strdup(directory);
	char *roots[] = { start, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);
	size_t count = 0;

	assert_non_null(walk);
	for (FTSENT *entry; (entry = fts_read(walk));) {
		if (entry->fts_info != FTS_F ||
		    !ends_with(entry->fts_name, suffix))
			continue;
		visit(entry->fts_path, context);
		count++;
	}
	fts_close(walk);
	free(start);
	return count;
}

const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *path_with_ending(const char *path, const char *ending,
		       const char *replacement)
{
	size_t kept = strlen(path) - strlen(ending);
	char *other = NULL;

	assert_true(ends_with(path, ending));
	if (asprintf(&other, "%.*s%s", (int)kept, path, replacement) < 0)
		fail_msg("out of memory");
	return other;
}

const char *shared_path(const char *below, char *room, size_t size)
{
	const char *shared = getenv("TACFS_SHARED");
	struct stat st;

	if (!shared)
		return NULL;
	snprintf(room, size, "%s/%s", shared, below);
	return stat(room, &st) ? NULL : room;
}
