/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/manifest.h"
#include "tests/unit/reseal.h"
#include "tests/unit/samples.h"

enum {
	ARENA_LIMIT = 1 << 20,
	HEADER_SIZE = 32,
	SECTION_HEADER = 16,
	META_SIZE = 104,
	/* Of the sample with blocks: META, NAME, PACK, BLKS, STAT. */
	META_AT = HEADER_SIZE + SECTION_HEADER,
	NAME_AT = META_AT + META_SIZE + SECTION_HEADER,
	NAME_SIZE = 2 + 8 + 2 + 14,
	PACK_AT = NAME_AT + NAME_SIZE + SECTION_HEADER,
	BLKS_AT = PACK_AT + 2 * DIGEST_SIZE + SECTION_HEADER,
	STAT_AT = BLKS_AT + 3 * 36 + SECTION_HEADER,
	/* With attributes those come before BLKS. */
	XATR_AT = BLKS_AT,
	EMPTY_AT = XATR_AT + 19, /* the second attribute */
	XATR_SIZE = 34
};

struct fixture {
	struct sample_manifest sample;
	struct writer file;
	struct arena arena;
};

static struct fixture *fixture_new(void)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (f) {
		f->file = writer_upto(1 << 16);
		f->arena = arena_upto(ARENA_LIMIT);
	}
	return f;
}

static int with_blocks(void **state)
{
	struct fixture *f = fixture_new();

	if (!f)
		return -1;
	*state = f;
	sample_manifest_blocks(&f->sample);
	return manifest_write(&f->sample.m, &f->file);
}

static int with_xattrs(void **state)
{
	struct fixture *f = fixture_new();

	if (!f)
		return -1;
	*state = f;
	sample_manifest_xattrs(&f->sample);
	return manifest_write(&f->sample.m, &f->file);
}

static int with_content(void **state)
{
	struct fixture *f = fixture_new();

	if (!f)
		return -1;
	*state = f;
	sample_manifest_inline(&f->sample);
	return manifest_write(&f->sample.m, &f->file);
}

static int free_fixture(void **state)
{
	struct fixture *f = *state;

	writer_free(&f->file);
	arena_free(&f->arena);
	free(f);
	return 0;
}

static int verdict_on(const uint8_t *bytes, size_t size)
{
	struct arena arena = arena_upto(ARENA_LIMIT);
	struct manifest m;
	const char *why = NULL;
	int err = manifest_parse(bytes, size, &arena, &m, &why);

	assert_true(!err == !why);
	arena_free(&arena);
	return err;
}

static void assert_same_meta(const struct manifest_meta *a,
			     const struct manifest_meta *b)
{
	assert_int_equal(a->ino, b->ino);
	assert_int_equal(a->size, b->size);
	assert_int_equal(a->mode, b->mode);
	assert_int_equal(a->mtime_sec, b->mtime_sec);
	assert_int_equal(a->mtime_nsec, b->mtime_nsec);
	assert_int_equal(a->uid, b->uid);
	assert_int_equal(a->gid, b->gid);
	assert_int_equal(a->kind, b->kind);
	assert_int_equal(a->verdict, b->verdict);
	assert_int_equal(a->renderer, b->renderer);
	assert_int_equal(a->readable_size, b->readable_size);
	assert_true(digest_equal(&a->digest, &b->digest));
	assert_memory_equal(a->sha256, b->sha256, SHA256_SIZE);
	assert_int_equal(a->stored, b->stored);
	assert_int_equal(a->atime_sec, b->atime_sec);
	assert_int_equal(a->atime_nsec, b->atime_nsec);
}

static void parse(struct fixture *f, struct manifest *m)
{
	const char *why;

	assert_int_equal(
		manifest_parse(f->file.bytes, f->file.size, &f->arena, m, &why),
		0);
}

static void a_manifest_with_blocks_comes_back(void **state)
{
	struct fixture *f = *state;
	const struct manifest *was = &f->sample.m;
	struct manifest m;

	parse(f, &m);
	assert_same_meta(&m.meta, &was->meta);
	assert_null(m.content);
	assert_int_equal(m.pack_count, was->pack_count);
	for (size_t i = 0; i < m.pack_count; i++)
		assert_true(digest_equal(&m.packs[i], &was->packs[i]));
	assert_int_equal(m.block_count, was->block_count);
	for (size_t i = 0; i < m.block_count; i++) {
		assert_true(
			block_id_equal(&m.blocks[i].id, &was->blocks[i].id));
		assert_int_equal(m.blocks[i].pack, was->blocks[i].pack);
		assert_int_equal(m.blocks[i].number, was->blocks[i].number);
		assert_int_equal(m.blocks[i].start, was->blocks[i].start);
	}
	assert_int_equal(m.name_count, was->name_count);
	for (size_t i = 0; i < m.name_count; i++)
		assert_string_equal(m.names[i], was->names[i]);
}

