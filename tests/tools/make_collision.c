/* SPDX-License-Identifier: Apache-2.0 */
/* make_collision A B SIZE: writes two different files with one XXH3-128. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/collision.h"

static int write_file(const char *path, const uint8_t *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");
	size_t written = file ? fwrite(bytes, 1, size, file) : 0;

	if (!file || (fclose(file) != 0) || written != size) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return -1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	size_t size = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;
	uint8_t *pair;
	int err;

	if (size < COLLISION_MIN || size > SIZE_MAX / 2) {
		fprintf(stderr, "usage: %s A B SIZE (at least %d)\n", argv[0],
			COLLISION_MIN);
		return EXIT_FAILURE;
	}
	pair = malloc(2 * size);
	if (!pair)
		return EXIT_FAILURE;
	collision_pair(pair, pair + size, size);
	err = write_file(argv[1], pair, size);
	if (!err)
		err = write_file(argv[2], pair + size, size);
	free(pair);
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}
