/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/writer.h"
#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/clock.h"
#include "fs/store/content.h"
#include "fs/store/durable.h"
#include "fs/store/evicted.h"
#include "fs/store/exchange.h"
#include "fs/store/pack_file.h"
#include "fs/store/publish_manifest.h"
#include "fs/store/state.h"
#include "fs/store/tally.h"
#include "fs/store/version_state.h"

static void set_publisher(const struct store *store, struct manifest_meta *meta)
{
	meta->uid = store->uid;
	meta->gid = getegid();
}

/*
 * The manifest as a draft, and the version that it will be. The draft has a
 * name in intents/, so from here on no collector takes what it needs.
 */
static int draft_manifest(struct store *store, const struct manifest *m,
			  struct fd_draft *draft, struct version **version)
{
	struct writer text = writer_upto(MANIFEST_MAX);
	struct version *v = NULL;
	const char *why;
	int err = manifest_write(m, &text);

	if (!err)
		err = version_parse(store, text.bytes, text.size, &v, &why);
	if (!err)
		err = fd_draft_open(store->intents, store->file_mode, draft);
	if (!err)
		err = fd_write_at(draft->fd, text.bytes, text.size, 0);
	if (!err && m->pack_count)
		err = fd_draft_name(draft);
	writer_free(&text);
	if (err) {
		version_put(v);
		return err;
	}
	*version = v;
	return 0;
}

static int sync_pack(struct store *store, const struct digest *id)
{
	struct pack *pack;
	int err = pack_pool_get(store, id, false, &pack);

	if (err)
		return err;
	err = durable_data(store, pack->fd);
	pack_pool_put(store, pack);
	return err ? err : pack_name_durable(store, id);
}

/* The packs that are reused may be another's, and not on disk yet. */
static int sync_reused(struct store *store, const struct content *content)
{
	for (size_t i = 0; i < content->pack_count; i++) {
		int err = 0;

		if (content->packs[i].reused)
			err = sync_pack(store, &content->packs[i].id);
		/* content_is_there() will tell what is missing. */
		if (err && err != -ENOENT)
			return err;
	}
	return 0;
}

/* All data on disk, as far as that is needed before there are names. */
static int sync_data(struct store *store, const struct content *content,
		     const struct fd_draft *manifest)
{
	const struct pack_draft *draft;
	int err = 0;

	durable_start(manifest->fd);
	for (draft = content->drafts; draft; draft = draft->next)
		durable_start(draft->file.fd);
	for (draft = content->drafts; !err && draft; draft = draft->next)
		err = durable_data(store, draft->file.fd);
	if (!err)
		err = sync_reused(store, content);
	return err ? err : durable_data(store, manifest->fd);
}

static int place_packs(struct store *store, const struct content *content,
		       bool durable)
{
	struct pack_draft *draft;

	for (draft = content->drafts; draft; draft = draft->next) {
		int err = pack_draft_place(store, draft, durable);

		if (err)
			return err;
		/* Without memory the index finds it at the next scan. */
		(void)block_index_add(&store->index, &draft->table);
	}
	return 0;
}

static int name_manifest(struct store *store, const struct publication *p,
			 struct fd_draft *draft)
{
	int err = 0;

	store_names_lock(store);
	if (p->replaces)
		err = exchange_expected(p->replaces, p->dir, p->name, draft);
	else if (p->exclusive)
		err = exchange_hidden(store, p->dir, p->name, draft);
	else
		err = fd_draft_replace(draft, p->dir, p->name);
	store_names_unlock(store);
	/* Another host has removed the directory. */
	return err == -ESTALE ? -ENOENT : err;
}

static int place_manifest(struct store *store, const struct publication *p,
			  struct fd_draft *draft)
{
	int err = name_manifest(store, p, draft);

	if (!err && p->durable)
		err = durable_path(store, p->dir);
	if (!err && p->durable)
		err = durable_commit(draft->fd);
	return err;
}

/* Data, then packs, then the manifest. */
static int place(struct store *store, const struct publication *p,
		 const struct content *content, struct fd_draft *manifest)
{
	bool ordered = p->durable || p->keeps;
	int err = ordered ? sync_data(store, content, manifest) : 0;

	if (!err)
		err = place_packs(store, content, ordered);
	return err ? err : place_manifest(store, p, manifest);
}

/* Whether a collector took the publication for one that was given up. */
static bool is_expired(const struct fd_draft *draft)
{
	struct stat st;

	return draft->fd >= 0 && draft->name[0] &&
	       fd_stat(draft->fd, &st) == 0 && !st.st_nlink;
}

