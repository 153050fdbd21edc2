/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/pins.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/digest.h"
#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/state.h"
#include "fs/store/trash.h"

enum { PLACE_MAX = PATH_MAX + 256, RECORD_PATH_SIZE = 5 + DIGEST_TEXT_SIZE };

/* The record's path below the store: "pins/<digest of the place>". */
static void record_path(const char *place, char path[RECORD_PATH_SIZE])
{
	char text[DIGEST_TEXT_SIZE];
	struct digest digest = digest_of(place, strlen(place));

	digest_text(&digest, text);
	snprintf(path, RECORD_PATH_SIZE, "pins/%s", text);
}

static int place_of(const struct store *store, const char *path,
		    char place[PLACE_MAX])
{
	size_t size;

	path += strspn(path, "/");
	snprintf(place, PLACE_MAX, "%s%s%s", store->name, *path ? "/" : "",
		 path);
	size = strlen(place);
	if (strlen(path) >= PATH_MAX)
		return -EINVAL;
	while (place[size - 1] == '/')
		place[--size] = '\0';
	return trash_is_path(place) ? 0 : -EINVAL;
}

int pins_add(struct store *store, const char *path)
{
	struct fd_draft draft = { .fd = -1 };
	char place[PLACE_MAX], record[RECORD_PATH_SIZE];
	int err = place_of(store, path, place);

	if (!err)
		err = store_make_dir(store, store->root, "pins");
	if (!err)
		err = fd_draft_open(store->tmp, store->file_mode, &draft);
	if (err)
		return err;
	record_path(place, record);
	err = fd_write_at(draft.fd, place, strlen(place), 0);
	if (!err && fsync(draft.fd) < 0)
		err = -errno;
	if (!err)
		err = fd_draft_link(&draft, store->root, record);
	fd_draft_close(&draft);
	return err;
}

int pins_remove(struct store *store, const char *path)
{
	char place[PLACE_MAX], record[RECORD_PATH_SIZE];
	int err = place_of(store, path, place);

	if (err)
		return err;
	record_path(place, record);
	return unlinkat(store->root, record, 0) < 0 ? -errno : 0;
}

void pins_free(struct pins *pins)
{
	for (size_t i = 0; i < pins->count; i++)
		free(pins->places[i]);
	free(pins->places);
	*pins = (struct pins){ 0 };
}

static int add_place(struct pins *pins, const char *place)
{
	if (pins->count == pins->capacity) {
		size_t capacity = pins->capacity * 2 + 16;
		char **places =
			reallocarray(pins->places, capacity, sizeof(*places));

		if (!places)
			return -ENOMEM;
		pins->places = places;
		pins->capacity = capacity;
	}
	pins->places[pins->count] = strdup(place);
	return pins->places[pins->count] ? (int)(pins->count++, 0) : -ENOMEM;
}

/* What is no record of somebody who is trusted, and whole, pins nothing. */
static int load_record(struct store *store, struct pins *pins, int dir,
		       const char *name)
{
	AUTO_CLOSE int fd =
		fd_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	char place[PLACE_MAX], record[RECORD_PATH_SIZE];
	struct stat st;
	int err;

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == EACCES
			       ? 0
			       : -errno;
	if (fd_stat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !store_trusts(store, st.st_uid) ||
	    st.st_size >= PLACE_MAX)
		return 0;
	err = fd_read_at(fd, place, (size_t)st.st_size, 0);
	if (err)
		return err == -ENODATA ? 0 : err;
	place[st.st_size] = '\0';
	record_path(place, record);
	if (strcmp(strchr(record, '/') + 1, name) != 0 || !trash_is_path(place))
		return 0;
	return add_place(pins, place);
}

static int load_all(struct store *store, struct pins *pins, int fd)
{
	AUTO_CLOSEDIR DIR *stream = fdopendir(fd);
	struct dirent *entry;
	int err = 0;

	if (!stream) {
		close(fd);
		return -ENOMEM;
	}
	while (!err && (entry = fd_list_next(stream)))
		if (entry->d_name[0] != '.')
			err = load_record(store, pins, fd, entry->d_name);
	return err ? err : -errno;
}

static bool is_as_it_was(const struct pins *pins, const struct stat *st)
{
	struct timespec now;

	return pins->ino == st->st_ino &&
	       pins->mtime.tv_sec == st->st_mtim.tv_sec &&
	       pins->mtime.tv_nsec == st->st_mtim.tv_nsec &&
	       clock_gettime(CLOCK_REALTIME, &now) == 0 &&
	       now.tv_sec - st->st_mtim.tv_sec > 2;
}

int pins_load(struct store *store, struct pins *pins)
{
	int fd = fd_open_list(store->root, "pins");
	struct stat st;
	int err = 0;

	if (fd >= 0 && fd_stat(fd, &st) == 0 && is_as_it_was(pins, &st)) {
		close(fd);
		return 0;
	}
	pins_free(pins);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	err = load_all(store, pins, fd);
	if (!err) {
		pins->ino = st.st_ino;
		pins->mtime = st.st_mtim;
	}
	return err;
}

/* Whether `path` is `top`, or below it. */
static bool is_below(const char *path, const char *top)
{
	size_t size = strlen(top);

	return strncmp(path, top, size) == 0 &&
	       (path[size] == '/' || path[size] == '\0');
}

bool pins_keep(const struct pins *pins, const char *place)
{
	for (size_t i = 0; i < pins->count; i++)
		if (is_below(place, pins->places[i]) ||
		    is_below(pins->places[i], place))
			return true;
	return false;
}
