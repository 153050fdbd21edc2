/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct digest pack_id = { { 1, 2, 3 } };
static const struct digest other_id = { { 4, 5, 6 } };
static const uint8_t content[] = "tiny content";

void sample_fill(uint8_t *bytes, size_t size, uint32_t seed)
{
	for (size_t i = 0; i < size; i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(seed >> 24);
	}
}

static struct block_id id_of(const uint8_t raw[SAMPLE_BLOCK_SIZE])
{
	return block_id_of(raw, SAMPLE_BLOCK_SIZE, SAMPLE_SEED);
}

/* Blocks 2 and 3 are like what they refer to, but for a byte. */
static void make_content(struct sample_pack *p)
{
	sample_fill(p->raw[0], SAMPLE_BLOCK_SIZE, 1);
	memset(p->raw[1], 'b', SAMPLE_BLOCK_SIZE);
	sample_fill(p->foreign, SAMPLE_BLOCK_SIZE, 2);
	memcpy(p->raw[2], p->raw[0], SAMPLE_BLOCK_SIZE);
	memcpy(p->raw[3], p->foreign, SAMPLE_BLOCK_SIZE);
	p->raw[2][300] ^= 0xff;
	p->raw[3][300] ^= 0xff;
	p->references[0] = (struct pack_reference){
		.id = id_of(p->raw[0]),
		.number = 0,
	};
	p->references[1] = (struct pack_reference){
		.id = id_of(p->foreign),
		.pack = other_id,
		.number = 77,
	};
}

static struct block_reference reference_of(const struct sample_pack *p,
					   size_t block)
{
	if (block == 2)
		return (struct block_reference){ p->raw[0], SAMPLE_BLOCK_SIZE };
	if (block == 3)
		return (struct block_reference){ p->foreign,
						 SAMPLE_BLOCK_SIZE };
	return (struct block_reference){ NULL, 0 };
}

static void put_block(struct sample_pack *p, size_t i)
{
	struct pack_block *block = &p->blocks[i];
	uint8_t stored[BLOCK_MAX];
	size_t size = 0;

	if (block_encode(p->raw[i], SAMPLE_BLOCK_SIZE, BLOCK_SMALL,
			 reference_of(p, i), stored, &size, &block->encoding))
		abort();
	block->id = id_of(p->raw[i]);
	block->offset = p->file.size;
	block->stored_size = (uint32_t)size;
	block->stored_check = check_of(stored, size, 0);
	block->reference = i < 2 ? PACK_NO_REFERENCE : (int64_t)i - 2;
	writer_put(&p->file, stored, size);
}

void sample_pack_make(struct sample_pack *p)
{
	*p = (struct sample_pack){ .file = writer_upto(1 << 20) };
	make_content(p);
	p->table = (struct pack_table){
		.id = pack_id,
		.blocks = p->blocks,
		.block_count = SAMPLE_BLOCKS,
		.references = p->references,
		.reference_count = SAMPLE_REFERENCES,
	};
	pack_write_header(&pack_id, &p->file);
	for (size_t i = 0; i < SAMPLE_BLOCKS; i++)
		put_block(p, i);
	p->table_offset = p->file.size;
	if (pack_write_end(&p->table, p->table_offset, &p->file))
		abort();
}

void sample_pack_free(struct sample_pack *p)
{
	writer_free(&p->file);
}

int sample_pack_parse(const uint8_t *file, size_t size, struct arena *arena,
		      struct pack_table *table)
{
	struct pack_trailer trailer;
	struct digest id;
	int err;

	if (size < PACK_HEADER_SIZE + PACK_TRAILER_SIZE)
		return -EBADMSG;
	err = pack_parse_header(file, &id);
	if (!err)
		err = pack_parse_trailer(file + size - PACK_TRAILER_SIZE, size,
					 &trailer);
	if (!err && !digest_equal(&id, &trailer.id))
		err = -EBADMSG;
	if (!err)
		err = pack_parse_table(file + trailer.table_offset, &trailer,
				       arena, table);
	return err;
}

static struct manifest_meta sample_meta(uint64_t size)
{
	return (struct manifest_meta){
		.ino = 4711,
		.size = size,
		.mode = 0600,
		.mtime_sec = -1,
		.mtime_nsec = 999999999,
		.uid = 1000,
		.gid = 100,
		.kind = 1,
		.verdict = VERDICT_FOREIGN,
		.renderer = 3,
		.readable_size = 123456,
		.digest = digest_of("the file", 8),
		.sha256 = "sha256 of 32 bytes, all of them",
		.stored = size,
		.atime_sec = -1,
		.atime_nsec = 999999999,
	};
}

void sample_manifest_blocks(struct sample_manifest *s)
{
	static const uint32_t sizes[] = { 4096, 65536, 1 };
	uint64_t start = 0;

	*s = (struct sample_manifest){
		.packs = { pack_id, other_id },
		.names = { "model.om", "weights of \xe2\x88\x9e" },
	};
	for (uint32_t i = 0; i < 3; i++) {
		s->blocks[i] = (struct manifest_block){
			.id = { .digest =
					digest_of(&sizes[i], sizeof(sizes[i])),
				.check = i + 1,
				.size = sizes[i] },
			.pack = i % 2,
			.number = 40 + i,
			.start = start,
		};
		start += sizes[i];
	}
	s->m = (struct manifest){
		.meta = sample_meta(start),
		.packs = s->packs,
		.pack_count = 2,
		.blocks = s->blocks,
		.block_count = 3,
		.names = s->names,
		.name_count = 2,
	};
	s->m.meta.stored = 12345;
	s->m.meta.atime_sec = -2;
	s->m.meta.atime_nsec = 1;
}

void sample_manifest_xattrs(struct sample_manifest *s)
{
	static const uint8_t xattrs[] = SAMPLE_XATTRS;

	sample_manifest_blocks(s);
	s->m.xattrs = (struct xattrs){ xattrs, sizeof(xattrs) };
}

void sample_manifest_inline(struct sample_manifest *s)
{
	*s = (struct sample_manifest){ .m = { .meta = sample_meta(
						      sizeof(content)),
					      .content = content } };
}
