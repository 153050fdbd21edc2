/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/create.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/durable.h"
#include "fs/store/layout.h"
#include "fs/store/settings.h"
#include "fs/store/state.h"

enum {
	DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW,
	/*
	 * The directory of a shared store is for its owner to write: whoever
	 * may write there can give FORMAT and packs/ other names.
	 */
	SHARED_ROOT_MODE = 02750
};

/* Whether every entry of the directory passes `fine`. */
static int holds_only(int dir, bool (*fine)(int dir, const char *name))
{
	AUTO_CLOSEDIR DIR *stream = fd_list(dir, ".");
	struct dirent *entry;

	if (!stream)
		return -errno;
	while ((entry = fd_list_next(stream)))
		if (!fine(dir, entry->d_name))
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
	tmp = fd_open(dir, name, DIR_FLAGS, 0);
	return tmp >= 0 && holds_only(tmp, is_draft) == 0;
}

static bool has_format(const struct store *store)
{
	return faccessat(store->root, "FORMAT", F_OK, 0) == 0;
}

static int check_empty(const struct store *store, const struct reason *why)
{
	int err = holds_only(store->root, precedes_format);

	if (err == -ENOTEMPTY && has_format(store))
		return -EEXIST; /* with all that belongs to it */
	if (err == -ENOTEMPTY)
		return reason_give(why, err,
				   "the directory is not empty and is not a "
				   "store");
	if (err)
		return reason_give(why, err, "cannot list it: %s",
				   strerror(-err));
	return 0;
}

int create_format(struct store *store, unsigned features,
		  const struct reason *why)
{
	AUTO_CLOSE int tmp = -1;
	int err = check_empty(store, why);

	if (err)
		return err;
	err = store_make_dir(store, store->root, "tmp");
	if (!err) {
		tmp = fd_open(store->root, "tmp", DIR_FLAGS, 0);
		err = tmp < 0 ? -errno : 0;
	}
	if (!err)
		err = format_make(store->root, tmp, store->file_mode, features);
	/* What is made later does not belong to a directory without it. */
	if (!err)
		err = durable_name(store, store->root);
	if (err && err != -EEXIST)
		return reason_give(why, err, "cannot make FORMAT: %s",
				   strerror(-err));
	return err;
}

/* Before anything is in it, so that all that comes has the group. */
static int share_root(struct store *store, const struct store_plan *plan,
		      const struct reason *why)
{
	if (fchown(store->root, (uid_t)-1, plan->group) < 0)
		return reason_give(why, -errno,
				   "cannot give it to the group %u: %s",
				   (unsigned)plan->group, strerror(errno));
	if (fchmod(store->root, SHARED_ROOT_MODE) < 0)
		return reason_give(why, -errno, "cannot change its mode: %s",
				   strerror(errno));
	return 0;
}

/* Else whoever makes one may close it to the others. */
static int make_shared_dirs(const struct store *store, const struct reason *why)
{
	int err = store_make_space_dir(store, store->trash, "refs");

	for (unsigned i = 0; !err && i < INDEX_FANS; i++) {
		char name[3];

		snprintf(name, sizeof(name), "%02x", i);
		err = store_make_dir(store, store->packs, name);
	}
	if (err)
		return reason_give(why, err,
				   "cannot make the directories of packs: %s",
				   strerror(-err));
	return 0;
}

static int make_empty(struct store *store, const struct store_plan *plan,
		      const struct reason *why)
{
	unsigned features = FORMAT_COLLECT;
	int err = has_format(store) ? -EEXIST : check_empty(store, why);

	if (!err && plan->shared) {
		features |= FORMAT_SHARED;
		err = share_root(store, plan, why);
	}
	if (!err)
		err = layout_choose_modes(store, features, why);
	if (!err)
		err = create_format(store, features, why);
	if (err == -EEXIST)
		reason_give(why, err, "it is a store already");
	return err;
}

int store_create(const char *path, const struct store_plan *plan, char *why,
		 size_t why_size)
{
	const struct store_config config = { .create = false };
	const struct reason reason = { .text = why, .size = why_size };
	struct store empty = { .uid = geteuid() };
	AUTO_CLOSE int root = -1;
	struct store *made;
	bool is_new = mkdir(path, 0700) == 0;
	int err;

	if (!is_new && errno != EEXIST)
		return reason_give(&reason, -errno, "cannot make it: %s",
				   strerror(errno));
	root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return reason_give(&reason, -errno, "cannot open it: %s",
				   strerror(errno));
	empty.root = root;
	if (is_new)
		layout_keep_name(&empty);
	err = make_empty(&empty, plan, &reason);
	if (!err)
		err = store_open(path, &config, &made, why, why_size);
	if (err)
		return err;
	if (plan->shared)
		err = make_shared_dirs(made, &reason);
	store_close(made);
	return err;
}

int store_set_max_bytes(struct store *store, uint64_t max_bytes, char *why,
			size_t why_size)
{
	const struct reason reason = { .text = why, .size = why_size };
	struct settings settings = { .max_bytes = 0 };
	uid_t owner;
	int err = settings_load(store->root, &settings, &owner, why, why_size);

	if (err == -ENOTSUP)
		return err;
	settings.max_bytes = max_bytes;
	err = settings_save(store->root, store->tmp, store->file_mode,
			    &settings);
	if (err)
		return reason_give(&reason, err, "cannot write settings: %s",
				   strerror(-err));
	store->max_bytes = max_bytes;
	return 0;
}
