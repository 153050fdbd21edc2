/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/manifest.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "codec/le.h"
#include "codec/manifest_layout.h"

static void write_meta(const struct manifest_meta *meta, struct writer *out)
{
	writer_le64(out, meta->ino);
	writer_le64(out, meta->size);
	writer_le64(out, (uint64_t)meta->mtime_sec);
	writer_le32(out, meta->mtime_nsec);
	writer_le32(out, meta->mode);
	writer_le32(out, meta->uid);
	writer_le32(out, meta->gid);
	writer_u8(out, meta->kind);
	writer_u8(out, meta->verdict);
	writer_le16(out, 0);
	writer_le32(out, meta->renderer);
	writer_le64(out, meta->readable_size);
	writer_put(out, meta->digest.b, DIGEST_SIZE);
	writer_put(out, meta->sha256, SHA256_SIZE);
}

/* What a reader takes without the section need not be said. */
static bool has_stat(const struct manifest_meta *meta)
{
	return meta->stored != meta->size ||
	       meta->atime_sec != meta->mtime_sec ||
	       meta->atime_nsec != meta->mtime_nsec;
}

static void write_stat(const struct manifest_meta *meta, struct writer *out)
{
	writer_le64(out, meta->stored);
	writer_le64(out, (uint64_t)meta->atime_sec);
	writer_le32(out, meta->atime_nsec);
}

static void write_blocks(const struct manifest *m, struct writer *out)
{
	for (size_t i = 0; i < m->block_count; i++) {
		const struct manifest_block *block = &m->blocks[i];

		writer_put(out, block->id.digest.b, DIGEST_SIZE);
		writer_le64(out, block->id.check);
		writer_le32(out, block->id.size);
		writer_le32(out, block->pack);
		writer_le32(out, block->number);
	}
}

static size_t names_size(const struct manifest *m)
{
	size_t size = 0;

	for (size_t i = 0; i < m->name_count; i++)
		size += 2 + strlen(m->names[i]);
	return size;
}

static void write_names(const struct manifest *m, struct writer *out)
{
	for (size_t i = 0; i < m->name_count; i++) {
		writer_le16(out, (uint16_t)strlen(m->names[i]));
		writer_string(out, m->names[i]);
	}
}

static void write_packs(const struct manifest *m, struct writer *out)
{
	for (size_t i = 0; i < m->pack_count; i++)
		writer_put(out, m->packs[i].b, DIGEST_SIZE);
}

static void write_section_header(enum manifest_tag tag, size_t size,
				 struct writer *out)
{
	writer_le32(out, tag);
	writer_le32(out, tag == MANIFEST_STAT ? 0 : MANIFEST_CRITICAL);
	writer_le64(out, size);
}

/* Empty ones are left out. */
static void write_sections(const struct manifest *m, struct writer *out)
{
	if (m->content && m->meta.size) {
		write_section_header(MANIFEST_DATA, (size_t)m->meta.size, out);
		writer_put(out, m->content, (size_t)m->meta.size);
	}
	write_section_header(MANIFEST_META, MANIFEST_META_SIZE, out);
	write_meta(&m->meta, out);
	if (m->name_count) {
		write_section_header(MANIFEST_NAME, names_size(m), out);
		write_names(m, out);
	}
	if (m->pack_count) {
		write_section_header(MANIFEST_PACK, m->pack_count * DIGEST_SIZE,
				     out);
		write_packs(m, out);
	}
	if (m->xattrs.size) {
		write_section_header(MANIFEST_XATR, m->xattrs.size, out);
		writer_put(out, m->xattrs.bytes, m->xattrs.size);
	}
	if (m->block_count) {
		write_section_header(MANIFEST_BLKS,
				     m->block_count * MANIFEST_BLOCK_SIZE, out);
		write_blocks(m, out);
	}
	if (has_stat(&m->meta)) {
		write_section_header(MANIFEST_STAT, MANIFEST_STAT_SIZE, out);
		write_stat(&m->meta, out);
	}
}

static uint32_t section_count(const struct manifest *m)
{
	return 1u + (m->content && m->meta.size) + (m->name_count != 0) +
	       (m->pack_count != 0) + (m->xattrs.size != 0) +
	       (m->block_count != 0) + has_stat(&m->meta);
}

static void write_header(const struct manifest *m, struct writer *out)
{
	writer_put(out, MANIFEST_MAGIC, MANIFEST_MAGIC_SIZE);
	writer_le32(out, MANIFEST_VERSION);
	writer_le32(out, section_count(m));
	writer_le64(out, 0); /* the file's size, once it is known */
	writer_le64(out, 0);
}

int manifest_write(const struct manifest *m, struct writer *out)
{
	size_t start = out->size;
	struct digest digest;
	size_t covered;
	le64 file_size;

	if (manifest_fault(m) || m->meta.verdict > VERDICT_FOREIGN)
		return -EINVAL;
	write_header(m, out);
	write_sections(m, out);
	if (out->err)
		return out->err;
	covered = out->size - start;
	if (covered > MANIFEST_MAX - DIGEST_SIZE)
		return -EINVAL;
	file_size = le64_of(covered + DIGEST_SIZE);
	memcpy(out->bytes + start + MANIFEST_FILE_SIZE_AT, &file_size,
	       sizeof(file_size));
	digest = digest_of(out->bytes + start, covered);
	writer_put(out, digest.b, DIGEST_SIZE);
	return out->err;
}
