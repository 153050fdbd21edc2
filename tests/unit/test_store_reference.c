/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that are stored against another block. The store does not write them
 * yet, but must read them.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "codec/chunk.h"
#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/collect.h"
#include "fs/store/pack_file.h"
#include "fs/store/state.h"
#include "tests/unit/store_fixture.h"

/* Small enough to be one chunk. */
enum { SIZE = CHUNK_MIN, FILE_LIMIT = 1 << 20 };

static const struct digest base_id = { { 0xaa, 1 } };
static const struct digest similar_id = { { 0xbb, 2 } };
static const struct digest far_id = { { 0xcc, 3 } };

/* Two blocks that are nearly the same: the base, and one like it. */
struct blocks {
	uint8_t base[SIZE];
	uint8_t similar[SIZE];
};

static void make_blocks(struct blocks *b)
{
	fill(b->base, SIZE, 1, 256);
	memcpy(b->similar, b->base, SIZE);
	fill(b->similar + SIZE / 2, 100, 2, 256);
}

static struct block_id id_in(const struct fixture *f, const uint8_t *raw)
{
	return block_id_of(raw, SIZE, f->store->format.seed);
}

static struct pack_block add_stored(const struct fixture *f, const uint8_t *raw,
				    struct block_reference reference,
				    struct writer *file)
{
	uint8_t stored[BLOCK_MAX];
	struct pack_block block = { .id = id_in(f, raw),
				    .offset = file->size,
				    .reference = PACK_NO_REFERENCE };
	size_t size;

	assert_int_equal(block_encode(raw, SIZE, BLOCK_SMALL, reference, stored,
				      &size, &block.encoding),
			 0);
	block.stored_size = (uint32_t)size;
	block.stored_check = check_of(stored, size, 0);
	writer_put(file, stored, size);
	return block;
}

static void place(const struct fixture *f, const char *path,
		  const struct writer *file)
{
	char full[PATH_MAX];
	int fd;

	assert_int_equal(file->err, 0);
	snprintf(full, sizeof(full), "%s/%s", f->path, path);
	fd = open(full, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fd_write_at(fd, file->bytes, file->size, 0), 0);
	close(fd);
}

static void place_pack(const struct fixture *f, struct pack_table *table,
		       struct writer *file)
{
	char path[PACK_PATH_SIZE + 8] = "packs/";

	assert_int_equal(pack_write_end(table, file->size, file), 0);
	pack_path(&table->id, path + strlen(path));
	path[sizeof("packs/00") - 1] = '\0';
	mkdirat(f->store->root, path, 0700);
	path[sizeof("packs/00") - 1] = '/';
	place(f, path, file);
	writer_free(file);
}

static void place_base(const struct fixture *f, const struct blocks *b)
{
	struct block_reference none = { NULL, 0 };
	struct writer file = writer_upto(FILE_LIMIT);
	struct pack_block block;
	struct pack_table table = { .id = base_id,
				    .blocks = &block,
				    .block_count = 1 };

	pack_write_header(&table.id, &file);
	block = add_stored(f, b->base, none, &file);
	place_pack(f, &table, &file);
}

/* A pack with the similar block alone, or after its base. */
static void place_similar(const struct fixture *f, const struct blocks *b,
			  bool with_base)
{
	struct block_reference none = { NULL, 0 };
	struct block_reference base = { b->base, SIZE };
	struct writer file = writer_upto(FILE_LIMIT);
	struct pack_block blocks[2];
	struct pack_reference reference = { .id = id_in(f, b->base) };
	struct pack_table table = { .id = similar_id,
				    .blocks = blocks,
				    .references = &reference,
				    .reference_count = 1 };

	if (!with_base)
		reference.pack = base_id;
	pack_write_header(&table.id, &file);
	if (with_base)
		blocks[table.block_count++] =
			add_stored(f, b->base, none, &file);
	blocks[table.block_count] = add_stored(f, b->similar, base, &file);
	assert_int_equal(blocks[table.block_count].encoding,
			 BLOCK_LZ4_REFERENCE);
	blocks[table.block_count++].reference = 0;
	place_pack(f, &table, &file);
}