static void attributes_come_back(void **state)
{
	struct fixture *f = *state;
	struct manifest m;

	parse(f, &m);
	assert_same_meta(&m.meta, &f->sample.m.meta);
	assert_int_equal(m.xattrs.size, XATR_SIZE);
	assert_memory_equal(m.xattrs.bytes, SAMPLE_XATTRS, XATR_SIZE);
	assert_memory_equal(f->file.bytes + XATR_AT, SAMPLE_XATTRS, XATR_SIZE);
	assert_int_equal(m.block_count, f->sample.m.block_count);
}

static void inline_content_comes_back(void **state)
{
	struct fixture *f = *state;
	const struct manifest *was = &f->sample.m;
	struct manifest m;

	parse(f, &m);
	assert_same_meta(&m.meta, &was->meta);
	assert_non_null(m.content);
	assert_memory_equal(m.content, was->content, (size_t)was->meta.size);
	assert_int_equal(m.block_count, 0);
	assert_int_equal(m.pack_count, 0);
	assert_int_equal(m.name_count, 0);
}

static void what_is_taken_anyway_is_not_said(void **state)
{
	struct fixture *f = *state;
	struct manifest_meta *meta = &f->sample.m.meta;
	size_t shortest = f->file.size;
	struct manifest m;

	meta->atime_nsec--;
	f->file.size = 0;
	assert_int_equal(manifest_write(&f->sample.m, &f->file), 0);
	assert_int_equal(f->file.size, shortest + SECTION_HEADER + 20);
	parse(f, &m);
	assert_same_meta(&m.meta, meta);
}

static void an_empty_file_has_neither_content_nor_blocks(void **state)
{
	static const uint8_t *const contents[] = { NULL, (const uint8_t *)"" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct manifest was = { .content = contents[i] };
		struct fixture *f = fixture_new();
		struct manifest m;
		void *fixture = f;

		assert_non_null(f);
		assert_int_equal(manifest_write(&was, &f->file), 0);
		parse(f, &m);
		assert_null(m.content);
		assert_int_equal(m.block_count, 0);
		assert_int_equal(m.meta.size, 0);
		free_fixture(&fixture);
	}
}

static void any_changed_bit_is_damage(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < f->file.size * 8; i++) {
		f->file.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		assert_int_equal(verdict_on(f->file.bytes, f->file.size),
				 -EBADMSG);
		f->file.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
	}
}

static void a_manifest_cut_at_any_length_is_damage(void **state)
{
	const struct fixture *f = *state;

	for (size_t size = 0; size < f->file.size; size++) {
		uint8_t *cut = malloc(size + 1);

		assert_non_null(cut);
		memcpy(cut, f->file.bytes, size);
		assert_int_equal(verdict_on(cut, size), -EBADMSG);
		/* With the checksum made right, where there is room for it. */
		reseal_manifest(cut, size);
		assert_int_equal(verdict_on(cut, size), -EBADMSG);
		free(cut);
	}
}

