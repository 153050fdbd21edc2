/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_PACK_DRAFT_H
#define TACFS_FS_STORE_PACK_DRAFT_H

/* A pack being written. Nobody else sees it before pack_draft_place(). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/pack.h"
#include "fs/fd.h"
#include "fs/store/store.h"

struct pack_draft {
	struct pack_draft *next; /* the owner's */
	struct fd_draft file;
	struct pack_table table;
	size_t capacity;	   /* of table.blocks */
	size_t reference_capacity; /* of table.references */
	uint64_t end;		   /* where the next stored block goes */
	uint8_t *buffer;	   /* its last bytes, not written yet */
	size_t buffered;
};

/* An empty pack with a new random id. The caller frees it. */
int pack_draft_open(const struct store *store, struct pack_draft **out);
void pack_draft_free(struct pack_draft *draft); /* NULL is fine */

/*
 * Appends a stored block; tells its number in the pack. One that needs a
 * reference is to be given it: table.blocks[number].reference.
 */
int pack_draft_add(struct pack_draft *draft, const struct block_id *id,
		   enum block_encoding encoding, const void *stored,
		   size_t stored_size, uint32_t *number);

/* Appends a reference, and tells which it is. */
int pack_draft_refer(struct pack_draft *draft,
		     const struct pack_reference *reference, int64_t *number);

/* Writes the table and the trailer: the file is complete now. */
int pack_draft_end(struct pack_draft *draft);

/* Brings a name in packs/ to disk. 0, -ENOENT, or what the system says. */
int pack_name_durable(const struct store *store, const struct digest *id);

/* Gives the pack its name in packs/; `durable` as far as durable.h says. */
int pack_draft_place(const struct store *store, struct pack_draft *draft,
		     bool durable);

#endif
