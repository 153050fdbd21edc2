/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fuzz target without a fuzzer: runs every file below the given directories
 * through it once. Fails when there is none.
 */
#include <errno.h>
#include <fts.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The buffer has just the size of the input, so that a sanitizer sees its end.
 */
static int replay(const char *path, size_t size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *bytes = malloc(size);
	int err = -1;

	if (file && (bytes || !size) && fread(bytes, 1, size, file) == size)
		err = 0;
	if (err)
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	else
		LLVMFuzzerTestOneInput(bytes, size);
	free(bytes);
	if (file)
		fclose(file);
	return err;
}

static int replay_all(FTS *walk, size_t *count)
{
	for (FTSENT *entry; (entry = fts_read(walk)); ++*count) {
		if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_NS)
			return -1;
		if (entry->fts_info != FTS_F) {
			--*count;
			continue;
		}
		if (replay(entry->fts_path, (size_t)entry->fts_statp->st_size))
			return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	FTS *walk =
		argc > 1 ? fts_open(argv + 1, FTS_PHYSICAL | FTS_NOCHDIR, NULL)
			 : NULL;
	size_t count = 0;
	int err;

	if (!walk) {
		fprintf(stderr, "usage: %s DIRECTORY...\n", argv[0]);
		return EXIT_FAILURE;
	}
	err = replay_all(walk, &count);
	fts_close(walk);
	printf("%zu inputs\n", count);
	return err || !count ? EXIT_FAILURE : EXIT_SUCCESS;
}
