/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_PACK_FILE_H
#define TACFS_FS_STORE_PACK_FILE_H

/*
 * One pack of the store, opened: its descriptor and its checked table. Blocks
 * are read from it by their number in the table.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "codec/arena.h"
#include "codec/pack.h"
#include "fs/store/identity.h"
#include "fs/store/store.h"

enum { PACK_PATH_SIZE = 3 + DIGEST_TEXT_SIZE };

struct pack {
	int fd;
	struct file_identity identity; /* taken before the table was read */
	struct arena arena;	       /* owns the table */
	struct pack_table table;
	/* A bit for each block whose stored bytes were found whole. */
	atomic_uchar *verified;

	/* Of the pool, guarded by its lock. */
	unsigned users;
	bool listed;
	struct pack *chain; /* next in the bucket */
	struct pack *newer;
	struct pack *older;
};

enum pack_part { PACK_FILE, PACK_TRAILER, PACK_HEADER, PACK_ID, PACK_TABLE };

/* What pack_open_file() saw. */
struct pack_look {
	struct file_identity identity;
	enum pack_part part; /* that was looked at last */
};

/* Where a pack is below packs/: "ab/ab…". */
void pack_path(const struct digest *id, char path[PACK_PATH_SIZE]);

/*
 * Opens the pack and checks header, table and trailer. Returns 0; -ENOENT when
 * there is none that may be used: missing, not a regular file, of an owner who
 * is not trusted, of a newer format (logged), or damaged (moved to quarantine/
 * and logged); other errnos of the system.
 */
int pack_open(struct store *store, const struct digest *id, struct pack **out);
void pack_close(struct pack *pack);

/*
 * Opens the file `name` in the directory `dir` as the pack `id`. The same
 * errors, but -EBADMSG when it is damaged and -ENOTSUP when it is newer:
 * nothing is moved or logged. `look` says of what file, and which part is
 * damaged.
 */
int pack_open_file(struct store *store, int dir, const char *name,
		   const struct digest *id, struct pack **out,
		   struct pack_look *look);
/* In words: what is wrong with a pack when this is its damaged part. */
const char *pack_part_damage(enum pack_part part);

/* Bytes of memory that the pack takes. */
size_t pack_memory(const struct pack *pack);

/* Whether its file is still there as it was opened. */
bool pack_is_current(const struct pack *pack);

/*
 * Reads the stored bytes of a block (room for BLOCK_MAX) and checks them.
 * Returns 0; -EBADMSG when they are damaged or cut off; other errnos.
 */
int pack_read(const struct pack *pack, const struct pack_block *block,
	      void *stored);

bool pack_is_verified(const struct pack *pack, size_t number);
void pack_set_verified(struct pack *pack, size_t number);

#endif