/* What placing it adds to the store. */
static uint64_t bytes_of(const struct content *content)
{
	uint64_t bytes = 0;
	struct stat st;

	for (const struct pack_draft *draft = content->drafts; draft;
	     draft = draft->next)
		if (fd_stat(draft->file.fd, &st) == 0)
			bytes += (uint64_t)st.st_size;
	return bytes;
}

/* The manifest has its name in intents/, so no evictor takes what it needs. */
static int place_with_room(struct store *store, const struct publication *p,
			   const struct content *content,
			   struct fd_draft *manifest, uint64_t size)
{
	uint64_t bytes = bytes_of(content) + size;
	int err = p->by_collector ? 0 : room_take(store, bytes);

	if (err)
		return err;
	if (!content_is_there(store, content, false))
		err = -ESTALE;
	if (!err)
		err = place(store, p, content, manifest);
	if (!p->by_collector)
		room_give(store, bytes, err ? 0 : size);
	return err;
}

int publish_manifest(struct store *store, const struct publication *p,
		     const struct content *content, const struct manifest *m,
		     struct version **out)
{
	struct fd_draft draft = { .fd = -1 };
	struct version *version = NULL;
	struct stat st;
	int err = draft_manifest(store, m, &draft, &version);

	if (!err)
		err = place_with_room(store, p, content, &draft, version->size);
	if (err == -ENOENT && is_expired(&draft))
		err = -ESTALE;
	if (!err && evicted_has(store, p->dir))
		err = -ENOENT; /* an evictor has taken the directory */
	if (!err && fd_stat(draft.fd, &st) < 0)
		err = -errno;
	fd_draft_close(&draft);
	if (err) {
		version_put(version);
		return err;
	}
	clock_saw(store, &st.st_ctim);
	version_identify(version, &st);
	*out = version;
	return 0;
}

static struct manifest manifest_of(const struct publication *p,
				   const struct content *content,
				   struct digest *packs)
{
	struct manifest m = {
		.meta = p->meta,
		.packs = packs,
		.pack_count = content->pack_count,
		.blocks = content->blocks,
		.block_count = content->block_count,
		.names = (const char **)(uintptr_t)p->names,
		.name_count = p->name_count,
		.xattrs = p->xattrs,
	};

	m.meta.stored = content->stored;
	m.meta.digest = content->digest;
	for (size_t i = 0; i < SHA256_SIZE; i++)
		m.meta.sha256[i] = content->sha256[i];
	for (size_t i = 0; i < content->pack_count; i++)
		packs[i] = content->packs[i].id;
	return m;
}

static int publish_content(struct store *store, const struct publication *p,
			   const struct content *content, struct version **out)
{
	AUTO_FREE struct digest *packs =
		calloc(content->pack_count + 1, sizeof(*packs));
	struct manifest m;

	if (!packs)
		return -ENOMEM;
	m = manifest_of(p, content, packs);
	set_publisher(store, &m.meta);
	return publish_manifest(store, p, content, &m, out);
}

/* Tiny content lies in the manifest. */
static int publish_inline(struct store *store, const struct publication *p,
			  struct version **out)
{
	struct manifest m = {
		.meta = p->meta,
		.names = (const char **)(uintptr_t)p->names,
		.name_count = p->name_count,
		.xattrs = p->xattrs,
	};
	const struct content none = { .block_count = 0 };
	uint8_t bytes[MANIFEST_INLINE_MAX];
	struct file_hash *hash;
	int err = fd_read_at(p->content, bytes, (size_t)p->meta.size, 0);

	if (err)
		return err;
	hash = file_hash_new();
	if (!hash)
		return -ENOMEM;
	file_hash_add(hash, bytes, (size_t)p->meta.size);
	file_hash_end(hash, &m.meta.digest, m.meta.sha256);
	file_hash_free(hash);
	m.content = bytes;
	m.meta.stored = p->meta.size;
	set_publisher(store, &m.meta);
	return publish_manifest(store, p, &none, &m, out);
}

/*
 * Once. -ESTALE when a pack that was to be reused went away meanwhile, and
 * nothing is placed. `lost` tells that it went away later, after hours in which
 * this process was stopped: then *out is placed, but cannot be read.
 */
