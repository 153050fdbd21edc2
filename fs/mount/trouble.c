/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/trouble.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/statvfs.h>

static bool is_frozen(const struct mount *m)
{
	struct statvfs st;

	return fstatvfs(store_root(m->store), &st) == 0 &&
	       (st.f_flag & ST_RDONLY);
}

static bool is_of_the_system(const struct mount *m, int err)
{
	static const int errors[] = { -EIO,    -ENOSPC, -EDQUOT,
				      -EMFILE, -ENFILE, -ENOMEM,
				      -EACCES, -EINTR,	-ESTALE };

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (err == errors[i])
			return true;
	return err == -EROFS && !m->read_only && is_frozen(m);
}

/* Puts a component before what `at` shows; where that begins then. */
static char *put_before(char *at, const char *start, const char *name)
{
	size_t size = strlen(name);

	if ((size_t)(at - start) < size + 1)
		return at;
	at -= size + 1;
	memcpy(at, name, size);
	at[size] = '/';
	return at;
}

const char *trouble_path(struct mount *m, const struct node *node,
			 const char *name, char path[TROUBLE_PATH_MAX])
{
	char *at = path + TROUBLE_PATH_MAX - 1;
	size_t size;

	*at = '\0';
	if (name)
		at = put_before(at, path, name);
	tree_lock(&m->tree);
	for (; node->parent; node = node->parent)
		at = put_before(at, path, node->name);
	tree_unlock(&m->tree);
	size = strlen(at);
	if (size)
		at[size - 1] = '\0'; /* the last slash */
	return size ? at : ".";
}

/* A file system may answer EPERM to what is made in a removed directory. */
static bool is_of_removal(const struct mount *m, int err)
{
	return (err == -ENOENT || err == -EPERM) && store_is_removed(m->store);
}

int trouble_tell(struct mount *m, const char *what, struct node *node,
		 const char *name, int err)
{
	char path[TROUBLE_PATH_MAX];
	bool removed = is_of_removal(m, err);

	if (!removed && !is_of_the_system(m, err))
		return err;
	log_event(m->log, LOG_LEVEL_ERROR, "cannot %s \"%s\": %s", what,
		  trouble_path(m, node, name, path),
		  removed ? "the store, or a part of it, was deleted; unmount, "
			    "and mount it again"
			  : strerror(-err));
	return removed ? -EIO : err;
}

int trouble_miss(struct mount *m, struct node *node, int err)
{
	if (err != -ESTALE)
		return err;
	(void)trouble_tell(m, "open", node, NULL, err);
	return -ENOENT;
}
