/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/store_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/fd.h"
#include "fs/own.h"

struct store *fixture_open(const struct fixture *f)
{
	const struct store_config config = { .create = true };
	struct store *store;
	char why[256];

	assert_int_equal(store_open(f->path, &config, &store, why, sizeof(why)),
			 0);
	return store;
}

bool make_temp_dir(char dir[128])
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, 128, "%s/tacfs-test-XXXXXX", tmp ? tmp : "/tmp");
	return mkdtemp(dir);
}

int fixture_setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	if (!make_temp_dir(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/store", f->dir);
	f->store = fixture_open(f);
	*state = f;
	return 0;
}

int fixture_teardown(void **state)
{
	struct fixture *f = *state;

	store_close(f->store);
	remove_tree(f->dir);
	free(f);
	return 0;
}

void fixture_reopen(struct fixture *f)
{
	store_close(f->store);
	f->store = fixture_open(f);
}

void remove_tree(const char *path)
{
	char *roots[] = { strdup(path), NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);

	for (FTSENT *entry; walk && (entry = fts_read(walk));)
		if (entry->fts_info != FTS_D)
			remove(entry->fts_accpath);
	if (walk)
		fts_close(walk);
	free(roots[0]);
}

int content_file(const void *bytes, size_t size)
{
	int fd = memfd_create("content", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(fd_write_at(fd, bytes, size, 0), 0);
	return fd;
}

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

void fill(uint8_t *bytes, size_t size, uint64_t seed, unsigned noise)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(next(&seed) % noise);
}

int try_publish(struct store *store, const char *name, const void *bytes,
		size_t size, struct version **v)
{
	AUTO_CLOSE int fd = content_file(bytes, size);
	const struct publication p = {
		.dir = store_refs(store),
		.name = name,
		.content = fd,
		.meta = { .size = size, .mode = 0600, .ino = 7 },
	};

	return store_publish(store, &p, v);
}

void publish(struct store *store, const char *name, const void *bytes,
	     size_t size)
{
	struct version *v;

	assert_int_equal(try_publish(store, name, bytes, size, &v), 0);
	version_put(v);
}

static void assert_content(struct store *store, struct version *v,
			   const void *bytes, size_t size)
{
	AUTO_FREE uint8_t *read = malloc(size + 1);

	assert_non_null(read);
	assert_int_equal(version_meta(v)->size, size);
	assert_int_equal(version_read(store, v, 0, read, size + 1), size);
	assert_memory_equal(read, bytes, size);
}

int try_read(struct store *store, const char *name, const void *bytes,
	     size_t size)
{
	int refs = store_refs(store);
	struct version *v;
	int err = version_load(store, refs, name, &v);

	if (err)
		return err;
	err = version_verify(store, v, refs, name);
	if (!err)
		assert_content(store, v, bytes, size);
	version_put(v);
	return err;
}

void assert_reads(struct store *store, const char *name, const void *bytes,
		  size_t size)
{
	assert_int_equal(try_read(store, name, bytes, size), 0);
}

uint8_t *told_content(uint64_t seed, size_t *size)
{
	uint64_t state = seed;
	uint8_t *bytes;

	*size = sizeof(seed) + next(&state) % 60000;
	if (seed % 4 == 0)
		*size = sizeof(seed) + *size % 3000;
	bytes = malloc(*size);
	assert_non_null(bytes);
	fill(bytes, *size, seed, seed % 2 ? 256 : 4);
	memcpy(bytes, &seed, sizeof(seed));
	return bytes;
}

bool is_told_content(const uint8_t *bytes, size_t size, uint64_t *seed)
{
	AUTO_FREE uint8_t *expected = NULL;
	size_t expected_size;

	if (size < sizeof(*seed))
		return false;
	memcpy(seed, bytes, sizeof(*seed));
	expected = told_content(*seed, &expected_size);
	return size == expected_size && memcmp(bytes, expected, size) == 0;
}

static int read_told(struct store *store, struct version *v, uint64_t *seed)
{
	size_t size = version_meta(v)->size;
	AUTO_FREE uint8_t *bytes = malloc(size + 1);
	ssize_t got;

	assert_non_null(bytes);
	got = version_read(store, v, 0, bytes, size);
	if (got < 0)
		return (int)got;
	assert_int_equal(got, size);
	assert_true(is_told_content(bytes, size, seed));
	return 0;
}

int try_read_told(struct store *store, const char *name, uint64_t *seed)
{
	int refs = store_refs(store);
	struct version *v;
	int err = version_load(store, refs, name, &v);

	if (err)
		return err;
	err = version_verify(store, v, refs, name);
	if (!err)
		err = read_told(store, v, seed);
	version_put(v);
	return err;
}

struct store_measures measured(struct store *store)
{
	struct store_measures m;

	assert_int_equal(store_measure(store, &m), 0);
	return m;
}

static void full_path(const struct fixture *f, const char *path,
		      char full[PATH_MAX])
{
	snprintf(full, PATH_MAX, "%s/%s", f->path, path);
}

/* The first name, in order, that is no dot. */
static bool first_name(const char *path, char *name, size_t size)
{
	struct dirent **entries = NULL;
	int count = scandir(path, &entries, NULL, alphasort);
	bool found = false;

	for (int i = 0; i < count; i++) {
		if (!found && entries[i]->d_name[0] != '.') {
			snprintf(name, size, "%s", entries[i]->d_name);
			found = true;
		}
		free(entries[i]);
	}
	free(entries);
	return found;
}

bool first_pack(const struct fixture *f, char path[PACK_NAME_SIZE])
{
	char full[PATH_MAX];
	char fan[256];
	char name[256];

	full_path(f, "packs", full);
	while (first_name(full, fan, sizeof(fan))) {
		snprintf(path, PACK_NAME_SIZE, "packs/%.2s", fan);
		full_path(f, path, full);
		if (first_name(full, name, sizeof(name))) {
			snprintf(path, PACK_NAME_SIZE, "packs/%.2s/%.40s", fan,
				 name);
			return true;
		}
		assert_int_equal(rmdir(full), 0);
		full_path(f, "packs", full);
	}
	return false;
}

bool any_pack(const struct fixture *f, char path[PACK_NAME_SIZE])
{
	for (unsigned fan = 0; fan < 256; fan++) {
		char full[PATH_MAX];
		char name[256];

		snprintf(path, PACK_NAME_SIZE, "packs/%02x", fan);
		full_path(f, path, full);
		if (!first_name(full, name, sizeof(name)))
			continue;
		snprintf(path, PACK_NAME_SIZE, "packs/%02x/%.40s", fan, name);
		return true;
	}
	return false;
}

void remove_packs(const struct fixture *f)
{
	char path[PACK_NAME_SIZE];

	while (first_pack(f, path))
		remove_file(f, path);
}

size_t file_size(const struct fixture *f, const char *path)
{
	char full[PATH_MAX];
	struct stat st;

	full_path(f, path, full);
	assert_int_equal(stat(full, &st), 0);
	return (size_t)st.st_size;
}

void flip_byte(const struct fixture *f, const char *path, size_t at)
{
	char full[PATH_MAX];
	AUTO_CLOSE int fd = -1;
	uint8_t byte;

	full_path(f, path, full);
	fd = open(full, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fd_read_at(fd, &byte, 1, at), 0);
	byte ^= 0x10;
	assert_int_equal(fd_write_at(fd, &byte, 1, at), 0);
}

void cut_file(const struct fixture *f, const char *path, size_t size)
{
	char full[PATH_MAX];

	full_path(f, path, full);
	assert_int_equal(truncate(full, (off_t)size), 0);
}

bool file_exists(const struct fixture *f, const char *path)
{
	char full[PATH_MAX];

	full_path(f, path, full);
	return access(full, F_OK) == 0;
}

void remove_file(const struct fixture *f, const char *path)
{
	char full[PATH_MAX];

	full_path(f, path, full);
	assert_int_equal(unlink(full), 0);
}
