/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/measure.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/manifest_file.h"
#include "fs/store/pack_file.h"
#include "fs/store/state.h"
#include "fs/store/version_state.h"

/* Directories of users begin below refs/ and its namespaces. */
enum { DEPTH_MAX = 200, BLOCK_UNIT = 512, USER_DEPTH = 2 };

/* What a file or directory below a part of the store adds to the measures. */
struct walk {
	struct store *store;
	struct store_measures *out;
	int (*file)(struct walk *walk, int dir, const char *name,
		    const struct stat *st);
	uint64_t directories;
	int depth;
};

static int walk_dir(struct walk *walk, int parent, const char *name);

static int walk_entry(struct walk *walk, int dir, const char *name)
{
	struct stat st;

	if (fd_stat_at(dir, name, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	walk->out->allocated_bytes += (uint64_t)st.st_blocks * BLOCK_UNIT;
	if (S_ISDIR(st.st_mode)) {
		if (walk->depth >= USER_DEPTH)
			walk->directories++;
		return walk_dir(walk, dir, name);
	}
	if (!S_ISREG(st.st_mode))
		return 0;
	walk->out->stored_bytes += (uint64_t)st.st_size;
	return walk->file ? walk->file(walk, dir, name, &st) : 0;
}

static int walk_stream(struct walk *walk, DIR *stream)
{
	struct dirent *entry;

	while ((entry = fd_list_next(stream))) {
		int err = walk_entry(walk, dirfd(stream), entry->d_name);

		if (err)
			return err;
	}
	return -errno;
}

static int walk_dir(struct walk *walk, int parent, const char *name)
{
	AUTO_CLOSEDIR DIR *stream = fd_list(parent, name);
	int err;

	if (!stream)
		return errno == ENOENT ? 0 : -errno;
	if (walk->depth == DEPTH_MAX)
		return -ELOOP;
	walk->depth++;
	err = walk_stream(walk, stream);
	walk->depth--;
	return err;
}

/* Errors that tell of the file, not of the system. */
static bool is_unreadable(int err)
{
	return err == -EBADMSG || err == -ENODATA || err == -ENOTSUP ||
	       err == -EPERM || err == -EFBIG;
}

static int measure_manifest(struct walk *walk, int dir, const char *name,
			    const struct stat *st)
{
	struct store_measures *out = walk->out;
	AUTO_FREE void *bytes = NULL;
	struct version *v = NULL;
	struct stat read;
	const char *why;
	int err = manifest_file_read(walk->store, dir, name, &bytes, &read);

	if (!err)
		err = version_parse(walk->store, bytes, (size_t)read.st_size,
				    &v, &why);
	if (err == -ENOENT)
		return 0;
	if (err && !is_unreadable(err))
		return err;
	out->manifest_bytes += (uint64_t)st->st_size;
	if (err) {
		out->unreadable++;
		return 0;
	}
	out->files++;
	out->file_bytes += v->manifest.meta.size;
	out->references += v->manifest.block_count;
	for (size_t i = 0; i < v->manifest.block_count; i++)
		out->referenced_bytes += v->manifest.blocks[i].id.size;
	version_put(v);
	return 0;
}

static int measure_pack(struct walk *walk, int dir, const char *name,
			const struct stat *st)
{
	struct store_measures *out = walk->out;
	struct pack *pack;
	struct digest id;
	int err;

	(void)dir;
	if (digest_from_text(name, &id))
		return 0;
	out->packs++;
	out->pack_bytes += (uint64_t)st->st_size;
	err = pack_open(walk->store, &id, &pack);
	if (err)
		return err == -ENOENT ? 0 : err;
	out->blocks += pack->table.block_count;
	for (size_t i = 0; i < pack->table.block_count; i++) {
		out->block_bytes += pack->table.blocks[i].id.size;
		out->block_stored_bytes += pack->table.blocks[i].stored_size;
	}
	pack_close(pack);
	return 0;
}

static int measure_quarantined(struct walk *walk, int dir, const char *name,
			       const struct stat *st)
{
	const char *end = strrchr(name, '.');

	(void)dir;
	(void)st;
	if (!end || strcmp(end, ".reason") != 0)
		walk->out->quarantined++;
	return 0;
}

int store_measure(struct store *store, struct store_measures *out)
{
	static const struct {
		const char *name;
		int (*file)(struct walk *walk, int dir, const char *name,
			    const struct stat *st);
	} parts[] = {
		{ "refs", measure_manifest },
		{ "packs", measure_pack },
		{ "quarantine", measure_quarantined },
		{ "FORMAT", NULL },
		{ "settings", NULL },
		{ "index", NULL },
		{ "tmp", NULL },
		{ "trash", NULL },
		{ "intents", NULL },
		{ "stats", NULL },
		{ "pins", NULL },
	};
	struct store_measures measures = { .files = 0 };

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		struct walk walk = { .store = store,
				     .out = &measures,
				     .file = parts[i].file };
		int err = walk_entry(&walk, store->root, parts[i].name);

		if (err)
			return err;
		if (parts[i].file == measure_manifest)
			measures.directories = walk.directories;
	}
	*out = measures;
	return 0;
}
