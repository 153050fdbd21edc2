/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/version.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/clock.h"
#include "fs/store/manifest_file.h"
#include "fs/store/quarantine.h"
#include "fs/store/state.h"
#include "fs/store/version_state.h"

/* Names take more memory than bytes in the manifest. */
enum { ARENA_SPARE = 64 * MANIFEST_NAMES_MAX - 32 * 1024 };

struct version *version_get(struct version *v)
{
	atomic_fetch_add_explicit(&v->users, 1, memory_order_relaxed);
	return v;
}

/* A version with the parts of it that change. */
struct whole_version {
	struct version v; /* first: it is freed by that */
	struct version_file file;
	struct version_check check;
};

static struct version *version_new(struct store *store, size_t limit)
{
	struct whole_version *whole = calloc(1, sizeof(*whole));

	if (!whole)
		return NULL;
	atomic_init(&whole->v.users, 1);
	whole->v.store = store;
	whole->v.arena = arena_upto(limit);
	whole->v.file = &whole->file;
	whole->v.check = &whole->check;
	pthread_mutex_init(&whole->file.lock, NULL);
	pthread_mutex_init(&whole->check.lock, NULL);
	return &whole->v;
}

static void version_free(struct version *v)
{
	pthread_mutex_destroy(&v->file->lock);
	pthread_mutex_destroy(&v->check->lock);
	free(v->check->proof);
	arena_free(&v->arena);
	free(v);
}

void version_put(struct version *v)
{
	if (v && atomic_fetch_sub(&v->users, 1) == 1)
		version_free(v);
}

static int fill(struct version *v, const void *bytes, size_t size,
		const char **why)
{
	void *copy = arena_alloc(&v->arena, size);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, bytes, size);
	v->bytes = copy;
	v->size = size;
	return manifest_parse(copy, size, &v->arena, &v->manifest, why);
}

int version_parse(struct store *store, const void *bytes, size_t size,
		  struct version **out, const char **why)
{
	struct version *v = version_new(store, 4 * size + ARENA_SPARE);
	int err;

	*why = "out of memory";
	if (!v)
		return -ENOMEM;
	err = fill(v, bytes, size, why);
	if (err) {
		version_free(v);
		return err;
	}
	*out = v;
	return 0;
}

void version_identify(const struct version *v, const struct stat *st)
{
	struct version_file *file = v->file;

	pthread_mutex_lock(&file->lock);
	file->identity = identity_of(st);
	file->settled = identity_settled(v->store, &file->identity);
	pthread_mutex_unlock(&file->lock);
}

static struct file_identity identity_now(const struct version *v, bool *settled)
{
	struct file_identity identity;

	pthread_mutex_lock(&v->file->lock);
	identity = v->file->identity;
	*settled = v->file->settled;
	pthread_mutex_unlock(&v->file->lock);
	return identity;
}

const struct manifest_meta *version_meta(const struct version *v)
{
	return &v->manifest.meta;
}

struct timespec version_changed(const struct version *v)
{
	bool settled;

	return identity_now(v, &settled).ctime;
}

const char *const *version_names(const struct version *v, size_t *count)
{
	*count = v->manifest.name_count;
	return (const char *const *)v->manifest.names;
}

struct xattrs version_xattrs(const struct version *v)
{
	return v->manifest.xattrs;
}

static void log_manifest(const struct store *store, enum log_level level,
			 const char *name, const char *what)
{
	log_event(store->log, level,
		  "the entry '%s' is not served: its manifest %s", name, what);
}

/* What cannot be served is not there. */
static int refuse(struct store *store, int dir, const char *name,
		  const struct stat *st, int err, const char *why)
{
	struct file_identity identity;

	switch (err) {
	case -EPERM:
		log_manifest(store, LOG_LEVEL_INFO, name,
			     "is not one that a trusted user answers for");
		return -ENOENT;
	case -ENOTSUP:
		log_manifest(store, LOG_LEVEL_WARNING, name,
			     "has a newer format");
		return -ENOENT;
	case -EFBIG:
		why = "it is too large for a manifest";
		break;
	case -EBADMSG:
		break;
	default:
		return err;
	}
	identity = identity_of(st);
	quarantine_file(store, dir, name, &identity, "manifest", why);
	return -ENOENT;
}

static bool is_condemned(const struct store *store, const struct stat *st)
{
	struct file_identity identity = identity_of(st);

	return condemned_has(store->condemned, &identity);
}

