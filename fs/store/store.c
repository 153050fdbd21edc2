/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/create.h"
#include "fs/store/durable.h"
#include "fs/store/settings.h"
#include "fs/store/state.h"

enum {
	DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
	OWN_TMP_MODE = 02700
};

/* Directories that nothing keeps open yet. */
static const char *const later_parts[] = { "index", "trash", "intents",
					   "stats" };

/*
 * The umask may have taken from the mode. Where others write, too, the name may
 * be somebody else's by now: only a directory of ours is changed.
 */
static int make_dir(int dir, const char *name, mode_t mode)
{
	AUTO_CLOSE int fd = -1;
	struct stat st;

	if (mkdirat(dir, name, mode) < 0)
		return errno == EEXIST ? 0 : -errno;
	fd = openat(dir, name, DIR_FLAGS);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 07777) == mode)
		return 0;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

int store_make_dir(const struct store *store, int dir, const char *name)
{
	return make_dir(dir, name, store->dir_mode);
}

/* Opens the directory `name` in `dir`; makes it when it is not there. */
static int open_dir(int dir, const char *name, mode_t mode, int *part,
		    const struct reason *why)
{
	int fd = openat(dir, name, DIR_FLAGS);

	if (fd < 0 && errno == ENOENT) {
		int err = make_dir(dir, name, mode);

		if (err)
			return reason_give(why, err, "cannot make '%s': %s",
					   name, strerror(-err));
		fd = openat(dir, name, DIR_FLAGS);
	}
	if (fd < 0)
		return reason_give(why, -errno, "cannot open '%s': %s", name,
				   strerror(errno));
	*part = fd;
	return 0;
}

static int open_part(const struct store *store, const char *name, int *part,
		     const struct reason *why)
{
	return open_dir(store->root, name, store->dir_mode, part, why);
}

/*
 * Who writes to a shared store drafts in a directory of his own. Others cannot
 * put their files there, and what was theirs and is exchanged for a draft can
 * be removed, though the directories of others are sticky.
 */
static int open_own_tmp(struct store *store)
{
	AUTO_CLOSE int fd = -1;
	char name[16];
	struct stat st;
	int err;

	snprintf(name, sizeof(name), "%u", (unsigned)store->uid);
	err = make_dir(store->tmp, name, OWN_TMP_MODE);
	if (err)
		return err;
	fd = openat(store->tmp, name, DIR_FLAGS);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != store->uid)
		return -EPERM;
	close(store->tmp);
	store->tmp = take_fd(&fd);
	return 0;
}

/* Whoever has taken that name first shall not keep us out. */
static int open_tmp(struct store *store, const struct reason *why)
{
	int err = open_part(store, "tmp", &store->tmp, why);

	if (err || !store_is_shared(store))
		return err;
	err = open_own_tmp(store);
	if (err)
		log_event(store->log, LOG_LEVEL_WARNING,
			  "cannot use tmp/%u of the store (%s), but tmp itself",
			  (unsigned)store->uid, strerror(-err));
	return 0;
}

/* Directories below take over what the namespace's allows others. */
static int open_space(struct store *store, const char *space,
		      const struct reason *why)
{
	struct stat st;
	int err = open_dir(store->refs, space, store->space_mode, &store->space,
			   why);

	if (err)
		return err;
	if (fstat(store->space, &st) < 0)
		return reason_give(why, -errno, "cannot stat '%s': %s", space,
				   strerror(errno));
	store->space_mode = st.st_mode & 07777;
	return 0;
}

static int open_layout(struct store *store, const char *space,
		       const struct reason *why)
{
	int err = open_tmp(store, why);

	for (size_t i = 0; i < sizeof(later_parts) / sizeof(*later_parts);
	     i++) {
		AUTO_CLOSE int part = -1;

		if (!err)
			err = open_part(store, later_parts[i], &part, why);
	}
	if (!err)
		err = open_part(store, "quarantine", &store->quarantine, why);
	if (!err)
		err = open_part(store, "packs", &store->packs, why);
	if (!err)
		err = open_part(store, "refs", &store->refs, why);
	return err ? err : open_space(store, space, why);
}

static int load_format(struct store *store, bool create,
		       const struct reason *why)
{
	int err =
		format_load(store->root, &store->format, why->text, why->size);

	if (err != -ENOENT)
		return err;
	if (!create)
		return reason_give(why, err,
				   "it is not a store: it has no FORMAT");
	err = create_format(store, FORMAT_COLLECT, why);
	if (err && err != -EEXIST)
		return err;
	return format_load(store->root, &store->format, why->text, why->size);
}

/*
 * What is in the store may be read by whom the store's directory lets in, and
 * changed by its owner; new directories take over who may write, too. The group
 * of a shared one may add names everywhere. Only below a namespace may it take
 * the names of others: there one has to replace what another has published
 * (docs/format.md, "Shared stores").
 */
int store_choose_modes(struct store *store, unsigned features,
		       const struct reason *why)
{
	struct stat st;

	if (fstat(store->root, &st) < 0)
		return reason_give(why, -errno, "cannot stat it: %s",
				   strerror(errno));
	store->owner = st.st_uid;
	store->file_mode = 0600 | (st.st_mode & 044);
	store->dir_mode = 0700 | (st.st_mode & 03077);
	store->space_mode = store->dir_mode;
	if (features & FORMAT_SHARED) {
		store->dir_mode = 03770 | (st.st_mode & 05);
		store->space_mode = 02770 | (st.st_mode & 05);
	}
	return 0;
}

