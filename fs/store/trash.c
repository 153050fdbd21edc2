/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/trash.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "compiler/artifact.h"
#include "fs/fd.h"
#include "fs/own.h"
#include "fs/random.h"
#include "fs/store/clock.h"
#include "fs/store/place.h"
#include "fs/store/state.h"

enum { ATTEMPTS = 4, DIGITS = 8, STAMP_SIZE = 32 };

/* "refs/<namespace>/…" of a file below it. */
static int place_of_file(const struct store *store, int dir, const char *name,
			 char place[PATH_MAX])
{
	int err = place_of(store, dir, place);
	size_t size = err ? 0 : strlen(place);

	if (err)
		return err;
	if (strncmp(place, "refs/", 5) != 0)
		return -EXDEV;
	return (size_t)snprintf(place + size, PATH_MAX - size, "/%s", name) <
			       PATH_MAX - size
		       ? 0
		       : -ENAMETOOLONG;
}

/* Names in the order of their deletion, as far as a clock tells. */
static int make_stamp(const struct store *store, char stamp[STAMP_SIZE])
{
	struct timespec now = clock_now(store);
	char digits[DIGITS + 1];
	int err = random_hex(digits, DIGITS);

	if (err)
		return err;
	snprintf(stamp, STAMP_SIZE, "%016" PRIx64 "-%s",
		 (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec,
		 digits);
	return 0;
}

/* Every directory of the path, which is changed meanwhile. */
static int make_path(const struct store *store, int dir, char *path)
{
	for (char *end = strchr(path, '/');; end = strchr(end + 1, '/')) {
		int err;

		if (end)
			*end = '\0';
		err = store_make_space_dir(store, dir, path);
		if (end)
			*end = '/';
		if (err || !end)
			return err;
	}
}

/* trash/refs/<namespace>/…/<name>/<stamp> */
static int move_to(const struct store *store, int dir, const char *name,
		   char *place)
{
	char target[PATH_MAX], stamp[STAMP_SIZE];
	int err = make_stamp(store, stamp);

	if (!err && (size_t)snprintf(target, sizeof(target), "%s/%s", place,
				     stamp) >= sizeof(target))
		err = -ENAMETOOLONG;
	for (int i = 0; !err && i < ATTEMPTS; i++) {
		if (renameat(dir, name, store->trash, target) == 0)
			return 0;
		err = -errno;
		if ((err != -ENOENT && err != -ESTALE) ||
		    faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			return err;
		/* Who expires the trash may take it away again meanwhile. */
		err = make_path(store, store->trash, place);
	}
	return err ? err : -ENOENT;
}

static bool is_worth_keeping(const struct store *store, const char *name,
			     const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return false;
	if (artifact_kind_of(name) != ARTIFACT_NONE)
		return true;
	return clock_now(store).tv_sec - st->st_ctim.tv_sec >=
	       TRASH_LEAST_SECONDS;
}

int trash_delete(struct store *store, int dir, const char *name)
{
	char place[PATH_MAX];
	struct stat st;
	int err;

	if (fd_stat_at(dir, name, &st) < 0)
		return -errno;
	if (is_worth_keeping(store, name, &st)) {
		err = place_of_file(store, dir, name, place);
		if (!err)
			err = move_to(store, dir, name, place);
		if (!err)
			return 0;
	}
	return unlinkat(dir, name, 0) < 0 ? -errno : 0;
}
