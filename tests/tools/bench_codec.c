/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_codec DIRECTORY: what chunking, hashing and each way of encoding blocks
 * cost and save on the files below a directory. The choice of the LZ4HC level
 * in codec/block.c rests on it. Prints one line per method; the ratio is of the
 * distinct blocks only, without tables and manifests.
 */
#include <errno.h>
#include <fts.h>
#include <lz4.h>
#include <lz4hc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "codec/block.h"
#include "codec/chunk.h"

struct piece {
	const uint8_t *bytes;
	struct block_id id;
	struct block_reference reference; /* of the file before, if any */
};

struct pieces {
	struct piece *all;
	size_t count;
	size_t capacity;
};

struct file {
	uint8_t *bytes;
	size_t size;
	size_t first; /* its pieces */
	size_t count;
};

struct files {
	struct file *all;
	size_t count;
	size_t capacity;
};

struct method {
	const char *name;
	int level; /* 0 for LZ4 fast */
	int with_reference;
};

static const struct method methods[] = {
	{ "LZ4", 0, 0 },
	{ "LZ4HC 3", 3, 0 },
	{ "LZ4HC 6", 6, 0 },
	{ "LZ4HC 9", 9, 0 },
	{ "LZ4HC 10", 10, 0 },
	{ "LZ4HC 12", 12, 0 },
	{ "LZ4 + reference", 0, 1 },
	{ "LZ4HC 6 + reference", 6, 1 },
	{ "LZ4HC 9 + reference", 9, 1 },
	{ "LZ4HC 10 + reference", 10, 1 },
	{ "LZ4HC 12 + reference", 12, 1 },
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what)
{
	perror(what);
	exit(EXIT_FAILURE);
}

static void *grown(void *all, size_t *capacity, size_t count, size_t size)
{
	if (count < *capacity)
		return all;
	*capacity = *capacity ? *capacity * 2 : 1024;
	all = reallocarray(all, *capacity, size);
	if (!all)
		die("memory");
	return all;
}

static struct file load(const char *path, size_t size)
{
	struct file file = { .bytes = malloc(size), .size = size };
	FILE *in = fopen(path, "rb");

	if (!in || !file.bytes || fread(file.bytes, 1, size, in) != size)
		die(path);
	fclose(in);
	return file;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
	return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void load_all(char *directory, struct files *files)
{
	char *roots[] = { directory, NULL };
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, by_name);

	if (!walk)
		die(directory);
	for (FTSENT *entry; (entry = fts_read(walk));) {
		if (entry->fts_info != FTS_F || !entry->fts_statp->st_size)
			continue;
		files->all = grown(files->all, &files->capacity, files->count,
				   sizeof(*files->all));
		files->all[files->count++] = load(
			entry->fts_path, (size_t)entry->fts_statp->st_size);
	}
	fts_close(walk);
}

static size_t total_size(const struct files *files)
{
	size_t total = 0;

	for (size_t i = 0; i < files->count; i++)
		total += files->all[i].size;
	return total;
}

static void cut(struct file *file, struct pieces *pieces)
{
	file->first = pieces->count;
	for (size_t at = 0, size; at < file->size; at += size) {
		size = chunk_first(file->bytes + at, file->size - at);
		pieces->all = grown(pieces->all, &pieces->capacity,
				    pieces->count, sizeof(*pieces->all));
		pieces->all[pieces->count++] =
			(struct piece){ .bytes = file->bytes + at,
					.id.size = (uint32_t)size };
	}
	file->count = pieces->count - file->first;
}

static void cut_all(const struct files *files, struct pieces *pieces)
{
	pieces->count = 0;
	for (size_t i = 0; i < files->count; i++)
		cut(&files->all[i], pieces);
}

