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
#include "fs/store/clock.h"
#include "fs/store/create.h"
#include "fs/store/durable.h"
#include "fs/store/fresh.h"
#include "fs/store/guard.h"
#include "fs/store/layout.h"
#include "fs/store/settings.h"
#include "fs/store/state.h"

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

static int open_root(struct store *store, const char *path, bool create,
		     const struct reason *why)
{
	bool made = create && mkdir(path, 0700) == 0;

	if (create && !made && errno != EEXIST)
		return reason_give(why, -errno, "cannot make it: %s",
				   strerror(errno));
	store->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->root < 0)
		return reason_give(why, -errno, "cannot open it: %s",
				   strerror(errno));
	store->has_journal = durable_has_journal(store->root);
	if (made)
		layout_keep_name(store);
	return layout_choose_modes(store, 0, why);
}

bool store_space_allowed(const char *space)
{
	return space[0] && strcmp(space, ".") != 0 &&
	       strcmp(space, "..") != 0 && !strchr(space, '/') &&
	       strlen(space) <= 255;
}

/* Every publication starts in tmp/. */
static bool can_write(const struct store *store)
{
	if (faccessat(store->root, "tmp", W_OK | X_OK, AT_EACCESS) == 0)
		return true;
	if (errno == ENOENT &&
	    faccessat(store->root, ".", W_OK | X_OK, AT_EACCESS) == 0)
		return true;
	return errno != EROFS && errno != EACCES && errno != EPERM;
}

static int choose_access(struct store *store, const struct store_config *config,
			 const struct reason *why)
{
	store->read_only = config->read_only || !can_write(store);
	if (!store->read_only)
		return 0;
	store->condemned = condemned_new();
	return store->condemned ? 0
				: reason_give(why, -ENOMEM, "out of memory");
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

/* What is on disk. */
static int open_files(struct store *store, const char *path,
		      const struct store_config *config,
		      const struct reason *why)
{
	bool create = config->create && !config->read_only;
	int err = open_root(store, path, create, why);

	if (!err)
		err = load_format(store, create, why);
	if (!err)
		err = choose_access(store, config, why);
	if (!err)
		err = layout_choose_modes(store, store->format.features, why);
	return err ? err : layout_open(store, store->name, why);
}

static int open_all(struct store *store, const char *path,
		    const struct store_config *config, const struct reason *why)
{
	const char *space = config->space ? config->space : "default";
	struct timespec now;
	int err;

	if (!store_space_allowed(space))
		return reason_give(why, -EINVAL, "'%s' cannot name a namespace",
				   space);
	snprintf(store->name, sizeof(store->name), "%s", space);
	err = copy_trusted(store, config, why);
	if (!err)
		err = open_files(store, path, config, why);
	if (!err)
		err = pack_pool_init(&store->pool);
	if (err)
		return err;
	load_settings(store, config);
	store->keeps_names = fresh_is_needed(store->root);
	block_cache_init(&store->cache);
	pthread_mutex_init(&store->names, NULL);
	block_index_init(&store->index);
	moves_init(&store->moves);
	store->exchanges.fd = -1;
	leases_init(&store->leases);
	wounds_init(&store->wounds);
	room_init(&store->room);
	/* Without it, times that are seen tell. */
	if (!store->read_only)
		(void)clock_ask(store, &now);
	return 0;
}

static void free_store(struct store *store)
{
	layout_close(store);
	condemned_free(store->condemned);
	free(store->trusted);
	free(store);
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
	made->intents = made->trash = -1;
	made->uid = geteuid();
	made->log = config->log;
	made->keep_damaged = config->keep_damaged;
	made->min_free = config->min_free;
	err = open_all(made, path, config, &reason);
	if (err) {
		free_store(made);
		return err;
	}
	*store = made;
	return 0;
}

void store_close(struct store *store)
{
	leases_free(&store->leases);
	moves_free(store);
	exchange_file_free(store);
	room_free(&store->room);
	wounds_free(&store->wounds);
	block_index_free(&store->index);
	block_cache_free(&store->cache);
	pack_pool_free(&store->pool);
	pthread_mutex_destroy(&store->names);
	free_store(store);
}

bool store_is_read_only(const struct store *store)
{
	return store->read_only;
}

int store_refs(const struct store *store)
{
	return store->space;
}

const char *store_space(const struct store *store)
{
	return store->name;
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

int store_rename(struct store *store, int from_dir, const char *from,
		 int to_dir, const char *to, unsigned flags)
{
	struct guard guard;
	int err = 0;

	/* Else a crash might keep the move, and not where it went. */
	if (from_dir != to_dir)
		err = durable_path(store, to_dir);
	if (!err)
		err = guard_begin(store, from_dir, from, &guard);
	if (err)
		return err;
	store_names_lock(store);
	if (renameat2(from_dir, from, to_dir, to, flags) < 0)
		err = -errno;
	if ((flags & RENAME_NOREPLACE) && (err == -EINVAL || err == -ENOSYS))
		err = fd_move_new(from_dir, from, to_dir, to);
	store_names_unlock(store);
	guard_end(&guard);
	return err;
}

static int exchange_guarded(struct store *store, int first_dir,
			    const char *first, int second_dir,
			    const char *second)
{
	struct guard guard;
	int err = guard_begin(store, second_dir, second, &guard);

	if (err)
		return err;
	err = store_rename(store, first_dir, first, second_dir, second,
			   RENAME_EXCHANGE);
	guard_end(&guard);
	return err;
}

int store_exchange(struct store *store, int first_dir, const char *first,
		   int second_dir, const char *second)
{
	int err = 0;

	if (first_dir != second_dir)
		err = durable_path(store, first_dir);
	return err ? err
		   : exchange_guarded(store, first_dir, first, second_dir,
				      second);
}

size_t store_publications(struct store *store)
{
	return atomic_load(&store->publications);
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

void store_trust_owner(struct store *store)
{
	struct stat st;

	if (store->uid == 0 && fd_stat(store->root, &st) == 0)
		store->uid = st.st_uid;
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
