/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/durable.h"
#include "fs/store/state.h"

enum { DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW, OWN_TMP_MODE = 02700 };

/* Directories that nothing keeps open. A full disk could not make them. */
static const char *const later_parts[] = { "index",	  "stats",
					   "pins",	  "trash",
					   "trash/packs", "trash/evicted" };

/*
 * What is in the store may be read by whom the store's directory lets in, and
 * changed by its owner; new directories take over who may write, too. The group
 * of a shared one may add names everywhere. Only below a namespace may it take
 * the names of others: there one has to replace what another has published
 * (docs/format.md, "Shared stores").
 */
int layout_choose_modes(struct store *store, unsigned features,
			const struct reason *why)
{
	struct stat st;

	if (fd_stat(store->root, &st) < 0)
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
	fd = fd_open(dir, name, DIR_FLAGS, 0);
	if (fd < 0 || fd_stat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & 07777) == mode)
		return 0;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

int store_make_dir(const struct store *store, int dir, const char *name)
{
	return make_dir(dir, name, store->dir_mode);
}

int store_make_space_dir(const struct store *store, int dir, const char *name)
{
	return make_dir(dir, name, store->space_mode);
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
static int open_dir(const struct store *store, int dir, const char *name,
		    mode_t mode, int *part, const struct reason *why)
{
	int fd = fd_open(dir, name, DIR_FLAGS, 0);

	if (fd < 0 && errno == ENOENT && store->read_only) {
		fd = open_empty();
	} else if (fd < 0 && errno == ENOENT) {
		int err = make_dir(dir, name, mode);

		if (!err)
			err = durable_name(store, dir);
		if (err)
			return reason_give(why, err, "cannot make '%s': %s",
					   name, strerror(-err));
		fd = fd_open(dir, name, DIR_FLAGS, 0);
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
	return open_dir(store, store->root, name, store->dir_mode, part, why);
}

bool layout_is_of_user(const char *name)
{
	return *name && name[strspn(name, "0123456789")] == '\0';
}

static int open_own(const struct store *store, mode_t mode, int *part)
{
	AUTO_CLOSE int fd = -1;
	char name[16];
	struct stat st;
	int err;

	snprintf(name, sizeof(name), "%u", (unsigned)store->uid);
	err = make_dir(*part, name, mode);
	if (err)
		return err;
	fd = fd_open(*part, name, DIR_FLAGS, 0);
	if (fd < 0 || fd_stat(fd, &st) < 0)
		return -errno;
	if (st.st_uid != store->uid)
		return -EPERM;
	close(*part);
	*part = take_fd(&fd);
	return 0;
}

/*
 * Who writes to a shared store has drafts in directories of his own. Others
 * cannot put their files there, and what was theirs and is exchanged for a
 * draft can be removed, though the directories of others are sticky. Whoever
 * has taken that name first shall not keep us out.
 */
static int open_workplace(const struct store *store, const char *name,
			  mode_t own_mode, int *part, const struct reason *why)
{
	int err = open_part(store, name, part, why);

	if (err || !store_is_shared(store) || store->read_only)
		return err;
	err = open_own(store, own_mode, part);
	if (err)
		log_event(store->log, LOG_LEVEL_WARNING,
			  "cannot use %s/%u of the store (%s), but %s itself",
			  name, (unsigned)store->uid, strerror(-err), name);
	return 0;
}

/* What only those need who write. */
static int open_workplaces(struct store *store, const struct reason *why)
{
	int err = open_workplace(store, "tmp", OWN_TMP_MODE, &store->tmp, why);

	for (size_t i = 0; i < sizeof(later_parts) / sizeof(*later_parts);
	     i++) {
		AUTO_CLOSE int part = -1;

		if (!err)
			err = open_part(store, later_parts[i], &part, why);
	}
	return err ? err
		   : open_part(store, "quarantine", &store->quarantine, why);
}

/* Directories below take over what the namespace's allows others. */
static int open_space(struct store *store, const char *space,
		      const struct reason *why)
{
	struct stat st;
	int err = open_dir(store, store->refs, space, store->space_mode,
			   &store->space, why);

	if (err)
		return err;
	if (fd_stat(store->space, &st) < 0)
		return reason_give(why, -errno, "cannot stat '%s': %s", space,
				   strerror(errno));
	store->space_mode = st.st_mode & 07777;
	return 0;
}

/* Collectors of others read intents/, too. */
int layout_open(struct store *store, const char *space,
		const struct reason *why)
{
	int err = store->read_only ? 0 : open_workplaces(store, why);

	if (!err)
		err = open_workplace(store, "intents", store->dir_mode & 02757,
				     &store->intents, why);
	if (!err)
		err = open_part(store, "trash", &store->trash, why);
	if (!err)
		err = open_part(store, "packs", &store->packs, why);
	if (!err)
		err = open_part(store, "refs", &store->refs, why);
	return err ? err : open_space(store, space, why);
}

/* Where it is may not be ours. */
void layout_keep_name(const struct store *store)
{
	AUTO_CLOSE int above = fd_open(store->root, "..", DIR_FLAGS, 0);

	if (above >= 0)
		(void)durable_name(store, above);
}

static bool is_removed(int fd)
{
	struct stat st;

	if (fd_stat(fd, &st) < 0)
		return errno == ESTALE;
	return !st.st_nlink;
}

/* In a read-only store those below may be the empty ones. */
bool store_is_removed(const struct store *store)
{
	const int fds[] = { store->root,  store->space, store->refs,
			    store->packs, store->tmp,	store->intents };
	size_t count = store->read_only ? 1 : sizeof(fds) / sizeof(*fds);

	for (size_t i = 0; i < count; i++)
		if (is_removed(fds[i]))
			return true;
	return false;
}

void layout_close(const struct store *store)
{
	const int fds[] = { store->root,    store->space, store->refs,
			    store->packs,   store->tmp,	  store->quarantine,
			    store->intents, store->trash };

	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}
