/* SPDX-License-Identifier: Apache-2.0 */
#include "nfslike_host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT_SECONDS = 30 };

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

void inode_put(struct host *h, struct inode *inode)
{
	struct inode **at = &h->inodes;

	if (--inode->users || inode == &h->root)
		return;
	name_forget_all(h, inode);
	while (*at != inode)
		at = &(*at)->next;
	*at = inode->next;
	close(inode->fd);
	free(inode);
}

static struct name **find_name(struct inode *dir, const char *text)
{
	struct name **at = &dir->names;

	while (*at && strcmp((*at)->text, text) != 0)
		at = &(*at)->next;
	return at;
}

void name_forget(struct host *h, struct inode *dir, const char *text)
{
	struct name **at = find_name(dir, text);
	struct name *name = *at;

	if (!name)
		return;
	*at = name->next;
	if (name->child)
		inode_put(h, name->child);
	free(name);
}

void name_forget_all(struct host *h, struct inode *dir)
{
	while (dir->names)
		name_forget(h, dir, dir->names->text);
}

static void keep_name(struct host *h, struct inode *dir, const char *text,
		      struct inode *child)
{
	struct name *name = calloc(1, sizeof(*name));

	name_forget(h, dir, text);
	if (!name)
		return;
	snprintf(name->text, sizeof(name->text), "%s", text);
	name->until = now() + KEPT_SECONDS;
	name->child = child;
	if (child)
		child->users++;
	name->next = dir->names;
	dir->names = name;
}

void name_set_missing(struct host *h, struct inode *dir, const char *text)
{
	keep_name(h, dir, text, NULL);
}

int inode_ask(struct inode *inode)
{
	if (!inode->gone && fstat(inode->fd, &inode->st) == 0) {
		inode->gone = inode->st.st_nlink == 0;
		inode->until = now() + KEPT_SECONDS;
	}
	return inode->gone ? ESTALE : 0;
}

int inode_stat(struct inode *inode)
{
	if (inode->gone)
		return ESTALE;
	return now() < inode->until ? 0 : inode_ask(inode);
}

/* Takes the descriptor; the inode is used once more. */
static struct inode *take_inode(struct host *h, int fd)
{
	struct inode *inode = h->inodes;
	struct stat st;

	if (fstat(fd, &st) < 0)
		goto close;
	while (inode &&
	       (inode->st.st_ino != st.st_ino || inode->st.st_dev != st.st_dev))
		inode = inode->next;
	if (inode) {
		close(fd);
	} else {
		inode = calloc(1, sizeof(*inode));
		if (!inode)
			goto close;
		inode->fd = fd;
		inode->next = h->inodes;
		h->inodes = inode;
	}
	inode->st = st;
	inode->until = now() + KEPT_SECONDS;
	inode->users++;
	return inode;
close:
	close(fd);
	return NULL;
}

int name_find(struct host *h, struct inode *dir, const char *text,
	      struct inode **out)
{
	struct name *name = *find_name(dir, text);
	int fd;

	if (name && now() < name->until &&
	    !(name->child && name->child->gone)) {
		*out = name->child;
		if (*out)
			(*out)->users++;
		return *out ? 0 : ENOENT;
	}
	if (inode_ask(dir))
		return ESTALE;
	fd = openat(dir->fd, text, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0) {
		if (errno == ENOENT)
			keep_name(h, dir, text, NULL);
		return errno;
	}
	*out = take_inode(h, fd);
	if (!*out)
		return ENOMEM;
	keep_name(h, dir, text, *out);
	return 0;
}

int name_hide(struct host *h, struct inode *dir, const char *text)
{
	struct inode *inode = NULL;
	int err = name_find(h, dir, text, &inode);

	if (err)
		return err;
	if (inode->opens && !inode->silly) {
		snprintf(inode->silly_name, SILLY_SIZE, ".nfs%016lx%08x",
			 (unsigned long)inode->st.st_ino, h->silly_count++);
		if (renameat(dir->fd, text, dir->fd, inode->silly_name) < 0) {
			err = errno;
		} else {
			inode->silly = dir;
			dir->users++;
		}
	} else {
		err = ENOTSUP;
	}
	inode_put(h, inode);
	return err;
}

void inode_end_silly(struct host *h, struct inode *inode)
{
	if (!inode->silly)
		return;
	unlinkat(inode->silly->fd, inode->silly_name, 0);
	name_forget(h, inode->silly, inode->silly_name);
	inode_put(h, inode->silly);
	inode->silly = NULL;
}

void host_end(struct host *h)
{
	name_forget_all(h, &h->root);
	for (struct inode *inode = h->inodes; inode; inode = inode->next)
		name_forget_all(h, inode);
	while (h->inodes) {
		h->inodes->users = 1;
		inode_put(h, h->inodes);
	}
	close(h->root.fd);
}
