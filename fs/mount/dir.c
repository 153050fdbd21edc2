/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"

static void unlink_age(struct tree *tree, struct node *node)
{
	struct node_directory *d = &node->directory;

	*(d->newer_open ? &d->newer_open->directory.older_open
			: &tree->newest_open) = d->older_open;
	*(d->older_open ? &d->older_open->directory.newer_open
			: &tree->oldest_open) = d->newer_open;
	d->newer_open = d->older_open = NULL;
}

static void link_newest(struct tree *tree, struct node *node)
{
	node->directory.older_open = tree->newest_open;
	*(tree->newest_open ? &tree->newest_open->directory.newer_open
			    : &tree->oldest_open) = node;
	tree->newest_open = node;
}

void dir_forget(struct tree *tree, struct node *node)
{
	if (node->directory.fd < 0)
		return;
	unlink_age(tree, node);
	tree->open_count--;
	close(node->directory.fd);
	node->directory.fd = -1;
}

/* What is in use stays, even if that is too much. */
static void trim(struct tree *tree)
{
	struct node *node = tree->oldest_open;

	while (node && tree->open_count > tree->open_limit) {
		struct node *newer = node->directory.newer_open;

		if (!node->directory.uses)
			dir_forget(tree, node);
		node = newer;
	}
}

void dir_adopt(struct tree *tree, struct node *node, int fd)
{
	node->directory.fd = fd;
	link_newest(tree, node);
	tree->open_count++;
	node->directory.uses++;
	trim(tree);
	node->directory.uses--;
}

static int check_identity(const struct node *node, int fd)
{
	struct fd_identity identity;
	int err = fd_identify(fd, &identity);

	if (err)
		return err;
	return fd_is_same(&identity, &node->directory.identity) ? 0 : -ESTALE;
}

/* The descriptor, which the caller owns, or a negative errno. */
static int open_again(struct tree *tree, struct node *node)
{
	struct place place = { 0 };
	AUTO_CLOSE int fd = -1;
	int err = node_place(tree, node, &place);

	if (!err) {
		AUTO_DIR struct dir_use above = dir_begin(tree, place.parent);

		if (above.fd >= 0)
			fd = fd_open(above.fd, place.name,
				     O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
		err = above.fd < 0 ? above.fd : fd < 0 ? -errno : 0;
	}
	place_free(tree, &place);
	if (!err)
		err = check_identity(node, fd);
	if (err == -ENOENT || err == -ENOTDIR || err == -ELOOP)
		err = -ESTALE;
	return err ? err : take_fd(&fd);
}

/* Of several that have opened it at once, one descriptor stays. */
struct dir_use dir_begin(struct tree *tree, struct node *node)
{
	AUTO_CLOSE int opened = -1;
	struct dir_use use = { tree, node, -1 };

	tree_lock(tree);
	node->directory.uses++;
	if (node->directory.fd < 0) {
		tree_unlock(tree);
		opened = open_again(tree, node);
		tree_lock(tree);
		if (opened >= 0 && node->directory.fd < 0)
			dir_adopt(tree, node, take_fd(&opened));
	} else if (node != tree->newest_open) {
		unlink_age(tree, node);
		link_newest(tree, node);
	}
	use.fd = node->directory.fd >= 0 ? node->directory.fd : opened;
	if (use.fd < 0) {
		node->directory.uses--;
		use.node = NULL;
	}
	tree_unlock(tree);
	return use;
}

void dir_end(struct dir_use *use)
{
	if (!use->node)
		return;
	tree_lock(use->tree);
	use->node->directory.uses--;
	tree_unlock(use->tree);
	use->node = NULL;
}

DIR *dir_stream(struct tree *tree, struct node *node)
{
	AUTO_DIR struct dir_use use = dir_begin(tree, node);

	if (use.fd >= 0)
		return fd_list(use.fd, ".");
	errno = -use.fd;
	return NULL;
}

int dir_sync(struct tree *tree, struct node *node)
{
	AUTO_CLOSEDIR DIR *stream = dir_stream(tree, node);

	return stream ? fd_sync(dirfd(stream)) : -errno;
}

void dir_keep(struct tree *tree, struct node *node)
{
	tree_lock(tree);
	if (!node->directory.identity.birth.tv_sec)
		node->directory.uses++;
	tree_unlock(tree);
}