/* A number put somewhere, with the checksum right, and what is made of it. */
static const struct change {
	size_t at;
	size_t size;
	uint64_t value;
	int err;
} changes[] = {
	{ 0, 1, 'X', -EBADMSG },
	{ 8, 4, 2, -ENOTSUP }, /* version */
	{ 8, 4, 0, -ENOTSUP },
	{ 12, 4, 4, -EBADMSG }, /* sections */
	{ 12, 4, 6, -EBADMSG },
	{ 12, 4, UINT32_MAX, -EBADMSG },
	{ 24, 8, 1, -ENOTSUP },			   /* reserved */
	{ META_AT - 16, 4, 0x41544144, -EBADMSG }, /* META becomes DATA */
	{ META_AT - 12, 4, 3, -ENOTSUP },	   /* flags */
	{ META_AT - 12, 4, 0, 0 },
	{ META_AT - 8, 8, META_SIZE - 1, -EBADMSG },
	{ META_AT - 8, 8, META_SIZE + 1, -EBADMSG },
	{ META_AT - 8, 8, UINT64_MAX, -EBADMSG },
	{ META_AT + 8, 8, 69632, -EBADMSG },	   /* size of the file */
	{ META_AT + 24, 4, 1000000000, -EBADMSG }, /* nanoseconds */
	{ META_AT + 28, 4, 010000, -EBADMSG },	   /* mode */
	{ META_AT + 40, 1, 200, 0 },		   /* any kind */
	{ META_AT + 41, 1, VERDICT_FOREIGN + 1, -ENOTSUP },
	{ META_AT + 42, 2, 1, -ENOTSUP },
	{ NAME_AT - 16, 4, 0x4154454d, -EBADMSG }, /* META again */
	{ NAME_AT, 2, 0, -EBADMSG },
	{ NAME_AT, 2, 7, -EBADMSG },
	{ NAME_AT, 2, UINT16_MAX, -EBADMSG },
	{ NAME_AT + 4, 1, '/', -EBADMSG },
	{ NAME_AT + 4, 1, 0, -EBADMSG },
	{ PACK_AT, 16, 0, -EBADMSG }, /* no id */
	{ PACK_AT - 8, 8, 31, -EBADMSG },
	{ PACK_AT - 8, 8, 0, -EBADMSG },
	{ PACK_AT - 16, 4, 0x4b434151, -ENOTSUP }, /* no PACK, one unknown */
	{ BLKS_AT + 24, 4, 4097, -EBADMSG },	   /* size of the first block */
	{ BLKS_AT + 24, 4, 0, -EBADMSG },
	{ BLKS_AT + 24, 4, BLOCK_MAX + 1, -EBADMSG },
	{ BLKS_AT + 28, 4, 2, -EBADMSG },	   /* its pack */
	{ BLKS_AT + 32, 4, UINT32_MAX, 0 },	   /* its number: a hint */
	{ BLKS_AT - 16, 4, 0x4b434150, -EBADMSG }, /* PACK again */
	{ STAT_AT - 12, 4, 1, 0 },		   /* critical */
	{ STAT_AT - 8, 8, 19, -EBADMSG },
	{ STAT_AT, 8, UINT64_MAX, 0 },
	{ STAT_AT + 16, 4, 1000000000, -EBADMSG }, /* nanoseconds */
};

static const struct change xattr_changes[] = {
	{ XATR_AT, 1, 'x', -EBADMSG },		      /* another namespace */
	{ XATR_AT + 5, 1, 0, -EBADMSG },	      /* no name behind it */
	{ XATR_AT + 5, 6, 0x2e7366636174, -EBADMSG }, /* user.tacfs. */
	{ XATR_AT + 5, 1, 'f', -EBADMSG }, /* behind the second one */
	{ XATR_AT + 5, 1, 'a', 0 },
	{ XATR_AT + 12, 4, 4, -EBADMSG }, /* its value */
	{ XATR_AT + 12, 4, UINT32_MAX, -EBADMSG },
	{ EMPTY_AT + 10, 1, 'x', -EBADMSG }, /* a name without an end */
	{ EMPTY_AT + 11, 4, 1, -EBADMSG },
	{ XATR_AT - 8, 8, XATR_SIZE - 1, -EBADMSG },
	{ XATR_AT - 8, 8, 0, -EBADMSG },
	{ XATR_AT - 16, 4, 0x4b434150, -EBADMSG }, /* PACK again */
};

static void enforce(const struct fixture *f, const struct change *table,
		    size_t count)
{
	uint8_t *bytes = malloc(f->file.size);

	assert_non_null(bytes);
	for (size_t i = 0; i < count; i++) {
		const struct change *c = &table[i];
		int err;

		memcpy(bytes, f->file.bytes, f->file.size);
		for (size_t k = 0; k < c->size; k++)
			bytes[c->at + k] =
				(uint8_t)(k < 8 ? c->value >> (8 * k) : 0);
		reseal_manifest(bytes, f->file.size);
		err = verdict_on(bytes, f->file.size);
		if (err != c->err)
			fail_msg("change %zu: %d instead of %d", i, err,
				 c->err);
	}
	free(bytes);
}

static void each_rule_of_the_format_is_enforced(void **state)
{
	enforce(*state, changes, sizeof(changes) / sizeof(changes[0]));
}

