/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/moves.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/digest.h"
#include "codec/le.h"
#include "fs/fd.h"
#include "fs/own.h"
#include "fs/random.h"
#include "fs/store/layout.h"
#include "fs/store/state.h"

enum { DIGITS = 16 };

struct record {
	le64 begun;
	le64 ended;
};
static_assert(sizeof(struct record) == 16, "the record of moves");

static const char prefix[] = "moves-";

void moves_init(struct moves *moves)
{
	*moves = (struct moves){ .fd = -1 };
	pthread_mutex_init(&moves->lock, NULL);
}

void moves_free(struct store *store)
{
	struct moves *moves = &store->moves;

	if (moves->fd >= 0) {
		if (moves->begun == moves->ended)
			unlinkat(store->intents, moves->name, 0);
		close(moves->fd);
	}
	pthread_mutex_destroy(&moves->lock);
}

bool moves_name_is(const char *name)
{
	return strncmp(name, prefix, sizeof(prefix) - 1) == 0;
}

static int write_record(const struct moves *moves)
{
	const struct record record = { le64_of(moves->begun),
				       le64_of(moves->ended) };

	return fd_write_at(moves->fd, &record, sizeof(record), 0);
}

/* On a network file system only what is synchronous is seen by others. */
static int open_record(struct store *store, const char *name)
{
	int flags = O_RDWR | O_CREAT | O_EXCL;
	int fd = fd_open(store->intents, name,
			 flags | (store->has_journal ? 0 : O_DSYNC),
			 store->file_mode);

	return fd < 0 ? -errno : fd;
}

/* 1, 0 when there is none or it has no name any more, or a negative errno. */
static int has_record(const struct moves *moves)
{
	struct stat st;

	if (moves->fd < 0)
		return 0;
	return fd_stat(moves->fd, &st) < 0 ? -errno : st.st_nlink > 0;
}

/* A mark that runs meanwhile sees the file go, and is made again. */
static void forget_record(struct store *store)
{
	struct moves *moves = &store->moves;

	if (moves->fd < 0)
		return;
	unlinkat(store->intents, moves->name, 0);
	close(moves->fd);
	moves->fd = -1;
}

/* Also when a collector took the file for one that nobody has any more. */
static int need_record(struct store *store)
{
	struct moves *moves = &store->moves;
	char digits[DIGITS + 1];
	int err = has_record(moves);

	if (err)
		return err < 0 ? err : 0;
	err = random_hex(digits, DIGITS);
	if (err)
		return err;
	forget_record(store);
	snprintf(moves->name, sizeof(moves->name), "%s%s", prefix, digits);
	moves->fd = open_record(store, moves->name);
	return moves->fd < 0 ? moves->fd : 0;
}

int moves_begin(struct store *store)
{
	struct moves *moves = &store->moves;
	int has = 0;

	pthread_mutex_lock(&moves->lock);
	moves->begun++;
	while (!has) {
		has = need_record(store);
		if (!has)
			has = write_record(moves);
		if (!has)
			has = has_record(moves);
	}
	if (has < 0) {
		moves->begun--;
		forget_record(store); /* it may tell of this move by now */
	}
	pthread_mutex_unlock(&moves->lock);
	return has < 0 ? has : 0;
}

void moves_end(struct store *store)
{
	struct moves *moves = &store->moves;

	pthread_mutex_lock(&moves->lock);
	moves->ended++;
	/* Else a collector would wait for an end that is not told. */
	if (write_record(moves) != 0)
		forget_record(store);
	pthread_mutex_unlock(&moves->lock);
}

static int look_at(int dir, const char *name, struct moves_state *state)
{
	AUTO_CLOSE int fd =
		fd_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct record record;
	int err;

	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	err = fd_read_at(fd, &record, sizeof(record), 0);
	if (err == -ENODATA)
		return 0; /* just made: nothing has moved */
	if (err)
		return err;
	if (le64_get(record.begun) != le64_get(record.ended))
		state->under_way = true;
	/* A sum, since a directory is listed in any order. */
	state->digest += check_of(name, strlen(name), le64_get(record.begun));
	return 0;
}

static int look_into(int parent, const char *name, struct moves_state *state)
{
	AUTO_CLOSEDIR DIR *stream = fd_list(parent, name);
	struct dirent *entry;
	int err = 0;

	if (!stream)
		return -errno;
	while (!err && (entry = fd_list_next(stream)))
		if (moves_name_is(entry->d_name))
			err = look_at(dirfd(stream), entry->d_name, state);
		else if (layout_is_of_user(entry->d_name))
			err = look_into(dirfd(stream), entry->d_name, state);
	return err ? err : -errno;
}

int moves_look(struct store *store, struct moves_state *state)
{
	*state = (struct moves_state){ 0 };
	return look_into(store->root, "intents", state);
}
