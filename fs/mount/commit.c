/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/commit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "compiler/artifact.h"
#include "compiler/index.h"
#include "compiler/readable.h"
#include "fs/mount/dir.h"
#include "fs/mount/file.h"
#include "fs/mount/private.h"
#include "fs/mount/rendering.h"
#include "fs/mount/trouble.h"
#include "fs/mount/use.h"
#include "fs/own.h"
#include "fs/store/counters.h"
#include "fs/store/evicted.h"
#include "fs/store/fresh.h"
#include "fs/store/publish.h"

/* What is found in content under a name. */
struct findings {
	enum artifact_kind kind;
	struct verdict verdict;
	uint64_t readable_size;
	struct index_names names;
};

static int find_readable_size(const struct scratch_view *view, uint64_t *size)
{
	struct writer text = writer_upto(READABLE_MAX);
	int err = readable_render(view->bytes, view->size, &text);

	*size = text.size;
	writer_free(&text);
	return err;
}

static bool is_absent(struct mount *m, struct node *directory, int dir,
		      const char *name)
{
	return hides_has(m, directory, name) || dir == -ESTALE ||
	       (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
		errno == ENOENT);
}

/*
 * A graph engine writes an .idx last. A variable description that is not there
 * by then never was; one that is there must be there for every reader.
 */
static void drop_absent(struct mount *m, struct node *directory,
			struct index_names *names)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);
	size_t kept = 0;

	fresh_names(m->store, dir.fd);
	for (size_t i = 0; i < names->count; i++) {
		if (names->described[i] &&
		    is_absent(m, directory, dir.fd, names->names[i]))
			free(names->names[i]);
		else
			names->names[kept++] = names->names[i];
	}
	names->count = kept;
}

static int examine(struct mount *m, struct node *directory, const char *name,
		   const struct scratch_view *view, struct findings *f)
{
	*f = (struct findings){ .kind = artifact_kind_of(name) };
	if (f->kind == ARTIFACT_INDEX)
		index_read(view->bytes, view->size, &f->verdict, &f->names);
	else
		artifact_judge(f->kind, view->bytes, view->size, &f->verdict);
	drop_absent(m, directory, &f->names);
	if (f->kind != ARTIFACT_COMPILED_MODULE ||
	    f->verdict.soundness == UNSOUND)
		return 0;
	return find_readable_size(view, &f->readable_size);
}

static uint8_t manifest_verdict(const struct findings *f)
{
	if (f->kind == ARTIFACT_NONE)
		return VERDICT_PLAIN;
	return f->verdict.soundness == SOUND ? VERDICT_SOUND : VERDICT_FOREIGN;
}

static void fill_meta(struct node *node, const struct findings *f,
		      struct manifest_meta *meta)
{
	struct node_file *file = &node->file;
	struct timespec atime;

	pthread_mutex_lock(&node->lock);
	atime = file->has_atime ? file->atime : file->mtime;
	*meta = (struct manifest_meta){
		.ino = file->ino,
		.mode = file->mode,
		.mtime_sec = file->mtime.tv_sec,
		.mtime_nsec = (uint32_t)file->mtime.tv_nsec,
		.atime_sec = atime.tv_sec,
		.atime_nsec = (uint32_t)atime.tv_nsec,
		.kind = (uint8_t)f->kind,
		.verdict = manifest_verdict(f),
		.renderer = READABLE_REVISION,
		.readable_size = f->readable_size,
	};
	pthread_mutex_unlock(&node->lock);
}

/* All that is published with the content. `xattrs` owns what `p` points to. */
static int fill(struct node *node, const struct findings *f,
		struct publication *p, struct writer *xattrs)
{
	int err = file_xattrs(node, xattrs);

	fill_meta(node, f, &p->meta);
	p->names = (const char *const *)f->names.names;
	p->name_count = f->names.count;
	p->xattrs = (struct xattrs){ xattrs->bytes, xattrs->size };
	return err;
}

