/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/pack_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/quarantine.h"
#include "fs/store/state.h"

enum { ARENA_SPARE = 4096, BITS = 8, REOPENS = 2 };

void pack_path(const struct digest *id, char path[PACK_PATH_SIZE])
{
	char text[DIGEST_TEXT_SIZE];

	digest_text(id, text);
	memcpy(path, text, 2);
	path[2] = '/';
	memcpy(path + 3, text, sizeof(text));
}

/* What else than a file of ours may be at the path is not a pack: -ENOENT. */
static int open_file(struct store *store, const char *path, struct pack *pack)
{
	struct stat st;

	pack->fd = openat(store->packs, path,
			  O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (pack->fd < 0)
		return errno == ELOOP || errno == EACCES || errno == ENOTDIR ||
				       errno == ENXIO
			       ? -ENOENT
			       : -errno;
	if (fstat(pack->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !store_vouches(store, &st))
		return -ENOENT;
	pack->identity = identity_of(&st);
	return 0;
}

static int read_ends(const struct pack *pack, const struct digest *id,
		     struct pack_trailer *trailer)
{
	uint8_t header[PACK_HEADER_SIZE];
	uint8_t bytes[PACK_TRAILER_SIZE];
	uint64_t size = (uint64_t)pack->identity.size;
	struct digest header_id;
	int err;

	if (size < PACK_HEADER_SIZE + PACK_TRAILER_SIZE)
		return -EBADMSG;
	err = fd_read_at(pack->fd, bytes, sizeof(bytes),
			 size - PACK_TRAILER_SIZE);
	if (!err)
		err = pack_parse_trailer(bytes, size, trailer);
	if (!err)
		err = fd_read_at(pack->fd, header, sizeof(header), 0);
	if (!err)
		err = pack_parse_header(header, &header_id);
	if (err)
		return err;
	if (!digest_equal(&trailer->id, id) || !digest_equal(&header_id, id))
		return -EBADMSG;
	return 0;
}

static int read_table(struct pack *pack, const struct pack_trailer *trailer)
{
	AUTO_FREE void *bytes = malloc(trailer->table_size);
	int err;

	if (!bytes)
		return -ENOMEM;
	err = fd_read_at(pack->fd, bytes, trailer->table_size,
			 trailer->table_offset);
	if (err)
		return err;
	pack->arena = arena_upto(2 * trailer->table_size + ARENA_SPARE);
	err = pack_parse_table(bytes, trailer, &pack->arena, &pack->table);
	if (err)
		return err;
	pack->verified = calloc(pack->table.block_count / BITS + 1, 1);
	return pack->verified ? 0 : -ENOMEM;
}

static int load(struct store *store, const struct digest *id, const char *path,
		struct pack *pack)
{
	struct pack_trailer trailer;
	int err = open_file(store, path, pack);

	if (!err)
		err = read_ends(pack, id, &trailer);
	if (!err)
		err = read_table(pack, &trailer);
	return err == -ENODATA ? -EBADMSG : err; /* the file became shorter */
}

static int give_up(struct store *store, const struct pack *pack,
		   const char *path, int err)
{
	if (err == -EBADMSG) {
		quarantine_file(store, store->packs, path, &pack->identity,
				"pack", "its table cannot be read");
		return -ENOENT;
	}
	if (err == -ENOTSUP) {
		log_event(store->log, LOG_LEVEL_WARNING,
			  "packs/%s has a newer format than this program knows",
			  path);
		return -ENOENT;
	}
	return err;
}

int pack_open(struct store *store, const struct digest *id, struct pack **out)
{
	char path[PACK_PATH_SIZE];
	int err = -ESTALE;

	pack_path(id, path);
	for (int i = 0; i < REOPENS && err == -ESTALE; i++) {
		struct pack *pack = calloc(1, sizeof(*pack));

		if (!pack)
			return -ENOMEM;
		pack->fd = -1;
		err = load(store, id, path, pack);
		if (!err) {
			*out = pack;
			return 0;
		}
		err = give_up(store, pack, path, err);
		pack_close(pack);
	}
	return err;
}

void pack_close(struct pack *pack)
{
	if (pack->fd >= 0)
		close(pack->fd);
	arena_free(&pack->arena);
	free(pack->verified);
	free(pack);
}

size_t pack_memory(const struct pack *pack)
{
	return sizeof(*pack) + pack->arena.used +
	       pack->table.block_count / BITS;
}

bool pack_is_current(const struct pack *pack)
{
	struct file_identity now;
	struct stat st;

	if (fstat(pack->fd, &st) < 0 || !st.st_nlink)
		return false;
	now = identity_of(&st);
	return identity_equal(&now, &pack->identity);
}

int pack_read(const struct pack *pack, const struct pack_block *block,
	      void *stored)
{
	int err =
		fd_read_at(pack->fd, stored, block->stored_size, block->offset);

	if (err)
		return err == -ENODATA ? -EBADMSG : err;
	if (check_of(stored, block->stored_size, 0) != block->stored_check)
		return -EBADMSG;
	return 0;
}

bool pack_is_verified(const struct pack *pack, size_t number)
{
	return atomic_load_explicit(&pack->verified[number / BITS],
				    memory_order_relaxed) >>
		       number % BITS &
	       1;
}

void pack_set_verified(struct pack *pack, size_t number)
{
	atomic_fetch_or_explicit(&pack->verified[number / BITS],
				 (unsigned char)(1u << number % BITS),
				 memory_order_relaxed);
}