static void each_rule_of_attributes_is_enforced(void **state)
{
	enforce(*state, xattr_changes,
		sizeof(xattr_changes) / sizeof(xattr_changes[0]));
}

/* Inserts a section of one byte before the file's first, which is META. */
static int verdict_with_section(const struct fixture *f, uint32_t tag,
				uint32_t flags)
{
	struct writer out = writer_upto(1 << 16);
	int err;

	writer_put(&out, f->file.bytes, HEADER_SIZE);
	writer_le32(&out, tag);
	writer_le32(&out, flags);
	writer_le64(&out, 1);
	writer_u8(&out, 'x');
	writer_put(&out, f->file.bytes + HEADER_SIZE,
		   f->file.size - HEADER_SIZE);
	assert_int_equal(out.err, 0);
	out.bytes[12]++;
	reseal_manifest(out.bytes, out.size);
	err = verdict_on(out.bytes, out.size);
	writer_free(&out);
	return err;
}

static void a_section_unknown_here_is_skipped_unless_critical(void **state)
{
	const struct fixture *f = *state;

	assert_int_equal(verdict_with_section(f, 0x41414141, 0), 0);
	assert_int_equal(verdict_with_section(f, 0x41414141, 1), -ENOTSUP);
	assert_int_equal(verdict_with_section(f, 0x41414141, 2), -ENOTSUP);
	assert_int_equal(verdict_with_section(f, 0, 0), -EBADMSG);
	assert_int_equal(verdict_with_section(f, 0x5a5a5a5a, 0), -EBADMSG);
}

static void content_and_blocks_exclude_each_other(void **state)
{
	const struct fixture *f = *state;

	assert_int_equal(verdict_with_section(f, 0x41544144, 1), -EBADMSG);
}

static void the_attributes_must_be_there(void **state)
{
	uint8_t bytes[HEADER_SIZE + DIGEST_SIZE] = "TACFSMAN\1";

	(void)state;
	reseal_manifest(bytes, sizeof(bytes));
	assert_int_equal(verdict_on(bytes, sizeof(bytes)), -EBADMSG);
}

static void inline_content_has_the_size_of_the_file(void **state)
{
	struct fixture *f = *state;
	uint8_t *size_of_section = f->file.bytes + HEADER_SIZE + 8;
	uint8_t *size_of_file = f->file.bytes + HEADER_SIZE + SECTION_HEADER +
				*size_of_section + SECTION_HEADER + 8;

	*size_of_file -= 1;
	reseal_manifest(f->file.bytes, f->file.size);
	assert_int_equal(verdict_on(f->file.bytes, f->file.size), -EBADMSG);
}

static void only_names_of_files_are_accepted(void **state)
{
	static const char *const bad[] = { "", ".", "..", "a/b", "/" };
	struct fixture *f = *state;
	char longest[257];

	memset(longest, 'n', sizeof(longest));
	longest[255] = '\0';
	f->sample.names[1] = longest;
	f->file.size = 0;
	assert_int_equal(manifest_write(&f->sample.m, &f->file), 0);
	assert_int_equal(verdict_on(f->file.bytes, f->file.size), 0);
	longest[255] = 'n';
	longest[256] = '\0';
	assert_int_equal(manifest_write(&f->sample.m, &f->file), -EINVAL);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f->sample.names[1] = bad[i];
		assert_int_equal(manifest_write(&f->sample.m, &f->file),
				 -EINVAL);
	}
}

static void so_many_names_and_no_more(void **state)
{
	static const char *names[MANIFEST_NAMES_MAX + 1];
	struct fixture *f = *state;
	struct manifest m;

	for (size_t i = 0; i <= MANIFEST_NAMES_MAX; i++)
		names[i] = "n";
	f->sample.m.names = names;
	f->sample.m.name_count = MANIFEST_NAMES_MAX;
	f->file.size = 0;
	assert_int_equal(manifest_write(&f->sample.m, &f->file), 0);
	parse(f, &m);
	assert_int_equal(m.name_count, MANIFEST_NAMES_MAX);
	f->sample.m.name_count++;
	assert_int_equal(manifest_write(&f->sample.m, &f->file), -EINVAL);
}

