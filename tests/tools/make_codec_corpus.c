/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make_codec_corpus DIRECTORY: writes the first inputs of the fuzz targets for
 * packs, manifests and blocks to DIRECTORY/pack, /manifest and /block.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/le.h"
#include "tests/unit/reseal.h"
#include "tests/unit/samples.h"

/* A number put at an offset of a good file: `from_end` counts backwards. */
struct change {
	const char *name;
	enum { FROM_START, FROM_TABLE, FROM_END } from;
	size_t at;
	size_t size;
	uint64_t value;
};

static const struct change pack_changes[] = {
	{ "unsupported-version", FROM_START, 8, 4, 2 },
	{ "unsupported-flags", FROM_END, 84, 4, 1 },
	{ "unsupported-encoding", FROM_TABLE, 16 + 48, 1, 9 },
	{ "unsupported-reserved", FROM_TABLE, 8, 1, 1 },
	{ "bad-magic", FROM_START, 0, 1, 'X' },
	{ "bad-no-id", FROM_START, 16, 16, 0 },
	{ "bad-two-ids", FROM_START, 16, 1, 77 },
	{ "bad-table-offset", FROM_END, 64, 8, UINT64_MAX - 99 },
	{ "bad-block-count", FROM_TABLE, 0, 4, UINT32_MAX },
	{ "bad-reference-count", FROM_TABLE, 4, 4, 1 },
	{ "bad-block-offset", FROM_TABLE, 16 + 32, 8, 65 },
	{ "bad-block-size", FROM_TABLE, 16 + 40, 4, BLOCK_MAX + 1 },
	{ "bad-stored-size", FROM_TABLE, 16 + 44, 4, 0 },
	{ "bad-raw-with-reference", FROM_TABLE, 16 + 52, 4, 0 },
	{ "bad-reference-number", FROM_TABLE, 16 + 4 * 56 + 28, 4, 4 },
	{ "bad-reference-to-other-block", FROM_TABLE, 16 + 4 * 56 + 28, 4, 1 },
};

static const struct change manifest_changes[] = {
	{ "unsupported-version", FROM_START, 8, 4, 2 },
	{ "unsupported-section", FROM_START, 32, 1, 'N' },
	{ "unsupported-section-flags", FROM_START, 36, 4, 5 },
	{ "unsupported-verdict", FROM_START, 89, 1, 3 },
	{ "bad-magic", FROM_START, 0, 1, 'X' },
	{ "bad-section-count", FROM_START, 12, 4, UINT32_MAX },
	{ "bad-section-size", FROM_START, 40, 8, UINT64_MAX },
	{ "bad-file-size", FROM_START, 56, 8, 1 },
	{ "bad-nanoseconds", FROM_START, 72, 4, 1000000000 },
	{ "bad-mode", FROM_START, 76, 4, 0100600 },
	{ "bad-pack-index", FROM_END, 60, 4, 2 },
	{ "bad-block-size", FROM_END, 64, 4, BLOCK_MAX + 1 },
	{ "bad-no-pack-id", FROM_START, 210, 16, 0 },
	{ "bad-name-slash", FROM_START, 170, 1, '/' },
	{ "bad-name-size", FROM_START, 168, 2, UINT16_MAX },
};

/* Its attributes end before BLKS (124 bytes), STAT (36) and the checksum. */
static const struct change xattr_changes[] = {
	{ "bad-attribute-namespace", FROM_END, 210, 1, 'x' },
	{ "bad-attribute-no-name", FROM_END, 205, 1, 0 },
	{ "bad-attribute-order", FROM_END, 205, 1, 'f' },
	{ "bad-attribute-reserved", FROM_END, 205, 6, 0x2e7366636174 },
	{ "bad-attribute-value-size", FROM_END, 198, 4, UINT32_MAX },
	{ "bad-attribute-cut", FROM_END, 180, 4, 1 },
	{ "bad-attribute-name-end", FROM_END, 181, 1, 'x' },
};

static void save(const char *directory, const char *name, const uint8_t *bytes,
		 size_t size)
{
	char path[1024];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "wb");
	if (!file || fwrite(bytes, 1, size, file) != size || fclose(file)) {
		perror(path);
		exit(EXIT_FAILURE);
	}
}

static void save_changed(const char *directory, const struct change *change,
			 const struct writer *good, size_t table,
			 void (*reseal)(uint8_t *, size_t))
{
	struct writer bytes = writer_upto(good->size);
	size_t at = change->at;

	writer_put(&bytes, good->bytes, good->size);
	if (change->from == FROM_TABLE)
		at += table;
	if (change->from == FROM_END)
		at = good->size - at;
	for (size_t i = 0; i < change->size; i++)
		bytes.bytes[at + i] =
			(uint8_t)(i < 8 ? change->value >> (8 * i) : 0);
	reseal(bytes.bytes, bytes.size);
	save(directory, change->name, bytes.bytes, bytes.size);
	writer_free(&bytes);
}