static int publish_scratch(struct mount *m, struct scratch *content,
			   struct publication *p, struct version **out)
{
	int err = scratch_size(content, &p->meta.size);
	int fd;

	if (err)
		return err;
	fd = scratch_begin(content);
	if (fd < 0 && fd != -ENODATA)
		return fd;
	p->content = fd < 0 ? -1 : fd;
	err = store_publish(m->store, p, out);
	if (fd >= 0)
		scratch_end(content);
	return err;
}

/* Of a version that was deleted, and its packs collected, meanwhile. */
static int publish_copy(struct mount *m, struct version *v,
			struct publication *p, struct version **out)
{
	struct scratch *copy = NULL;
	int err = scratch_copy(&m->scratches, v, &copy);

	if (err)
		return err;
	err = publish_scratch(m, copy, p, out);
	scratch_free(copy);
	return err;
}

/* The work when there is some, else the published content again. */
static int give_to_store(struct mount *m, struct node *node,
			 struct publication *p, struct version **out)
{
	struct version *v = file_version(node);
	int err;

	if (node->file.work) {
		err = publish_scratch(m, node->file.work, p, out);
	} else if (!v) {
		p->content = -1;
		err = store_publish(m->store, p, out);
	} else {
		err = store_republish(m->store, v, p, out);
		if (err == -ESTALE)
			err = publish_copy(m, v, p, out);
	}
	version_put(v);
	return err;
}

/* After the name shows the new version. */
static void settle(struct mount *m, struct node *node, struct version *v)
{
	file_published(node, v);
	file_set_publishing(m, node, false);
	hides_take(m, node->parent, node->name);
	use_note(m, node->parent);
	if (node->kind == NODE_PRIVATE) {
		insider_add(m, node->parent, &node->file.owner, SEES_ALL);
		private_end(m, node);
	}
	if (artifact_kind_of(node->name) == ARTIFACT_COMPILED_MODULE)
		rendering_published(m, node->parent);
}

/* Its directory was evicted meanwhile, which is no reason to lose it. */
static int publish_again(struct mount *m, struct node *node,
			 struct publication *p, struct version **out)
{
	AUTO_CLOSE int dir = use_make_again(m, node->parent);

	if (dir < 0)
		return dir;
	p->dir = dir;
	return give_to_store(m, node, p, out);
}

/* A file that was just made shows an empty version: no loss. */
static bool has_content(struct node *node)
{
	struct version *v = file_version(node);
	bool has = v && version_meta(v)->size;

	version_put(v);
	return has;
}

/*
 * Whether others have taken the directory away: an evictor, or, when it was not
 * open, whoever it was. What this mount's users removed is gone.
 */
static bool is_lost(struct mount *m, struct node *directory, int fd)
{
	return fd < 0 ? tree_is_attached(&m->tree, directory)
		      : evicted_has(m->store, fd);
}

static int publish(struct mount *m, struct node *node, struct findings *f,
		   bool durable)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, node->parent);
	struct publication p = {
		.dir = dir.fd,
		.name = node->name,
		.durable = durable || f->kind != ARTIFACT_NONE,
		.keeps = has_content(node),
	};
	struct writer xattrs = writer_upto(XATTRS_MAX);
	struct version *v = NULL;
	int err = fill(node, f, &p, &xattrs);

	if (!err && dir.fd < 0 && dir.fd != -ESTALE)
		err = dir.fd;
	if (err) {
		writer_free(&xattrs);
		return err;
	}
	file_set_publishing(m, node, true);
	err = dir.fd < 0 ? -ENOENT : give_to_store(m, node, &p, &v);
	if (err == -ENOENT && is_lost(m, node->parent, dir.fd))
		err = publish_again(m, node, &p, &v);
	writer_free(&xattrs);
	if (err) {
		file_set_publishing(m, node, false);
		return err;
	}
	settle(m, node, v);
	version_put(v);
	return 0;
}

/* All bytes that a node has now, as memory. */
struct bytes {
	struct scratch *copy; /* when they had to be fetched */
	struct scratch_view view;
};