static void the_writer_refuses_what_the_reader_would(void **state)
{
	struct sample_manifest s;
	struct writer out = writer_upto(1 << 16);

	(void)state;
	for (int i = 0; i < 8; i++) {
		sample_manifest_xattrs(&s);
		s.m.meta.size += i == 0;
		s.m.meta.mode |= i == 1 ? 0100000 : 0;
		s.m.meta.mtime_nsec += i == 2;
		s.m.meta.atime_nsec += i == 7 ? 1000000000 : 0;
		s.blocks[1].pack = i == 3 ? 2 : 0;
		s.blocks[2].id.size = i == 4 ? 0 : 1;
		s.m.content = i == 5 ? (const uint8_t *)"x" : NULL;
		s.m.meta.verdict = i == 6 ? 3 : 0;
		s.m.xattrs.size -= i == 7;
		assert_int_equal(manifest_write(&s.m, &out), -EINVAL);
	}
	sample_manifest_blocks(&s);
	s.m.meta.size = 0;
	s.m.block_count = 0;
	assert_int_equal(manifest_write(&s.m, &out), -EINVAL);
	sample_manifest_inline(&s);
	s.m.meta.size = MANIFEST_INLINE_MAX + 1;
	assert_int_equal(manifest_write(&s.m, &out), -EINVAL);
	assert_int_equal(out.size, 0);
	writer_free(&out);
}

static void a_full_writer_is_reported(void **state)
{
	const struct fixture *f = *state;

	for (size_t limit = 0; limit < f->file.size; limit++) {
		struct writer out = writer_upto(limit);

		assert_int_equal(manifest_write(&f->sample.m, &out), -EFBIG);
		writer_free(&out);
	}
}

static void a_manifest_is_written_behind_what_is_there(void **state)
{
	struct fixture *f = *state;
	size_t size = f->file.size;

	assert_int_equal(manifest_write(&f->sample.m, &f->file), 0);
	assert_int_equal(f->file.size, 2 * size);
	assert_memory_equal(f->file.bytes, f->file.bytes + size, size);
}

static void memory_is_bounded_by_the_arena(void **state)
{
	struct fixture *f = *state;
	struct manifest m = { .name_count = 99 };
	const char *why = NULL;

	for (size_t limit = 0; limit < 256; limit += 16) {
		struct arena arena = arena_upto(limit);

		assert_int_equal(manifest_parse(f->file.bytes, f->file.size,
						&arena, &m, &why),
				 -ENOMEM);
		assert_int_equal(m.name_count, 99);
		arena_free(&arena);
	}
}

#define WITH_BLOCKS(test)                                                      \
	cmocka_unit_test_setup_teardown(test, with_blocks, free_fixture)
#define WITH_XATTRS(test)                                                      \
	cmocka_unit_test_setup_teardown(test, with_xattrs, free_fixture)
#define WITH_CONTENT(test)                                                     \
	cmocka_unit_test_setup_teardown(test, with_content, free_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_BLOCKS(a_manifest_with_blocks_comes_back),
		WITH_XATTRS(attributes_come_back),
		WITH_CONTENT(inline_content_comes_back),
		WITH_CONTENT(what_is_taken_anyway_is_not_said),
		cmocka_unit_test(an_empty_file_has_neither_content_nor_blocks),
		WITH_BLOCKS(any_changed_bit_is_damage),
		WITH_XATTRS(any_changed_bit_is_damage),
		WITH_CONTENT(any_changed_bit_is_damage),
		WITH_BLOCKS(a_manifest_cut_at_any_length_is_damage),
		WITH_XATTRS(a_manifest_cut_at_any_length_is_damage),
		WITH_CONTENT(a_manifest_cut_at_any_length_is_damage),
		WITH_BLOCKS(each_rule_of_the_format_is_enforced),
		WITH_XATTRS(each_rule_of_attributes_is_enforced),
		WITH_BLOCKS(a_section_unknown_here_is_skipped_unless_critical),
		WITH_BLOCKS(content_and_blocks_exclude_each_other),
		cmocka_unit_test(the_attributes_must_be_there),
		WITH_CONTENT(inline_content_has_the_size_of_the_file),
		WITH_BLOCKS(only_names_of_files_are_accepted),
		WITH_BLOCKS(so_many_names_and_no_more),
		cmocka_unit_test(the_writer_refuses_what_the_reader_would),
		WITH_XATTRS(a_full_writer_is_reported),
		WITH_BLOCKS(a_manifest_is_written_behind_what_is_there),
		WITH_BLOCKS(memory_is_bounded_by_the_arena),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
