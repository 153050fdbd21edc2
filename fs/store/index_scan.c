/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/clock.h"
#include "fs/store/fresh.h"
#include "fs/store/index_pack.h"
#include "fs/store/pack_file.h"
#include "fs/store/state.h"

/*
 * An mtime younger than this when a directory is listed may hide a later
 * change. Shorter than for identities: what is at stake is sharing only.
 */
enum { FAN_SETTLE_NSEC = 100 * 1000 * 1000, NSEC = 1000 * 1000 * 1000 };

static bool is_settled(struct store *store, const struct timespec *mtime)
{
	struct timespec now;
	int64_t age;

	clock_saw(store, mtime);
	now = clock_now(store);
	if (now.tv_sec - mtime->tv_sec > 2)
		return true;
	age = (int64_t)(now.tv_sec - mtime->tv_sec) * NSEC + now.tv_nsec -
	      mtime->tv_nsec;
	return age > FAN_SETTLE_NSEC;
}

static bool is_unchanged(const struct index_fan *fan, const struct stat *st)
{
	return fan->settled && fan->ino == st->st_ino &&
	       fan->mtime.tv_sec == st->st_mtim.tv_sec &&
	       fan->mtime.tv_nsec == st->st_mtim.tv_nsec;
}

static bool see(struct block_index *index, const struct digest *id)
{
	bool known;

	pthread_mutex_lock(&index->lock);
	known = index_packs_see(index, id);
	pthread_mutex_unlock(&index->lock);
	return known;
}

static int scan_pack(struct store *store, const char *name, size_t *seen)
{
	struct pack *pack;
	struct digest id;
	int err;

	if (digest_from_text(name, &id))
		return 0;
	if (see(&store->index, &id)) {
		(*seen)++;
		return 0;
	}
	err = pack_open(store, &id, &pack);
	if (err)
		return err == -ENOENT ? 0 : err;
	err = block_index_add(&store->index, &pack->table);
	pack_close(pack);
	if (!err)
		(*seen)++;
	return err;
}

static void note_listed(struct block_index *index, unsigned number, size_t seen)
{
	pthread_mutex_lock(&index->lock);
	index_packs_listed(index, number, seen);
	pthread_mutex_unlock(&index->lock);
}

static int scan_names(struct store *store, unsigned number, int dir)
{
	AUTO_CLOSEDIR DIR *stream = fdopendir(dir);
	struct dirent *entry;
	size_t seen = 0;
	int result = 0;

	if (!stream) {
		result = -errno;
		close(dir);
		return result;
	}
	while ((entry = fd_list_next(stream))) {
		int err = scan_pack(store, entry->d_name, &seen);

		result = result ? result : err;
	}
	result = result ? result : -errno;
	if (!result)
		note_listed(&store->index, number, seen);
	return result;
}

/* A directory that is missing, or of somebody else: it has no packs for us. */
static bool is_not_ours(const struct store *store, const struct stat *st,
			int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP ||
	       (error == EACCES && !store_trusts(store, st->st_uid));
}

static int scan_fan(struct store *store, unsigned number, bool fresh)
{
	struct index_fan *fan = &store->index.fans[number];
	bool settled;
	struct stat st;
	char name[3];
	int dir;
	int err;

	snprintf(name, sizeof(name), "%02x", number);
	if (fresh)
		fresh_path(store, store->packs, name);
	if (fd_stat_at(store->packs, name, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (is_unchanged(fan, &st))
		return 0;
	settled = is_settled(store, &st.st_mtim);
	dir = fd_open(store->packs, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
		      0);
	if (dir < 0)
		return is_not_ours(store, &st, errno) ? 0 : -errno;
	err = scan_names(store, number, dir);
	if (err)
		return err;
	fan->ino = st.st_ino;
	fan->mtime = st.st_mtim;
	fan->settled = settled;
	return 0;
}

int block_index_refresh(struct store *store, bool fresh)
{
	struct block_index *index = &store->index;
	uint64_t asked = atomic_load(&index->scans);
	int result = 0;

	pthread_mutex_lock(&index->scan);
	if (!fresh && atomic_load(&index->scans) != asked) {
		/* A scan that began after we asked has ended. */
		pthread_mutex_unlock(&index->scan);
		return 0;
	}
	atomic_fetch_add(&index->scans, 1);
	if (fresh)
		fresh_names(store, store->packs);
	for (unsigned i = 0; i < INDEX_FANS; i++) {
		int err = scan_fan(store, i, fresh);

		result = result ? result : err;
	}
	block_index_forget(index);
	pthread_mutex_unlock(&index->scan);
	return result;
}