static void place_manifest(const struct fixture *f, const struct blocks *b,
			   uint32_t number, uint8_t sha256_flip)
{
	struct digest packs[] = { similar_id, base_id }; /* if it is there */
	struct manifest_block block = { .id = id_in(f, b->similar),
					.number = number };
	struct manifest m = { .meta = { .size = SIZE, .mode = 0600 },
			      .packs = packs,
			      .pack_count = 2,
			      .blocks = &block,
			      .block_count = 1 };
	struct writer file = writer_upto(FILE_LIMIT);
	struct file_hash *hash = file_hash_new();

	file_hash_add(hash, b->similar, SIZE);
	file_hash_end(hash, &m.meta.digest, m.meta.sha256);
	file_hash_free(hash);
	m.meta.sha256[0] ^= sha256_flip;
	assert_int_equal(manifest_write(&m, &file), 0);
	place(f, "refs/default/file", &file);
	writer_free(&file);
}

static void a_reference_in_the_same_pack_is_followed(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE struct blocks *b = malloc(sizeof(*b));

	make_blocks(b);
	place_similar(f, b, true);
	place_manifest(f, b, 1, 0);
	assert_reads(f->store, "file", b->similar, SIZE);
}

static void a_reference_into_another_pack_is_followed(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE struct blocks *b = malloc(sizeof(*b));

	make_blocks(b);
	place_base(f, b);
	place_similar(f, b, false);
	place_manifest(f, b, 0, 0);
	assert_reads(f->store, "file", b->similar, SIZE);
}

static void a_block_without_its_reference_is_lost(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE struct blocks *b = malloc(sizeof(*b));
	char path[PACK_PATH_SIZE + 8] = "packs/";

	make_blocks(b);
	place_base(f, b);
	place_similar(f, b, false);
	place_manifest(f, b, 0, 0);
	pack_path(&base_id, path + strlen(path));
	flip_byte(f, path, 100);
	assert_int_equal(try_read(f->store, "file", b->similar, SIZE), -ENOENT);

	/* Once the base's content is published again, it is found by its id. */
	publish(f->store, "base", b->base, SIZE);
	place_manifest(f, b, 0, 0);
	assert_reads(f->store, "file", b->similar, SIZE);
}

static void a_reference_that_moved_is_found_by_its_id(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE struct blocks *b = malloc(sizeof(*b));
	struct block_reference none = { NULL, 0 };
	struct writer file = writer_upto(FILE_LIMIT);
	struct pack_block block;
	struct pack_table table = { .id = far_id,
				    .blocks = &block,
				    .block_count = 1 };

	make_blocks(b);
	place_similar(f, b, false);
	place_manifest(f, b, 0, 0);
	pack_write_header(&table.id, &file);
	block = add_stored(f, b->base, none, &file);
	place_pack(f, &table, &file);
	assert_reads(f->store, "file", b->similar, SIZE);

	/* Ids can collide: with blocks found by them, the SHA-256 decides. */
	place_manifest(f, b, 0, 1);
	assert_int_equal(try_read(f->store, "file", b->similar, SIZE), -ENOENT);
}

static void content_is_shared_with_a_block_that_has_a_reference(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE struct blocks *b = malloc(sizeof(*b));
	uint64_t packs;

	make_blocks(b);
	place_base(f, b);
	place_similar(f, b, false);
	packs = measured(f->store).packs;
	publish(f->store, "base", b->base, SIZE);
	publish(f->store, "similar", b->similar, SIZE);
	assert_reads(f->store, "base", b->base, SIZE);
	assert_reads(f->store, "similar", b->similar, SIZE);
	assert_int_equal(measured(f->store).packs, packs);
}