static int bytes_get(struct mount *m, struct node *node, struct bytes *b)
{
	struct version *v = file_version(node);
	struct scratch *work = node->file.work;
	int err = 0;

	*b = (struct bytes){ .view = { "", 0 } };
	if (!work && v)
		err = scratch_copy(&m->scratches, v, &b->copy);
	version_put(v);
	if (err || (!work && !b->copy))
		return err;
	err = scratch_map(work ? work : b->copy, &b->view);
	if (err)
		scratch_free(b->copy);
	return err;
}

static void bytes_put(struct bytes *b)
{
	scratch_unmap(&b->view);
	scratch_free(b->copy);
}

/* Notes that it stays private, and why that will be said when it is dropped. */
static void withhold(struct node *node, bool unsound, const char *why)
{
	pthread_mutex_lock(&node->lock);
	node->file.dirty = false;
	node->file.withheld = true;
	node->file.unsound = unsound;
	snprintf(node->file.why, sizeof(node->file.why), "%s", why);
	pthread_mutex_unlock(&node->lock);
}

static void keep_unsound(struct mount *m, struct node *node,
			 const struct verdict *verdict)
{
	char why[sizeof(node->file.why)];

	if (!file_is_empty(node)) /* graph engines make an empty .idx first */
		store_count(m->store, COUNTER_UNSOUND, 1);
	snprintf(why, sizeof(why), "%s (at byte %zu)", verdict->reason,
		 verdict->where);
	withhold(node, true, why);
}

/* For a service that is to start with a full store, too. */
static void keep_unstored(struct mount *m, struct node *node, int err)
{
	char path[TROUBLE_PATH_MAX];

	store_count(m->store, COUNTER_DROPPED, 1);
	log_event(m->log, LOG_LEVEL_WARNING,
		  "not published \"%s\", but kept in this mount: %s",
		  trouble_path(m, node, NULL, path), strerror(-err));
	withhold(node, false, "the store was full");
}

/* The writer of a readable.py is content when it says what is shown anyway. */
static int settle_claim(struct mount *m, struct node *node,
			const struct scratch_view *view)
{
	int err = rendering_accept(m, node->parent, view);

	if (!err)
		commit_abandon(m, node, NULL);
	else if (err == -EROFS)
		private_end(m, node); /* its close may not be the last */
	return err;
}

static bool claims_rendering(const struct node *node)
{
	return node->kind == NODE_PRIVATE && rendering_is_name(node->name);
}

/* Of what is not judged the bytes are not needed, of which holes take none. */
static int bytes_to_judge(struct mount *m, struct node *node, struct bytes *b)
{
	*b = (struct bytes){ .view = { "", 0 } };
	if (artifact_kind_of(node->name) == ARTIFACT_NONE &&
	    !claims_rendering(node))
		return 0;
	return bytes_get(m, node, b);
}

static int commit_content(struct mount *m, struct node *node, bool durable)
{
	struct findings f = { 0 };
	struct bytes b;
	int err = bytes_to_judge(m, node, &b);

	if (err)
		return err;
	if (claims_rendering(node))
		err = settle_claim(m, node, &b.view);
	else
		err = -ENOENT;
	if (err == -ENOENT) {
		err = examine(m, node->parent, node->name, &b.view, &f);
		if (!err && f.verdict.soundness == UNSOUND)
			keep_unsound(m, node, &f.verdict);
		else if (!err)
			err = publish(m, node, &f, durable);
		index_names_free(&f.names);
	}
	bytes_put(&b);
	return err;
}

