/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_CODEC_PACK_H
#define TACFS_CODEC_PACK_H

/*
 * A pack holds the new blocks of one publication: a header, the stored blocks
 * one after the other, a table that says how each is to be decoded, and a
 * trailer that says where the table is. docs/format.md, "Packs".
 */

#include <stddef.h>
#include <stdint.h>

#include "codec/arena.h"
#include "codec/block.h"
#include "codec/writer.h"

enum {
	PACK_VERSION = 1,
	PACK_HEADER_SIZE = 64, /* where the first stored block begins */
	PACK_TRAILER_SIZE = 96,
	PACK_TABLE_MAX = 256 * 1024 * 1024,
	PACK_NO_REFERENCE = -1
};

/* Where the reference of a BLOCK_LZ4_REFERENCE block is. */
struct pack_reference {
	struct block_id id;
	struct digest pack; /* a pack's id; all zero for this pack */
	uint32_t number;    /* of the block in that pack; a hint in another */
};

struct pack_block {
	struct block_id id;
	uint64_t offset;       /* of the stored bytes, in the file */
	uint64_t stored_check; /* check_of() the stored bytes, seed 0 */
	uint32_t stored_size;  /* 1 to BLOCK_MAX */
	enum block_encoding encoding;
	int64_t reference; /* index into `references`, or PACK_NO_REFERENCE */
};

struct pack_table {
	struct digest id; /* of the pack: unique in its store, not all zero */
	struct pack_block *blocks;
	size_t block_count;
	struct pack_reference *references;
	size_t reference_count;
};

/* Where the trailer says the table is. */
struct pack_trailer {
	struct digest id;
	uint64_t table_offset;
	uint64_t table_size;
	struct digest table_digest;
};

/* The PACK_HEADER_SIZE bytes that a pack begins with. */
void pack_write_header(const struct digest *id, struct writer *out);

/*
 * Reads those bytes. Returns 0; -EBADMSG when they are damaged; -ENOTSUP when
 * they are sound but newer than this reader. The caller compares *id with the
 * trailer's and with the name of the file.
 */
int pack_parse_header(const uint8_t header[PACK_HEADER_SIZE],
		      struct digest *id);

/*
 * The table and the trailer, which end the pack; table_offset is where they go.
 * -EINVAL when the table breaks a rule that pack_parse_table() checks; writer
 * errors.
 */
int pack_write_end(const struct pack_table *table, uint64_t table_offset,
		   struct writer *out);

/*
 * Reads the trailer from the last PACK_TRAILER_SIZE bytes of a file of
 * `file_size` bytes. Returns 0; -EBADMSG when it is damaged or disagrees with
 * file_size; -ENOTSUP when it is sound but newer than this reader.
 */
int pack_parse_trailer(const uint8_t trailer[PACK_TRAILER_SIZE],
		       uint64_t file_size, struct pack_trailer *out);

/*
 * Reads the table, trailer->table_size bytes; the arena will own the result.
 * The stored blocks follow one another from the header to the table without a
 * gap, every size is below its limit, every reference index is valid, and no
 * block refers to a block of this table that has a reference of its own.
 * Returns 0; -EBADMSG; -ENOTSUP (an encoding unknown to this reader); -ENOMEM.
 */
int pack_parse_table(const void *bytes, const struct pack_trailer *trailer,
		     struct arena *arena, struct pack_table *out);

#endif