static int open_root(struct store *store, const char *path, bool create,
		     const struct reason *why)
{
	if (create && mkdir(path, 0700) < 0 && errno != EEXIST)
		return reason_give(why, -errno, "cannot make it: %s",
				   strerror(errno));
	store->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->root < 0)
		return reason_give(why, -errno, "cannot open it: %s",
				   strerror(errno));
	return store_choose_modes(store, 0, why);
}

static bool space_allowed(const char *space)
{
	return space[0] && strcmp(space, ".") != 0 &&
	       strcmp(space, "..") != 0 && !strchr(space, '/') &&
	       strlen(space) <= 255;
}

/* Without them, and with those of who has no say, there is no limit. */
static void load_settings(struct store *store,
			  const struct store_config *config)
{
	struct settings settings = { .max_bytes = 0 };
	char why[256];
	uid_t owner;
	int err =
		settings_load(store->root, &settings, &owner, why, sizeof(why));

	if (!err && owner != store->owner && !store_trusts(store, owner)) {
		snprintf(why, sizeof(why), "settings is not of the owner");
		settings.max_bytes = 0;
		err = -EPERM;
	}
	if (err && err != -ENOENT)
		log_event(store->log, LOG_LEVEL_WARNING,
			  "the store has no limit: %s", why);
	store->max_bytes =
		config->max_bytes ? *config->max_bytes : settings.max_bytes;
}

static int copy_trusted(struct store *store, const struct store_config *config,
			const struct reason *why)
{
	if (!config->trusted_count)
		return 0;
	store->trusted = calloc(config->trusted_count, sizeof(*store->trusted));
	if (!store->trusted)
		return reason_give(why, -ENOMEM, "out of memory");
	memcpy(store->trusted, config->trusted,
	       config->trusted_count * sizeof(*store->trusted));
	store->trusted_count = config->trusted_count;
	return 0;
}

static int open_all(struct store *store, const char *path,
		    const struct store_config *config, const struct reason *why)
{
	const char *space = config->space ? config->space : "default";
	int err;

	if (!space_allowed(space))
		return reason_give(why, -EINVAL, "'%s' cannot name a namespace",
				   space);
	err = copy_trusted(store, config, why);
	if (!err)
		err = open_root(store, path, config->create, why);
	if (!err)
		err = load_format(store, config->create, why);
	if (!err)
		err = store_choose_modes(store, store->format.features, why);
	if (!err)
		err = open_layout(store, space, why);
	if (!err)
		err = pack_pool_init(&store->pool);
	if (err)
		return err;
	load_settings(store, config);
	store->has_journal = durable_has_journal(store->root);
	block_cache_init(&store->cache);
	pthread_mutex_init(&store->names, NULL);
	block_index_init(&store->index);
	return 0;
}

static void close_fds(struct store *store)
{
	const int fds[] = { store->root,  store->space, store->refs,
			    store->packs, store->tmp,	store->quarantine };

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

int store_open(const char *path, const struct store_config *config,
	       struct store **store, char *why, size_t why_size)
{
	const struct reason reason = { .text = why, .size = why_size };
	struct store *made = calloc(1, sizeof(*made));
	int err;

	if (!made)
		return reason_give(&reason, -ENOMEM, "out of memory");
	made->root = made->space = made->refs = -1;
	made->packs = made->tmp = made->quarantine = -1;
	made->uid = geteuid();
	made->log = config->log;
	err = open_all(made, path, config, &reason);
	if (err) {
		close_fds(made);
		free(made->trusted);
		free(made);
		return err;
	}
	*store = made;
	return 0;
}

void store_close(struct store *store)
{
	block_index_free(&store->index);
	block_cache_free(&store->cache);
	pack_pool_free(&store->pool);
	pthread_mutex_destroy(&store->names);
	close_fds(store);
	free(store->trusted);
	free(store);
}

int store_refs(const struct store *store)
{
	return store->space;
}

int store_tmp(const struct store *store)
{
	return store->tmp;
}

int store_root(const struct store *store)
{
	return store->root;
}

uint64_t store_max_bytes(const struct store *store)
{
	return store->max_bytes;
}

mode_t store_dir_mode(const struct store *store, mode_t asked)
{
	if (!store_is_shared(store))
		return asked;
	return asked | (store->space_mode & 03070);
}

const struct log *store_log(const struct store *store)
{
	return store->log;
}

void store_names_lock(struct store *store)
{
	pthread_mutex_lock(&store->names);
}

void store_names_unlock(struct store *store)
{
	pthread_mutex_unlock(&store->names);
}

bool store_trusts(const struct store *store, uid_t uid)
{
	if (uid == store->uid || uid == 0)
		return true;
	for (size_t i = 0; i < store->trusted_count; i++)
		if (uid == store->trusted[i])
			return true;
	return false;
}

/* Where there is one user only, file systems may have modes that say nothing.
 */
bool store_vouches(const struct store *store, const struct stat *st)
{
	if (store_is_mixed(store) && (st->st_mode & (S_IWGRP | S_IWOTH)) &&
	    !S_ISLNK(st->st_mode))
		return false;
	return store_trusts(store, st->st_uid);
}
