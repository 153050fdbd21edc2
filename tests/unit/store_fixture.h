/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_TESTS_UNIT_STORE_FIXTURE_H
#define TACFS_TESTS_UNIT_STORE_FIXTURE_H

/*
 * A store in a temporary directory, and the few things that every test does
 * with one. What should not fail is asserted here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/store/measure.h"
#include "fs/store/publish.h"

enum { PACK_NAME_SIZE = 280 };

struct fixture {
	char dir[128];	/* the temporary directory */
	char path[160]; /* the store in it */
	struct store *store;
};

/* cmocka's; *state is the fixture, with a new store that is open. */
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* A new directory below $TMPDIR, or /tmp. The path is written to `dir`. */
bool make_temp_dir(char dir[128]);

/* One more handle of the store, as another mount has it. */
struct store *fixture_open(const struct fixture *f);
/* Closes the store and opens it again. */
void fixture_reopen(struct fixture *f);

/* An open file, without a name, with these bytes. */
int content_file(const void *bytes, size_t size);

/* Bytes that depend on the seed; `noise` of 256 does not compress, 2 does. */
void fill(uint8_t *bytes, size_t size, uint64_t seed, unsigned noise);

/* In refs/<namespace>. */
int try_publish(struct store *store, const char *name, const void *bytes,
		size_t size, struct version **v);
void publish(struct store *store, const char *name, const void *bytes,
	     size_t size);

/*
 * What a client sees: opens `name` and reads all of it. 0 when it is exactly
 * these bytes, or the error; fails when it is something else.
 */
int try_read(struct store *store, const char *name, const void *bytes,
	     size_t size);
void assert_reads(struct store *store, const char *name, const void *bytes,
		  size_t size);

/*
 * Content that tells which it is: a size and bytes that follow from the seed,
 * which it begins with. The caller frees it.
 */
uint8_t *told_content(uint64_t seed, size_t *size);
/* Whether these are the bytes of told_content() for some seed: which. */
bool is_told_content(const uint8_t *bytes, size_t size, uint64_t *seed);
/*
 * Reads `name`, which must be told content when it can be read. Returns 0 and
 * the seed, or the error.
 */
int try_read_told(struct store *store, const char *name, uint64_t *seed);

struct store_measures measured(struct store *store);

/*
 * The path of a pack, below the store's directory; the first in the order of
 * names when there are several. False when there is none. Directories without
 * packs are removed.
 */
bool first_pack(const struct fixture *f, char path[PACK_NAME_SIZE]);
/* The same, but touches nothing; any of them, while others write. */
bool any_pack(const struct fixture *f, char path[PACK_NAME_SIZE]);
void remove_packs(const struct fixture *f);

/* A file below the store's directory. */
size_t file_size(const struct fixture *f, const char *path);
void flip_byte(const struct fixture *f, const char *path, size_t at);
void cut_file(const struct fixture *f, const char *path, size_t size);
bool file_exists(const struct fixture *f, const char *path);
void remove_file(const struct fixture *f, const char *path);

void remove_tree(const char *path);

#endif
