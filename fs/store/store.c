/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/durable.h"
#include "fs/store/guard.h"
#include "fs/store/state.h"

enum { DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* Directories that nothing keeps open yet. */
static const char *const later_parts[] = { "index", "stats" };

/* One line that says why store_open() fails. */
struct reason {
	char *text;
	size_t size;
};

__attribute__((format(printf, 3, 4))) static int
refuse(const struct reason *why, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, why->size, format, args);
	va_end(args);
	return err;
}

int store_make_dir(const struct store *store, int dir, const char *name)
{
	if (mkdirat(dir, name, store->dir_mode) < 0)
		return errno == EEXIST ? 0 : -errno;
	/* The umask took away what the mode of the store's directory gives. */
	return fchmodat(dir, name, store->dir_mode, 0) < 0 ? -errno : 0;
}

/* An open directory that is empty, and stays so: it was removed. */
static int open_empty(void)
{
	static const char *const places[] = { "/tmp", "/var/tmp", "/dev/shm",
					      "/run" };
	int fd = -1;

	for (size_t i = 0; fd < 0 && i < sizeof(places) / sizeof(*places);
	     i++) {
		char path[32];

		snprintf(path, sizeof(path), "%s/tacfs-XXXXXX", places[i]);
		if (!mkdtemp(path))
			continue;
		fd = open(path, DIR_FLAGS);
		rmdir(path);
	}
	return fd;
}

/*
 * Opens the directory `name` in `dir`. When it is not there it is made, or, in
 * a read-only store, is an empty one.
 */
static int open_part(const struct store *store, int dir, const char *name,
		     int *part, const struct reason *why)
{
	int fd = openat(dir, name, DIR_FLAGS);

	if (fd < 0 && errno == ENOENT && store->read_only) {
		fd = open_empty();
	} else if (fd < 0 && errno == ENOENT) {
		int err = store_make_dir(store, dir, name);

		if (err)
			return refuse(why, err, "cannot make '%s': %s", name,
				      strerror(-err));
		fd = openat(dir, name, DIR_FLAGS);
	}
	if (fd < 0)
		return refuse(why, -errno, "cannot open '%s': %s", name,
			      strerror(errno));
	*part = fd;
	return 0;
}

/* What only those need who write. */
static int open_workplaces(struct store *store, const struct reason *why)
{
	int err = open_part(store, store->root, "tmp", &store->tmp, why);

	for (size_t i = 0; i < sizeof(later_parts) / sizeof(*later_parts);
	     i++) {
		AUTO_CLOSE int part = -1;

		if (!err)
			err = open_part(store, store->root, later_parts[i],
					&part, why);
	}
	if (!err)
		err = open_part(store, store->root, "quarantine",
				&store->quarantine, why);
	return err;
}

static int open_layout(struct store *store, const char *space,
		       const struct reason *why)
{
	int err = store->read_only ? 0 : open_workplaces(store, why);

	if (!err)
		err = open_part(store, store->root, "intents", &store->intents,
				why);
	if (!err)
		err = open_part(store, store->root, "trash", &store->trash,
				why);
	if (!err)
		err = open_part(store, store->root, "packs", &store->packs,
				why);
	if (!err)
		err = open_part(store, store->root, "refs", &store->refs, why);
	if (!err)
		err = open_part(store, store->refs, space, &store->space, why);
	return err;
}

/* Whether every entry of the directory passes `fine`. */
static int holds_only(int dir, bool (*fine)(int dir, const char *name))
{
	AUTO_CLOSEDIR DIR *stream = NULL;
	AUTO_CLOSE int fd = openat(dir, ".", DIR_FLAGS);
	struct dirent *entry;

	if (fd < 0)
		return -errno;
	stream = fdopendir(fd);
	if (!stream)
		return -errno;
	take_fd(&fd);
	while ((errno = 0, entry = readdir(stream)))
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0 &&
		    !fine(dir, entry->d_name))
			return -ENOTEMPTY;
	return -errno;
}

static bool is_draft(int dir, const char *name)
{
	(void)dir;
	return fd_draft_name_is(name);
}

/*
 * What may be there before FORMAT is: the tmp of a creator who was killed, and
 * what mkfs leaves in a new file system. FORMAT itself when another creator
 * finishes just now.
 */
static bool precedes_format(int dir, const char *name)
{
	AUTO_CLOSE int tmp = -1;

	if (strcmp(name, "lost+found") == 0 || strcmp(name, "FORMAT") == 0)
		return true;
	if (strcmp(name, "tmp") != 0)
		return false;
	tmp = openat(dir, name, DIR_FLAGS);
	return tmp >= 0 && holds_only(tmp, is_draft) == 0;
}