static void make_packs(const char *directory)
{
	size_t count = sizeof(pack_changes) / sizeof(pack_changes[0]);
	struct sample_pack p;
	struct writer empty = writer_upto(4096);
	struct pack_table none = { .id = { { 1 } } };

	sample_pack_make(&p);
	save(directory, "good-every-encoding", p.file.bytes, p.file.size);
	save(directory, "bad-cut", p.file.bytes, p.file.size - 1);
	p.file.bytes[p.table_offset + 20] ^= 1;
	save(directory, "bad-table-checksum", p.file.bytes, p.file.size);
	p.file.bytes[p.table_offset + 20] ^= 1;
	for (size_t i = 0; i < count; i++)
		save_changed(directory, &pack_changes[i], &p.file,
			     (size_t)p.table_offset, reseal_pack);
	sample_pack_free(&p);
	pack_write_header(&none.id, &empty);
	if (pack_write_end(&none, empty.size, &empty))
		abort();
	save(directory, "good-empty", empty.bytes, empty.size);
	writer_free(&empty);
}

static void save_manifest(const char *directory, const char *name,
			  const struct manifest *m)
{
	struct writer out = writer_upto(1 << 16);

	if (manifest_write(m, &out))
		abort();
	save(directory, name, out.bytes, out.size);
	writer_free(&out);
}

static void make_manifests(const char *directory)
{
	size_t count = sizeof(manifest_changes) / sizeof(manifest_changes[0]);
	struct manifest empty = { .meta = { .mode = 0644 } };
	struct writer good = writer_upto(1 << 16);
	struct sample_manifest s;

	save_manifest(directory, "good-empty", &empty);
	sample_manifest_inline(&s);
	save_manifest(directory, "good-inline", &s.m);
	sample_manifest_blocks(&s);
	save_manifest(directory, "good-blocks", &s.m);
	if (manifest_write(&s.m, &good))
		abort();
	save(directory, "bad-cut", good.bytes, good.size - 1);
	good.bytes[100] ^= 1;
	save(directory, "bad-checksum", good.bytes, good.size);
	good.bytes[100] ^= 1;
	for (size_t i = 0; i < count; i++)
		save_changed(directory, &manifest_changes[i], &good, 0,
			     reseal_manifest);
	good.size = 0;
	sample_manifest_xattrs(&s);
	if (manifest_write(&s.m, &good))
		abort();
	save(directory, "good-attributes", good.bytes, good.size);
	count = sizeof(xattr_changes) / sizeof(xattr_changes[0]);
	for (size_t i = 0; i < count; i++)
		save_changed(directory, &xattr_changes[i], &good, 0,
			     reseal_manifest);
	writer_free(&good);
}

static void save_block(const char *directory, const char *name,
		       const uint8_t raw[SAMPLE_BLOCK_SIZE],
		       struct block_reference reference, size_t cut)
{
	struct writer out = writer_upto(1 << 18);
	uint8_t stored[BLOCK_MAX];
	enum block_encoding encoding;
	size_t size;

	if (block_encode(raw, SAMPLE_BLOCK_SIZE, BLOCK_SMALL, reference, stored,
			 &size, &encoding))
		abort();
	writer_u8(&out, (uint8_t)encoding);
	writer_le16(&out, SAMPLE_BLOCK_SIZE - 1);
	writer_le16(&out, (uint16_t)reference.size);
	writer_put(&out, reference.bytes, reference.size);
	writer_put(&out, stored, size - cut);
	save(directory, name, out.bytes, out.size);
	writer_free(&out);
}

static void make_blocks(const char *directory)
{
	struct block_reference none = { NULL, 0 };
	struct block_reference reference;
	struct sample_pack p;

	sample_pack_make(&p);
	reference = (struct block_reference){ p.raw[0], SAMPLE_BLOCK_SIZE };
	save_block(directory, "good-raw", p.raw[0], none, 0);
	save_block(directory, "good-lz4", p.raw[1], none, 0);
	save_block(directory, "good-reference", p.raw[2], reference, 0);
	save_block(directory, "bad-raw-cut", p.raw[0], none, 1);
	save_block(directory, "bad-lz4-cut", p.raw[1], none, 1);
	save_block(directory, "bad-reference-cut", p.raw[2], reference, 1);
	reference.size = 16;
	save_block(directory, "good-useless-reference", p.raw[1], reference, 0);
	sample_pack_free(&p);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*make)(const char *directory);
	} parts[] = {
		{ "pack", make_packs },
		{ "manifest", make_manifests },
		{ "block", make_blocks },
	};
	char path[1000];

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return EXIT_FAILURE;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", argv[1], parts[i].name);
		parts[i].make(path);
	}
	return EXIT_SUCCESS;
}