int commit_locked(struct mount *m, struct node *node, bool durable)
{
	char path[TROUBLE_PATH_MAX];
	int err;

	if (!file_is_dirty(node) || file_is_abandoned(m, node))
		return 0;
	err = commit_content(m, node, durable);
	if (err && store_is_removed(m->store)) /* nothing that its user did */
		return trouble_tell(m, "publish", node, NULL, -ENOENT);
	if (err == -ENOENT) {
		commit_abandon(m, node, NULL);
		log_event(m->log, LOG_LEVEL_INFO,
			  "not published \"%s\": its directory was removed",
			  trouble_path(m, node, NULL, path));
		return 0;
	}
	if (mount_drops(m, err)) {
		keep_unstored(m, node, err);
		return durable ? err : 0; /* fsync(2) promises more */
	}
	if (err && (err != -EROFS || !rendering_is_name(node->name)))
		log_event(m->log, LOG_LEVEL_ERROR, "cannot publish \"%s\": %s",
			  trouble_path(m, node, NULL, path), strerror(-err));
	return err;
}

int commit_unopened(struct mount *m, struct node *node)
{
	bool opened;
	int err;

	pthread_mutex_lock(&node->lock);
	opened = node->file.writers > 0;
	pthread_mutex_unlock(&node->lock);
	if (opened)
		return 0;
	err = commit_locked(m, node, false);
	if (!err && node->kind == NODE_FILE)
		file_drop_work(node);
	return err;
}

int commit(struct mount *m, struct node *node, bool durable)
{
	int err;

	pthread_rwlock_wrlock(&node->writing);
	err = commit_locked(m, node, durable);
	pthread_rwlock_unlock(&node->writing);
	return err;
}

int commit_to_disk(struct mount *m, struct node *node)
{
	int err;

	if (m->read_only)
		return 0;
	pthread_rwlock_wrlock(&node->writing);
	if (file_is_dirty(node))
		err = commit_locked(m, node, true);
	else /* a close has published it, which is not on disk by itself */
		err = syncfs(store_root(m->store)) < 0 ? -errno : 0;
	pthread_rwlock_unlock(&node->writing);
	return err;
}

int commit_as(struct mount *m, struct node *node, struct node *directory,
	      const char *name, bool exclusive, struct version **out)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);
	struct publication p = { .dir = dir.fd,
				 .name = name,
				 .exclusive = exclusive,
				 .durable = true };
	struct writer xattrs = writer_upto(XATTRS_MAX);
	struct findings f = { 0 };
	char path[TROUBLE_PATH_MAX];
	struct bytes b;
	int err = dir.fd < 0 ? dir.fd : bytes_get(m, node, &b);

	if (err)
		return err;
	err = examine(m, directory, name, &b.view, &f);
	if (!err && f.verdict.soundness == UNSOUND) {
		store_count(m->store, COUNTER_UNSOUND, 1);
		log_event(m->log, LOG_LEVEL_WARNING,
			  "not renamed to \"%s\": %s (at byte %zu)",
			  trouble_path(m, directory, name, path),
			  f.verdict.reason, f.verdict.where);
		err = -EINVAL;
	}
	if (!err) {
		err = fill(node, &f, &p, &xattrs);
		if (!err)
			err = give_to_store(m, node, &p, out);
		writer_free(&xattrs);
	}
	index_names_free(&f.names);
	bytes_put(&b);
	return err;
}

static bool is_withheld(struct node *node)
{
	bool withheld;

	pthread_mutex_lock(&node->lock);
	withheld = node->file.withheld;
	pthread_mutex_unlock(&node->lock);
	return withheld;
}

void commit_abandon(struct mount *m, struct node *node, const char *why)
{
	char path[TROUBLE_PATH_MAX];

	tree_lock(&m->tree);
	node->file.abandoned = true;
	if (node->kind == NODE_PRIVATE)
		tree_detach(&m->tree, node);
	tree_unlock(&m->tree);
	if (!why)
		return;
	if (!is_withheld(node)) /* that was counted as such */
		store_count(m->store, COUNTER_DROPPED, 1);
	log_event(m->log, LOG_LEVEL_WARNING, "not published \"%s\": %s",
		  trouble_path(m, node, NULL, path), why);
}

void commit_rest(struct mount *m)
{
	for (struct node *node = m->tree.newest; node; node = node->older)
		if (node->kind == NODE_FILE)
			commit(m, node, true);
}
