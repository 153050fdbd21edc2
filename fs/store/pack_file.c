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
#include "fs/store/clock.h"
#include "fs/store/fresh.h"
#include "fs/store/quarantine.h"
#include "fs/store/set_aside.h"
#include "fs/store/state.h"

enum { ARENA_SPARE = 4096, BITS = 8, LOOKS = 4 };

void pack_path(const struct digest *id, char path[PACK_PATH_SIZE])
{
	char text[DIGEST_TEXT_SIZE];

	digest_text(id, text);
	memcpy(path, text, 2);
	path[2] = '/';
	memcpy(path + 3, text, sizeof(text));
}

/* The file of somebody else may be closed to us; that is none. */
static int open_error(const struct store *store, int dir, const char *name,
		      int error)
{
	struct stat st;

	if (error == EACCES && fd_stat_at(dir, name, &st) == 0 &&
	    !store_vouches(store, &st))
		return -ENOENT;
	return error == ELOOP || error == ENOTDIR || error == ENXIO ? -ENOENT
								    : -error;
}

/* What else than a file of ours may be at the path is not a pack: -ENOENT. */
static int open_file(struct store *store, int dir, const char *name,
		     struct pack *pack)
{
	struct stat st;

	pack->fd = fd_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (pack->fd < 0)
		return open_error(store, dir, name, errno);
	if (fd_stat(pack->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || !store_vouches(store, &st) ||
	    clock_claim_stands(store, &st))
		return -ENOENT;
	pack->identity = identity_of(&st);
	return 0;
}

static int read_trailer(const struct pack *pack, struct pack_trailer *trailer)
{
	uint8_t bytes[PACK_TRAILER_SIZE];
	uint64_t size = (uint64_t)pack->identity.size;
	int err;

	if (size < PACK_HEADER_SIZE + PACK_TRAILER_SIZE)
		return -EBADMSG;
	err = fd_read_at(pack->fd, bytes, sizeof(bytes),
			 size - PACK_TRAILER_SIZE);
	return err ? err : pack_parse_trailer(bytes, size, trailer);
}

static int read_header(const struct pack *pack, struct digest *id)
{
	uint8_t header[PACK_HEADER_SIZE];
	int err = fd_read_at(pack->fd, header, sizeof(header), 0);

	return err ? err : pack_parse_header(header, id);
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

const char *pack_part_damage(enum pack_part part)
{
	switch (part) {
	case PACK_TRAILER:
		return "its trailer is damaged";
	case PACK_HEADER:
		return "its header is damaged";
	case PACK_ID:
		return "it is another pack than its name says";
	case PACK_TABLE:
		return "its table is damaged";
	case PACK_FILE:
		break;
	}
	return "it is damaged";
}

static int load(struct store *store, int dir, const char *name,
		const struct digest *id, struct pack *pack,
		struct pack_look *look)
{
	struct pack_trailer trailer;
	struct digest header_id;
	int err = open_file(store, dir, name, pack);

	if (err)
		return err;
	look->part = PACK_TRAILER;
	err = read_trailer(pack, &trailer);
	if (err)
		return err;
	look->part = PACK_HEADER;
	err = read_header(pack, &header_id);
	if (err)
		return err;
	look->part = PACK_ID;
	if (!digest_equal(&trailer.id, id) || !digest_equal(&header_id, id))
		return -EBADMSG;
	look->part = PACK_TABLE;
	return read_table(pack, &trailer);
}

int pack_open_file(struct store *store, int dir, const char *name,
		   const struct digest *id, struct pack **out,
		   struct pack_look *look)
{
	struct pack *pack = calloc(1, sizeof(*pack));
	int err;

	*look = (struct pack_look){ .part = PACK_FILE };
	if (!pack)
		return -ENOMEM;
	pack->fd = -1;
	err = load(store, dir, name, id, pack, look);
	if (err == -ENODATA)
		err = -EBADMSG; /* the file became shorter */
	look->identity = pack->identity;
	if (err)
		pack_close(pack);
	else
		*out = pack;
	return err;
}

static int give_up(struct store *store, const struct pack_look *look, int dir,
		   const char *name, int err)
{
	if (err == -EBADMSG) {
		quarantine_file(store, dir, name, &look->identity, "pack",
				pack_part_damage(look->part));
		return -ENOENT;
	}
	if (err == -ENOTSUP) {
		log_event(store->log, LOG_LEVEL_WARNING,
			  "pack %s has a newer format than this program knows",
			  name);
		return -ENOENT;
	}
	return err;
}

static int open_in(struct store *store, int dir, const char *name,
		   const struct digest *id, struct pack **out)
{
	struct pack_look look;
	int err = pack_open_file(store, dir, name, id, out, &look);

	return err ? give_up(store, &look, dir, name, err) : 0;
}

/* A collector may move it from one place to the other between two looks. */
int pack_open(struct store *store, const struct digest *id, struct pack **out)
{
	char path[PACK_PATH_SIZE], aside[SET_ASIDE_PATH_SIZE];
	int err = -ENOENT;

	pack_path(id, path);
	set_aside_path(id, aside);
	for (int i = 0; i < LOOKS && (err == -ENOENT || err == -ESTALE); i++) {
		if (i)
			fresh_pack(store, id);
		err = open_in(store, store->packs, path, id, out);
		if (err == -ENOENT)
			err = open_in(store, store->trash, aside, id, out);
	}
	return err; /* ESTALE that stays is no sign that it is gone */
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

	if (fd_stat(pack->fd, &st) < 0 || !st.st_nlink)
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