static int create_format(struct store *store, const struct reason *why)
{
	AUTO_CLOSE int tmp = -1;
	int err = holds_only(store->root, precedes_format);

	if (err == -ENOTEMPTY && faccessat(store->root, "FORMAT", F_OK, 0) == 0)
		return 0; /* made meanwhile, with all that belongs to it */
	if (err == -ENOTEMPTY)
		return refuse(why, err,
			      "the directory is not empty and is not a store");
	if (!err)
		err = open_part(store, store->root, "tmp", &tmp, why);
	if (!err)
		err = format_make(store->root, tmp, store->file_mode);
	if (err)
		return refuse(why, err, "cannot make FORMAT: %s",
			      strerror(-err));
	return 0;
}

static int load_format(struct store *store, bool create,
		       const struct reason *why)
{
	int err =
		format_load(store->root, &store->format, why->text, why->size);

	if (err != -ENOENT)
		return err;
	if (!create)
		return refuse(why, err, "it is not a store: it has no FORMAT");
	err = create_format(store, why);
	if (err)
		return err;
	return format_load(store->root, &store->format, why->text, why->size);
}

/*
 * What is in the store may be read by whom the store's directory lets in, and
 * changed by its owner; new directories take over who may write, too.
 */
static int choose_modes(struct store *store, const struct reason *why)
{
	struct stat st;

	if (fstat(store->root, &st) < 0)
		return refuse(why, -errno, "cannot stat it: %s",
			      strerror(errno));
	store->dir_mode = 0700 | (st.st_mode & 03077);
	store->file_mode = 0600 | (st.st_mode & 044);
	return 0;
}

static int open_root(struct store *store, const char *path, bool create,
		     const struct reason *why)
{
	if (create && mkdir(path, 0700) < 0 && errno != EEXIST)
		return refuse(why, -errno, "cannot make it: %s",
			      strerror(errno));
	store->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (store->root < 0)
		return refuse(why, -errno, "cannot open it: %s",
			      strerror(errno));
	return choose_modes(store, why);
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
	return store->condemned ? 0 : refuse(why, -ENOMEM, "out of memory");
}

static int open_all(struct store *store, const char *path,
		    const struct store_config *config, const struct reason *why)
{
	const char *space = config->space ? config->space : "default";
	bool create = config->create && !config->read_only;
	int err;

	if (!store_space_allowed(space))
		return refuse(why, -EINVAL, "'%s' cannot name a namespace",
			      space);
	snprintf(store->name, sizeof(store->name), "%s", space);
	err = open_root(store, path, create, why);
	if (!err)
		err = load_format(store, create, why);
	if (!err)
		err = choose_access(store, config, why);
	if (!err)
		err = open_layout(store, space, why);
	if (!err)
		err = pack_pool_init(&store->pool);
	if (err)
		return err;
	store->has_journal = durable_has_journal(store->root);
	block_cache_init(&store->cache);
	pthread_mutex_init(&store->names, NULL);
	block_index_init(&store->index);
	moves_init(&store->moves);
	wounds_init(&store->wounds);
	return 0;
}

static void close_fds(struct store *store)
{
	const int fds[] = { store->root,    store->space, store->refs,
			    store->packs,   store->tmp,	  store->quarantine,
			    store->intents, store->trash };

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
		return refuse(&reason, -ENOMEM, "out of memory");
	made->root = made->space = made->refs = -1;
	made->packs = made->tmp = made->quarantine = -1;
	made->intents = made->trash = -1;
	made->uid = geteuid();
	made->log = config->log;
	made->keep_damaged = config->keep_damaged;
	err = open_all(made, path, config, &reason);
	if (err) {
		close_fds(made);
		condemned_free(made->condemned);
		free(made);
		return err;
	}
	*store = made;
	return 0;
}

void store_close(struct store *store)
{
	moves_free(store);
	wounds_free(&store->wounds);
	block_index_free(&store->index);
	block_cache_free(&store->cache);
	pack_pool_free(&store->pool);
	pthread_mutex_destroy(&store->names);
	close_fds(store);
	condemned_free(store->condemned);
	free(store);
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
	int err = guard_begin(store, from_dir, from, &guard);

	if (err)
		return err;
	store_names_lock(store);
	if (renameat2(from_dir, from, to_dir, to, flags) < 0)
		err = -errno;
	store_names_unlock(store);
	guard_end(&guard);
	return err;
}

size_t store_publications(struct store *store)
{
	return atomic_load(&store->publications);
}

bool store_trusts(const struct store *store, uid_t uid)
{
	return uid == store->uid || uid == 0;
}

void store_trust_owner(struct store *store)
{
	struct stat st;

	if (store->uid == 0 && fstat(store->root, &st) == 0)
		store->uid = st.st_uid;
}