/*
 * In a shared store a manifest that does not name its owner was not published
 * there. Elsewhere it may have been copied, or the ids of a container differ.
 */
static bool is_its_owners(const struct store *store, const struct version *v,
			  const struct stat *st)
{
	return !store_is_shared(store) || v->manifest.meta.uid == st->st_uid;
}

int version_load(struct store *store, int dir, const char *name,
		 struct version **out)
{
	AUTO_FREE void *bytes = NULL;
	const char *why = "";
	struct version *v;
	struct stat st;
	int err = manifest_file_read(store, dir, name, &bytes, &st);

	if (!err && is_condemned(store, &st))
		return -ENOENT;
	if (!err)
		err = version_parse(store, bytes, (size_t)st.st_size, &v, &why);
	if (!err) {
		err = is_its_owners(store, v, &st)
			      ? version_check_withheld(store, v)
			      : -EPERM;
		if (err)
			version_put(v);
	}
	if (err == -ENODATA) {
		why = "it is cut short";
		err = -EBADMSG;
	}
	if (err)
		return refuse(store, dir, name, &st, err, why);
	version_identify(v, &st);
	*out = v;
	return 0;
}

/* Errors that say that there is nothing, or something else than a manifest. */
static bool is_another(int err)
{
	return err == -ENOENT || err == -EISDIR || err == -ELOOP ||
	       err == -ENXIO || err == -EPERM || err == -EFBIG ||
	       err == -ENODATA;
}

/*
 * The same inode as before, but perhaps moved, or changed in the same tick of
 * the clock, or given to another file: look what is in it.
 */
int version_look_in(const struct version *v, int dir, const char *name)
{
	AUTO_FREE void *bytes = NULL;
	struct stat st;
	int err = manifest_file_read(v->store, dir, name, &bytes, &st);

	if (err)
		return is_another(err) ? -EAGAIN : err;
	if ((size_t)st.st_size != v->size ||
	    memcmp(bytes, v->bytes, v->size) != 0)
		return -EAGAIN;
	version_identify(v, &st);
	return 0;
}

int version_look(const struct version *v, int dir, const char *name)
{
	struct file_identity known;
	struct file_identity now;
	struct stat st;
	bool settled;

	if (fd_stat_at(dir, name, &st) < 0)
		return is_another(-errno) ? -EAGAIN : -errno;
	now = identity_of(&st);
	if (condemned_has(v->store->condemned, &now))
		return -EAGAIN;
	known = identity_now(v, &settled);
	if (!identity_same_file(&now, &known) || now.size != known.size)
		return -EAGAIN;
	if (settled && identity_equal(&now, &known))
		return 0;
	return version_look_in(v, dir, name);
}

bool version_is_current(const struct version *v, int dir, const char *name)
{
	return version_look(v, dir, name) == 0;
}

static bool is_alike(const struct manifest *x, const struct manifest *y)
{
	const struct manifest_meta *a = &x->meta;
	const struct manifest_meta *b = &y->meta;

	return xattrs_equal(x->xattrs, y->xattrs) && a->ino == b->ino &&
	       a->size == b->size && a->mode == b->mode &&
	       a->mtime_sec == b->mtime_sec && a->mtime_nsec == b->mtime_nsec &&
	       a->atime_sec == b->atime_sec && a->atime_nsec == b->atime_nsec &&
	       a->uid == b->uid && a->kind == b->kind &&
	       memcmp(a->sha256, b->sha256, sizeof(a->sha256)) == 0;
}

bool version_is_shown(const struct version *v, int dir, const char *name)
{
	struct version *now;
	bool alike;

	if (version_is_current(v, dir, name))
		return true;
	if (version_load(v->store, dir, name, &now))
		return false;
	alike = is_alike(&v->manifest, &now->manifest);
	version_put(now);
	return alike;
}

bool version_same(const struct version *a, const struct version *b)
{
	struct file_identity file_a;
	struct file_identity file_b;
	bool settled;

	file_a = identity_now(a, &settled);
	file_b = identity_now(b, &settled);
	return identity_same_file(&file_a, &file_b) && a->size == b->size &&
	       memcmp(a->bytes, b->bytes, a->size) == 0;
}

int version_quarantine(struct store *store, const struct version *v, int dir,
		       const char *name, const char *reason)
{
	bool settled;
	struct file_identity identity = identity_now(v, &settled);

	return quarantine_file(store, dir, name, &identity, "manifest", reason);
}