/* The piece of the file before that lies at the same part of it. */
static void choose_references(const struct files *files, struct pieces *pieces)
{
	for (size_t i = 1; i < files->count; i++) {
		const struct file *old = &files->all[i - 1];
		const struct file *new = &files->all[i];

		for (size_t k = 0; k < new->count; k++) {
			size_t at = old->first + k * old->count / new->count;
			const struct piece *same = &pieces->all[at];

			pieces->all[new->first + k].reference =
				(struct block_reference){ same->bytes,
							  same->id.size };
		}
	}
}

static int by_id(const void *a, const void *b)
{
	const struct piece *one = a;
	const struct piece *two = b;

	return memcmp(one->id.digest.b, two->id.digest.b, DIGEST_SIZE);
}

static void drop_duplicates(struct pieces *pieces)
{
	size_t kept = 0;

	qsort(pieces->all, pieces->count, sizeof(*pieces->all), by_id);
	for (size_t i = 0; i < pieces->count; i++)
		if (!kept || by_id(&pieces->all[kept - 1], &pieces->all[i]))
			pieces->all[kept++] = pieces->all[i];
	pieces->count = kept;
}

static int encode(const struct method *method, const struct piece *piece,
		  struct block_reference reference, char *stored)
{
	static LZ4_streamHC_t small;
	static LZ4_stream_t fast;
	const char *raw = (const char *)piece->bytes;
	int size = (int)piece->id.size;

	if (!method->level) {
		LZ4_initStream(&fast, sizeof(fast));
		LZ4_loadDict(&fast, reference.bytes, (int)reference.size);
		return LZ4_compress_fast_continue(&fast, raw, stored, size,
						  size - 1, 1);
	}
	LZ4_initStreamHC(&small, sizeof(small));
	LZ4_resetStreamHC_fast(&small, method->level);
	LZ4_loadDictHC(&small, reference.bytes, (int)reference.size);
	return LZ4_compress_HC_continue(&small, raw, stored, size, size - 1);
}

static void measure(const struct method *method, const struct pieces *pieces)
{
	static char stored[BLOCK_MAX];
	double start = now();
	size_t raw = 0;
	size_t total = 0;
	double seconds;

	for (size_t i = 0; i < pieces->count; i++) {
		const struct piece *piece = &pieces->all[i];
		struct block_reference reference = { "", 0 };
		int size;

		if (method->with_reference && piece->reference.bytes)
			reference = piece->reference;
		size = encode(method, piece, reference, stored);
		raw += piece->id.size;
		total += size > 0 ? (size_t)size : piece->id.size;
	}
	seconds = now() - start;
	printf("%-24s %10zu  %6.2f  %8.1f\n", method->name, total,
	       (double)raw / (double)total, (double)raw / seconds * 1e-6);
}

int main(int argc, char **argv)
{
	struct files files = { 0 };
	struct pieces pieces = { 0 };
	double start, cutting, hashing;
	size_t total;

	if (argc != 2) {
		fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return EXIT_FAILURE;
	}
	load_all(argv[1], &files);
	total = total_size(&files);
	if (!total) {
		fprintf(stderr, "%s: no files\n", argv[1]);
		return EXIT_FAILURE;
	}
	cut_all(&files, &pieces); /* the first time fills the caches */
	start = now();
	cut_all(&files, &pieces);
	cutting = now();
	for (size_t i = 0; i < pieces.count; i++)
		pieces.all[i].id = block_id_of(pieces.all[i].bytes,
					       pieces.all[i].id.size, 1);
	hashing = now();
	printf("%zu files, %zu bytes, %zu chunks; chunking %.0f MB/s, block "
	       "ids %.0f MB/s\n",
	       files.count, total, pieces.count,
	       (double)total / (cutting - start) * 1e-6,
	       (double)total / (hashing - cutting) * 1e-6);
	choose_references(&files, &pieces);
	drop_duplicates(&pieces);
	printf("%zu distinct chunks\n%-24s %10s  %6s  %8s\n", pieces.count,
	       "method", "bytes", "ratio", "MB/s");
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		measure(&methods[i], &pieces);
	return EXIT_SUCCESS;
}
