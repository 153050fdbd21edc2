/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A few files, what must be in them, and what is open or mapped. The model
 * knows POSIX and nothing else: a file has one content, which every descriptor
 * and every mapping shows at once.
 */
#ifndef TACFS_FILE_WORLD_H
#define TACFS_FILE_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
	WORLD_PAGE = 4096,
	WORLD_FILES = 3,
	WORLD_HANDLES = 6,
	WORLD_MAPS = 4,
	WORLD_FILE_MAX = 300000, /* what a file may grow to */
	WORLD_REGION = 50000,	 /* each process's part of the shared file */
	WORLD_LOG = 30,		 /* operations that a failure tells */
	WORLD_LINE = 160
};

struct file {
	char *path;
	uint8_t *data; /* WORLD_FILE_MAX bytes; zero from `size` on */
	size_t size;
	off_t base;  /* where in the real file the first byte is */
	bool region; /* of fixed size, with others' bytes before and behind it
		      */
};

struct handle {
	int fd; /* -1: not open */
	int flags;
	struct file *file;
	size_t at; /* the file offset, from the file's base */
};

struct map {
	uint8_t *bytes; /* NULL: no mapping */
	size_t length;
	off_t offset; /* in the real file */
	struct file *file;
	bool writable;
};

struct world {
	uint64_t seed;
	uint64_t state; /* of the random numbers */
	unsigned long op;
	size_t files;
	struct file file[WORLD_FILES + 1];
	struct handle handle[WORLD_HANDLES];
	struct map map[WORLD_MAPS];
	uint8_t *buffer; /* WORLD_FILE_MAX bytes, at a page boundary */
	char log[WORLD_LOG][WORLD_LINE];
};

/* Nothing is open. Exits with 2 when there is no memory. */
void world_init(struct world *w, uint64_t seed);
void world_free(struct world *w);

/*
 * Adds a file. It has the content of `model`, a file elsewhere, if that is
 * there, and is made empty if it is not.
 */
void world_add(struct world *w, const char *path, const char *model);

/* Adds the part `number` of a file that is there and has only zeros. */
void world_add_region(struct world *w, const char *path, size_t number);

/* Writes what must be in a file to `model`. */
void world_save(const struct world *w, const struct file *file,
		const char *model);

/* The next random number, below `below`; that is not 0. */
size_t world_pick(struct world *w, size_t below);

/* A place in the file or behind it, often at the end, or beside a page
 * boundary. */
size_t world_offset(struct world *w, const struct file *file);

/* A length from 1 on: short, or of some pages, or now and then much more. */
size_t world_length(struct world *w);

/* The operation that is about to be tried, for those who read of a failure. */
void world_note(struct world *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Says what was expected and seen, and how to see it again; exits with 1. */
_Noreturn void world_fail(const struct world *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Fails when a call that must succeed has not: with the errno in words. */
void world_expect(const struct world *w, bool success, const char *call);

/* Changes what must be in the file: bytes, or zeros when they are NULL. */
void world_put(struct file *file, size_t at, const void *bytes, size_t size);
void world_resize(struct file *file, size_t size);

/* Fails unless the bytes are those of the file from `at` on. */
void world_compare(const struct world *w, const struct file *file, size_t at,
		   const uint8_t *bytes, size_t size, const char *by);

/* What of a mapping may be touched, from the file's base: *from to *to. */
void world_mapped(const struct map *map, size_t *from, size_t *to);

/* Fails unless every descriptor and the path say the right size. */
void world_check_sizes(const struct world *w);

/* Fails unless an own open and reads in odd portions give the whole content. */
void world_check_content(struct world *w, const struct file *file);

#endif
