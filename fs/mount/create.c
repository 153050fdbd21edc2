/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/create.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include "compiler/artifact.h"
#include "fs/fd.h"
#include "fs/mount/control.h"
#include "fs/mount/dir.h"
#include "fs/mount/file.h"
#include "fs/mount/private.h"
#include "fs/mount/removal.h"
#include "fs/mount/rendering.h"
#include "fs/store/publish.h"

/* Whether what is created there stays private until it is published. */
static bool starts_private(struct mount *m, struct node *directory,
			   const char *name)
{
	struct version *source = NULL;

	if (artifact_kind_of(name) != ARTIFACT_NONE)
		return true;
	if (!rendering_is_name(name) ||
	    rendering_source(m, directory, &source) != 0)
		return false;
	version_put(source);
	return true;
}

static int check_absent(struct mount *m, struct node *directory,
			const char *name, struct caller *caller)
{
	struct found found;
	int err = lookup_name(m, directory, name, caller, &found);

	if (err)
		return err == -ENOENT ? 0 : err;
	node_drop(&m->tree, found.node);
	return -EEXIST;
}

static bool is_removed(struct mount *m, struct node *directory)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);
	struct stat st;

	if (dir.fd < 0)
		return dir.fd == -ESTALE;
	if (fd_stat(dir.fd, &st) < 0)
		return errno == ESTALE;
	return st.st_nlink == 0;
}

static int create_private(struct mount *m, struct node *directory,
			  const char *name, mode_t mode, struct caller *caller,
			  struct found *found)
{
	int err = check_absent(m, directory, name, caller);

	if (!err && is_removed(m, directory))
		err = -ENOENT;
	if (err)
		return err;
	err = private_begin(m, directory, name, NULL, mode, caller,
			    &found->node);
	if (err)
		return err;
	found->timeout = TIMEOUT_NONE;
	pthread_mutex_lock(&found->node->lock);
	found->node->file.dirty = true;
	pthread_mutex_unlock(&found->node->lock);
	return 0;
}

/* In the place of one that was only hidden, if it was: that is the last of it.
 */
static int publish_new(struct mount *m, struct node *directory,
		       struct publication *p, struct version **v)
{
	bool hidden = hides_take(m, directory, p->name);
	int err;

	p->exclusive = !hidden;
	err = store_publish(m->store, p, v);
	if (err == -EISDIR && removal_of_hidden(m, directory, p->name) == 0)
		err = store_publish(m->store, p, v);
	if (err && hidden)
		hides_add(m, directory, p->name);
	return err;
}

/* A plain file is there for everybody from now on, empty. */
static int create_plain(struct mount *m, struct node *directory,
			const char *name, mode_t mode, struct found *found)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);
	struct publication p = { .dir = dir.fd,
				 .name = name,
				 .content = -1,
				 .meta = { .mode = mode & 07777 } };
	struct version *v = NULL;
	struct timespec now;
	int err = dir.fd < 0 ? dir.fd : file_new_ino(&p.meta.ino);

	if (err)
		return err;
	clock_gettime(CLOCK_REALTIME, &now);
	p.meta.mtime_sec = now.tv_sec;
	p.meta.mtime_nsec = (uint32_t)now.tv_nsec;
	p.meta.atime_sec = p.meta.mtime_sec;
	p.meta.atime_nsec = p.meta.mtime_nsec;
	err = publish_new(m, directory, &p, &v);
	if (err)
		return err;
	found->timeout = TIMEOUT_KEPT;
	found->node = file_node(m, directory, name, v);
	version_put(v);
	return found->node ? 0 : -ENOMEM;
}

int node_create(struct mount *m, struct node *directory, const char *name,
		mode_t mode, struct caller *caller, struct found *found)
{
	int err;

	if (m->read_only || control_has(m, directory, name))
		return -EROFS;
	if (starts_private(m, directory, name))
		return create_private(m, directory, name, mode, caller, found);
	err = create_plain(m, directory, name, mode, found);
	if (mount_drops(m, err))
		err = create_private(m, directory, name, mode, caller, found);
	return err;
}