/* Blocks that refer to others, and one that nobody needs, in one pack. */
static void place_with_dead(const struct fixture *f, const struct digest *id,
			    const struct blocks *b, bool base, bool similar)
{
	struct block_reference none = { NULL, 0 };
	struct block_reference to = { b->base, SIZE };
	struct writer file = writer_upto(FILE_LIMIT);
	struct pack_block blocks[3];
	struct pack_reference reference = { .id = id_in(f, b->base) };
	struct pack_table table = { .id = *id, .blocks = blocks };
	uint8_t dead[SIZE];

	fill(dead, SIZE, 3, 256);
	pack_write_header(id, &file);
	blocks[table.block_count++] = add_stored(f, dead, none, &file);
	if (similar) {
		blocks[table.block_count] =
			add_stored(f, b->similar, to, &file);
		blocks[table.block_count++].reference = 0;
		reference.number = 2;
		table.references = &reference;
		table.reference_count = 1;
	}
	if (base)
		blocks[table.block_count++] =
			add_stored(f, b->base, none, &file);
	else
		reference.pack = base_id;
	place_pack(f, &table, &file);
}

static struct collect_result rewritten(struct fixture *f)
{
	const struct timespec tick = { .tv_nsec = 30 * 1000 * 1000 };
	struct collect_options o = { .intents = 3600, .rewrite = 40 };
	struct collect_result r;

	nanosleep(&tick, NULL);
	assert_int_equal(store_collect(f->store, &o, &r), 0);
	assert_string_equal(r.not_rewritten, "");
	return r;
}

static void a_rewritten_block_keeps_its_reference(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE struct blocks *b = malloc(sizeof(*b));
	struct store_measures m;

	make_blocks(b);
	place_with_dead(f, &similar_id, b, true, true);
	place_manifest(f, b, 1, 0);
	assert_int_equal(rewritten(f).rewritten_packs, 1);
	m = measured(f->store);
	assert_int_equal(m.packs, 1);
	assert_int_equal(m.blocks, 2);
	assert_in_range(m.block_stored_bytes, SIZE, SIZE + SIZE / 4);
	assert_reads(f->store, "file", b->similar, SIZE);
	fixture_reopen(f);
	assert_reads(f->store, "file", b->similar, SIZE);
}

static void a_rewritten_block_keeps_its_reference_elsewhere(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE struct blocks *b = malloc(sizeof(*b));

	make_blocks(b);
	place_base(f, b);
	place_with_dead(f, &similar_id, b, false, true);
	place_manifest(f, b, 1, 0);
	assert_int_equal(rewritten(f).rewritten_packs, 1);
	assert_int_equal(measured(f->store).packs, 2);
	assert_int_equal(measured(f->store).blocks, 2);
	assert_reads(f->store, "file", b->similar, SIZE);
}

static void what_another_pack_refers_to_is_not_rewritten(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE struct blocks *b = malloc(sizeof(*b));

	make_blocks(b);
	place_with_dead(f, &base_id, b, true, false);
	publish(f->store, "base", b->base, SIZE);
	assert_int_equal(measured(f->store).packs, 1);
	place_similar(f, b, false);
	place_manifest(f, b, 0, 0);
	assert_int_equal(rewritten(f).rewritten_packs, 0);
	assert_reads(f->store, "file", b->similar, SIZE);
	assert_reads(f->store, "base", b->base, SIZE);
	remove_file(f, "refs/default/file");
	assert_int_equal(rewritten(f).rewritten_packs, 0);
	assert_int_equal(rewritten(f).rewritten_packs, 1);
	assert_reads(f->store, "base", b->base, SIZE);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_reference_in_the_same_pack_is_followed),
		TEST(a_reference_into_another_pack_is_followed),
		TEST(a_block_without_its_reference_is_lost),
		TEST(a_reference_that_moved_is_found_by_its_id),
		TEST(content_is_shared_with_a_block_that_has_a_reference),
		TEST(a_rewritten_block_keeps_its_reference),
		TEST(a_rewritten_block_keeps_its_reference_elsewhere),
		TEST(what_another_pack_refers_to_is_not_rewritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
