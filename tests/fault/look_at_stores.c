/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Opens one store after the other, as a mount does, and says what a client
 * would read there. On stdin the path of a store, one a line; for each, on
 * stdout,
 *
 *     <path below refs/default, in hex> <SHA-256 of the content>
 *     <path below refs/default, in hex> -        it is a miss
 *     ! <what must not be>
 *     .                                          the end
 *
 * In some something new is then published, and read.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/publish.h"
#include "fs/store/store.h"

enum {
	SOME = 16,
	NEW_SIZE = 4096,
	DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC
};

static void print_hex(const void *bytes, size_t size)
{
	const uint8_t *from = bytes;

	for (size_t i = 0; i < size; i++)
		printf("%02x", from[i]);
}

static void complain(const char *path, const char *what, int err)
{
	printf("! %s: %s: %s\n", path, what, strerror(-err));
}

static int read_version(struct store *store, struct version *v,
			uint8_t sha256[SHA256_SIZE])
{
	size_t size = version_meta(v)->size;
	AUTO_FREE uint8_t *bytes = malloc(size + 1);
	struct file_hash *hash = file_hash_new();
	struct digest digest;
	ssize_t got = -ENOMEM;

	if (bytes && hash)
		got = version_read(store, v, 0, bytes, size + 1);
	if (got == (ssize_t)size) {
		file_hash_add(hash, bytes, size);
		file_hash_end(hash, &digest, sha256);
	}
	file_hash_free(hash);
	return got == (ssize_t)size ? 0 : got < 0 ? (int)got : -EIO;
}

/* What open() and read() of a client find. */
static int read_name(struct store *store, int dir, const char *name,
		     uint8_t sha256[SHA256_SIZE])
{
	struct version *v;
	int err = version_load(store, dir, name, &v);

	if (err)
		return err;
	err = version_verify(store, v, dir, name);
	if (!err) {
		err = read_version(store, v, sha256);
		if (err == -ENOENT)
			err = -EIO; /* too late for a miss */
	}
	version_put(v);
	return err;
}

static void look_at(struct store *store, int dir, const char *name,
		    const char *path)
{
	uint8_t sha256[SHA256_SIZE];
	int err = read_name(store, dir, name, sha256);

	if (err && err != -ENOENT) {
		complain(path, "reading", err);
		return;
	}
	print_hex(path, strlen(path));
	putchar(' ');
	if (err)
		putchar('-');
	else
		print_hex(sha256, sizeof(sha256));
	putchar('\n');
}

static void look_below(struct store *store, int parent, const char *name,
		       const char *path)
{
	AUTO_CLOSEDIR DIR *stream = NULL;
	int dir = openat(parent, name, DIR_FLAGS);
	struct dirent *entry;

	stream = dir < 0 ? NULL : fdopendir(dir);
	if (!stream) {
		complain(path, "listing", -errno);
		return;
	}
	while ((entry = readdir(stream))) {
		char below[PATH_MAX];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(below, sizeof(below), "%s%s%s", path, *path ? "/" : "",
			 entry->d_name);
		if (entry->d_type == DT_DIR)
			look_below(store, dir, entry->d_name, below);
		else
			look_at(store, dir, entry->d_name, below);
	}
}

/* Bytes that nothing else in the store has. */
static int new_content(void)
{
	int fd = memfd_create("new", MFD_CLOEXEC);
	AUTO_FREE uint32_t *words = malloc(NEW_SIZE);
	uint32_t word = 1;

	if (fd < 0 || !words)
		abort();
	for (size_t i = 0; i < NEW_SIZE / sizeof(*words); i++)
		words[i] = word = word * 1664525 + 1013904223;
	if (fd_write_at(fd, words, NEW_SIZE, 0) != 0)
		abort();
	return fd;
}

static void publish_new(struct store *store)
{
	static const char name[] = "after the crash";
	AUTO_CLOSE int content = new_content();
	uint8_t sha256[SHA256_SIZE];
	const struct publication p = {
		.dir = store_refs(store),
		.name = name,
		.content = content,
		.meta = { .size = NEW_SIZE, .mode = 0600, .ino = 7 },
	};
	struct version *v;
	int err = store_publish(store, &p, &v);

	if (!err) {
		version_put(v);
		err = read_name(store, store_refs(store), name, sha256);
	}
	if (err)
		complain(name, "publishing", err);
}

static void look_at_store(const char *path, bool publishes)
{
	const struct store_config config = { .create = true };
	struct store *store;
	char why[512];

	if (store_open(path, &config, &store, why, sizeof(why)) != 0) {
		printf("! %s\n", why);
		return;
	}
	look_below(store, store_refs(store), ".", "");
	if (publishes)
		publish_new(store);
	store_close(store);
}

int main(void)
{
	char path[PATH_MAX];
	size_t count = 0;

	umask(0);
	while (fgets(path, sizeof(path), stdin)) {
		path[strcspn(path, "\n")] = '\0';
		look_at_store(path, count++ % SOME == 0);
		puts(".");
		fflush(stdout);
	}
	return 0;
}
