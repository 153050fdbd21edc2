/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/manifest.h"

#include <errno.h>
#include <string.h>

#include "codec/manifest_layout.h"
#include "codec/reader.h"

enum {
	NAME_ENTRY_MIN = 3,
	NAME_SIZE_MAX = 255,
	MODE_MASK = 07777,
	NSEC_END = 1000000000
};

static const struct digest no_id;

/* What the sections gave so far. */
struct parse {
	struct reader in;
	struct arena *arena;
	struct manifest m;
	size_t content_size;
	bool has_meta;
};

static const char *name_fault(const char *name)
{
	size_t size = strlen(name);

	if (!size || size > NAME_SIZE_MAX || strchr(name, '/') ||
	    strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return "a name is not a file's name";
	return NULL;
}

static const char *meta_fault(const struct manifest_meta *meta)
{
	if (meta->mode & ~(uint32_t)MODE_MASK)
		return "the mode has more than permission bits";
	if (meta->mtime_nsec >= NSEC_END || meta->atime_nsec >= NSEC_END)
		return "the time has too many nanoseconds";
	return NULL;
}

static const char *content_fault(const struct manifest *m)
{
	uint64_t sum = 0;

	if (m->content && m->meta.size > MANIFEST_INLINE_MAX)
		return "the content is too long to be inline";
	if (m->content && (m->block_count || m->pack_count))
		return "the content is both inline and in blocks";
	if (m->pack_count && !m->block_count)
		return "there are packs but no blocks";
	for (size_t i = 0; i < m->block_count; i++) {
		const struct manifest_block *block = &m->blocks[i];

		if (!block->id.size || block->id.size > BLOCK_MAX)
			return "a block's size is not allowed";
		if (block->pack >= m->pack_count)
			return "a block is in no pack of the list";
		sum += block->id.size;
	}
	if (!m->content && sum != m->meta.size)
		return "the blocks do not add up to the size";
	return NULL;
}

const char *manifest_fault(const struct manifest *m)
{
	const char *fault = meta_fault(&m->meta);

	if (!fault)
		fault = content_fault(m);
	for (size_t i = 0; i < m->pack_count && !fault; i++)
		if (digest_equal(&m->packs[i], &no_id))
			fault = "a pack has no id";
	if (m->name_count > MANIFEST_NAMES_MAX)
		return "too many names";
	for (size_t i = 0; i < m->name_count && !fault; i++)
		fault = name_fault(m->names[i]);
	return fault ? fault : xattrs_fault(m->xattrs);
}

static void read_data(struct parse *p, struct reader *r)
{
	p->content_size = reader_left(r);
	p->m.content = reader_take(r, p->content_size);
}

static void read_meta(struct parse *p, struct reader *r)
{
	struct manifest_meta *meta = &p->m.meta;

	p->has_meta = true;
	meta->ino = reader_le64(r);
	meta->size = reader_le64(r);
	meta->mtime_sec = (int64_t)reader_le64(r);
	meta->mtime_nsec = reader_le32(r);
	meta->mode = reader_le32(r);
	meta->uid = reader_le32(r);
	meta->gid = reader_le32(r);
	meta->kind = reader_u8(r);
	meta->verdict = reader_u8(r);
	if (reader_le16(r))
		reader_fail(r, -ENOTSUP, "a reserved field is used");
	if (meta->verdict > VERDICT_FOREIGN)
		reader_fail(r, -ENOTSUP, "an unknown verdict");
	meta->renderer = reader_le32(r);
	meta->readable_size = reader_le64(r);
	reader_copy(r, meta->digest.b, DIGEST_SIZE);
	reader_copy(r, meta->sha256, SHA256_SIZE);
	meta->stored = meta->size;
	meta->atime_sec = meta->mtime_sec;
	meta->atime_nsec = meta->mtime_nsec;
}

/* Stands behind META, whose values hold without it. */
static void read_stat(struct parse *p, struct reader *r)
{
	struct manifest_meta *meta = &p->m.meta;

	meta->stored = reader_le64(r);
	meta->atime_sec = (int64_t)reader_le64(r);
	meta->atime_nsec = reader_le32(r);
}

/* Memory for `count` things that the section's own size has proved. */
static void *take_memory_for(struct parse *p, struct reader *r, size_t count,
			     size_t size)
{
	void *memory = arena_array(p->arena, count, size);

	if (!memory)
		reader_fail(r, -ENOMEM, "out of memory");
	return memory;
}

static const char *read_name(struct parse *p, struct reader *r)
{
	size_t size = reader_le16(r);
	const uint8_t *bytes = reader_take(r, size);
	char *name;

	if (!bytes)
		return NULL;
	name = take_memory_for(p, r, size + 1, 1);
	if (!name)
		return NULL;
	memcpy(name, bytes, size);
	if (strlen(name) != size)
		reader_fail(r, -EBADMSG, "a name is not a file's name");
	return name;
}

static void read_names(struct parse *p, struct reader *r)
{
	size_t most = reader_left(r) / NAME_ENTRY_MIN;

	if (most > MANIFEST_NAMES_MAX)
		most = MANIFEST_NAMES_MAX;
	p->m.names = take_memory_for(p, r, most, sizeof(*p->m.names));
	while (!r->err && reader_left(r) && p->m.name_count < most)
		p->m.names[p->m.name_count++] = read_name(p, r);
}

static void read_packs(struct parse *p, struct reader *r)
{
	size_t count = reader_left(r) / DIGEST_SIZE;

	p->m.packs = take_memory_for(p, r, count, sizeof(*p->m.packs));
	if (r->err)
		return;
	p->m.pack_count = count;
	for (size_t i = 0; i < count; i++)
		reader_copy(r, p->m.packs[i].b, DIGEST_SIZE);
}

static void read_xattrs(struct parse *p, struct reader *r)
{
	p->m.xattrs.size = reader_left(r);
	p->m.xattrs.bytes = reader_take(r, p->m.xattrs.size);
}

static void read_blocks(struct parse *p, struct reader *r)
{
	size_t count = reader_left(r) / MANIFEST_BLOCK_SIZE;
	uint64_t start = 0;

	p->m.blocks = take_memory_for(p, r, count, sizeof(*p->m.blocks));
	if (r->err)
		return;
	p->m.block_count = count;
	for (size_t i = 0; i < count; i++) {
		struct manifest_block *block = &p->m.blocks[i];

		reader_copy(r, block->id.digest.b, DIGEST_SIZE);
		block->id.check = reader_le64(r);
		block->id.size = reader_le32(r);
		block->pack = reader_le32(r);
		block->number = reader_le32(r);
		block->start = start;
		start += block->id.size;
	}
}

static const struct section {
	uint32_t tag;
	void (*read)(struct parse *p, struct reader *r);
} known_sections[] = {
	{ MANIFEST_DATA, read_data },	{ MANIFEST_META, read_meta },
	{ MANIFEST_NAME, read_names },	{ MANIFEST_PACK, read_packs },
	{ MANIFEST_XATR, read_xattrs }, { MANIFEST_BLKS, read_blocks },
	{ MANIFEST_STAT, read_stat },
};

static const struct section *find_section(uint32_t tag)
{
	size_t count = sizeof(known_sections) / sizeof(known_sections[0]);

	for (size_t i = 0; i < count; i++)
		if (known_sections[i].tag == tag)
			return &known_sections[i];
	return NULL;
}

static void read_known(struct parse *p, const struct section *section,
		       const uint8_t *bytes, size_t size)
{
	struct reader r = reader_over(bytes, size);

	if (!size)
		reader_fail(&r, -EBADMSG, "a section is empty");
	section->read(p, &r);
	if (!r.err && reader_left(&r))
		reader_fail(&r, -EBADMSG, "a section is too long");
	if (r.err)
		reader_fail(&p->in, r.err, r.why);
}

static const uint8_t *take_section(struct reader *in, uint64_t size)
{
	if (size > reader_left(in))
		reader_fail(in, -EBADMSG, "a section is longer than the file");
	return reader_take(in, (size_t)size);
}

/* *last is the tag of the section before. */
static void read_section(struct parse *p, uint32_t *last)
{
	struct reader *in = &p->in;
	uint32_t tag = reader_le32(in);
	uint32_t flags = reader_le32(in);
	uint64_t size = reader_le64(in);
	const uint8_t *bytes = take_section(in, size);
	const struct section *section = find_section(tag);

	if (tag <= *last)
		reader_fail(in, -EBADMSG, "the sections are out of order");
	if (flags & ~(uint32_t)MANIFEST_CRITICAL)
		reader_fail(in, -ENOTSUP, "a section has unknown flags");
	if (!section && (flags & MANIFEST_CRITICAL))
		reader_fail(in, -ENOTSUP, "an unknown section is critical");
	*last = tag;
	if (section && !in->err)
		read_known(p, section, bytes, (size_t)size);
}

/* Leaves p->in at the sections, which end where the checksum begins. */
static uint32_t read_header(struct parse *p, const uint8_t *bytes, size_t size)
{
	struct reader *in = &p->in;
	size_t covered = size - DIGEST_SIZE;
	struct digest digest = digest_of(bytes, covered);
	uint32_t version, sections;

	*in = reader_over(bytes, covered);
	if (memcmp(reader_take(in, MANIFEST_MAGIC_SIZE), MANIFEST_MAGIC,
		   MANIFEST_MAGIC_SIZE) != 0)
		reader_fail(in, -EBADMSG, "not a manifest");
	version = reader_le32(in);
	sections = reader_le32(in);
	if (reader_le64(in) != size)
		reader_fail(in, -EBADMSG, "the file has another size");
	if (memcmp(digest.b, bytes + covered, DIGEST_SIZE) != 0)
		reader_fail(in, -EBADMSG, "the checksum is wrong");
	if (version != MANIFEST_VERSION)
		reader_fail(in, -ENOTSUP, "a newer version");
	if (reader_le64(in))
		reader_fail(in, -ENOTSUP, "a reserved field is used");
	return sections;
}

static void read_manifest(struct parse *p, const uint8_t *bytes, size_t size)
{
	uint32_t last = 0;
	uint32_t sections = read_header(p, bytes, size);
	const char *fault;

	for (uint32_t i = 0; i < sections && !p->in.err; i++)
		read_section(p, &last);
	if (p->in.err)
		return;
	fault = manifest_fault(&p->m);
	if (reader_left(&p->in))
		reader_fail(&p->in, -EBADMSG, "there is more than sections");
	else if (!p->has_meta)
		reader_fail(&p->in, -EBADMSG, "there are no attributes");
	else if (p->m.content && p->content_size != p->m.meta.size)
		reader_fail(&p->in, -EBADMSG, "the content has another size");
	else if (fault)
		reader_fail(&p->in, -EBADMSG, fault);
}

int manifest_parse(const void *bytes, size_t size, struct arena *arena,
		   struct manifest *out, const char **why)
{
	struct parse p = { .arena = arena };

	if (size < MANIFEST_HEADER_SIZE + DIGEST_SIZE || size > MANIFEST_MAX) {
		*why = "no manifest has this size";
		return -EBADMSG;
	}
	read_manifest(&p, bytes, size);
	if (p.in.err) {
		*why = p.in.why;
		return p.in.err;
	}
	*out = p.m;
	return 0;
}