static int publish_once(struct store *store, const struct publication *p,
			bool reuse, struct version **out, bool *lost)
{
	struct content content;
	int err =
		content_store(store, p->content, p->meta.size, reuse, &content);

	if (!err)
		err = publish_content(store, p, &content, out);
	if (!err)
		*lost = !content_is_there(store, &content, true);
	if (!err && !*lost)
		tally_blocks(store, &content, p->meta.size);
	content_free(&content);
	return err;
}

static int publish_blocks(struct store *store, const struct publication *p,
			  struct version **out)
{
	struct publication again = *p;
	struct version *first = NULL;
	bool lost = false;
	int err = publish_once(store, p, true, &first, &lost);

	if (err == -ESTALE)
		err = publish_once(store, p, false, &first, &lost);
	if (err)
		return err;
	if (!lost) {
		*out = first;
		return 0;
	}
	again.exclusive = false;
	again.replaces = first;
	err = publish_once(store, &again, false, out, &lost);
	if (err == -EAGAIN) { /* somebody has taken the name since */
		*out = first;
		return 0;
	}
	version_put(first);
	return err;
}

static int publish_any(struct store *store, const struct publication *p,
		       struct version **out)
{
	if (p->meta.size <= MANIFEST_INLINE_MAX)
		return publish_inline(store, p, out);
	return publish_blocks(store, p, out);
}

/* That room could not be made was told already. */
static int told(int err)
{
	return err == -ENOBUFS ? -ENOSPC : err;
}

int store_publish(struct store *store, const struct publication *p,
		  struct version **out)
{
	int err;

	atomic_fetch_add(&store->publications, 1);
	err = publish_any(store, p, out);
	if ((err == -ENOSPC || err == -EDQUOT) &&
	    store_make_room(store, err, p->meta.size) == 0)
		err = publish_any(store, p, out);
	/* Without descriptors nothing has got a name yet. */
	if (err == -EMFILE || err == -ENFILE) {
		pack_pool_shrink(&store->pool);
		err = publish_any(store, p, out);
	}
	if (!err)
		tally_published(store, p);
	return told(err);
}

static int settle_version(struct store *store, const struct version *v, int fd)
{
	const struct manifest *m = &v->manifest;

	for (size_t i = 0; i < m->pack_count; i++) {
		int err = sync_pack(store, &m->packs[i]);

		if (err && err != -ENOENT)
			return err;
	}
	return durable_data(store, fd);
}

int store_settle(struct store *store, int dir, const char *name)
{
	AUTO_CLOSE int fd =
		fd_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct version *v;
	int err = version_load(store, dir, name, &v);

	if (err)
		return err == -ENOENT ? 0 : err;
	if (fd >= 0)
		err = settle_version(store, v, fd);
	version_put(v);
	return err;
}

/* The packs of a version, as of content that shares all of its blocks. */
static int reuse_packs(struct store *store, const struct version *v,
		       struct content *content)
{
	const struct manifest *m = &v->manifest;

	content->packs = calloc(m->pack_count + 1, sizeof(*content->packs));
	if (!content->packs)
		return -ENOMEM;
	for (size_t i = 0; i < m->pack_count; i++) {
		struct pack *pack;
		int err = pack_pool_get(store, &m->packs[i], true, &pack);

		if (err)
			return err == -ENOENT ? -ESTALE : err;
		content->packs[content->pack_count++] = (struct content_pack){
			.id = m->packs[i],
			.identity = pack->identity,
			.reused = true,
		};
		pack_pool_put(store, pack);
	}
	return 0;
}

/* What is replaced is needed until then, and has the same packs. */
int store_republish(struct store *store, struct version *old,
		    const struct publication *p, struct version **out)
{
	struct content content = { .block_count = 0 };
	struct manifest m = old->manifest;
	int err = p->replaces ? 0 : reuse_packs(store, old, &content);

	m.meta = p->meta;
	m.meta.size = old->manifest.meta.size;
	m.meta.stored = old->manifest.meta.stored;
	m.meta.digest = old->manifest.meta.digest;
	for (size_t i = 0; i < SHA256_SIZE; i++)
		m.meta.sha256[i] = old->manifest.meta.sha256[i];
	m.names = (const char **)(uintptr_t)p->names;
	m.name_count = p->name_count;
	m.xattrs = p->xattrs;
	set_publisher(store, &m.meta);
	if (!err)
		err = publish_manifest(store, p, &content, &m, out);
	content_free(&content);
	if (!err && !p->replaces) /* else only attributes change */
		tally_named(store, p);
	return told(err);
}
