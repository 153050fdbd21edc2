/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_CODEC_MANIFEST_H
#define TACFS_CODEC_MANIFEST_H

/*
 * A manifest is one published version of one file: its attributes, its
 * whole-file hashes, what was found about its soundness, and where its blocks
 * are; the content itself when that is tiny. docs/format.md, "Manifests".
 */

#include <stddef.h>
#include <stdint.h>

#include "codec/arena.h"
#include "codec/block.h"
#include "codec/writer.h"
#include "codec/xattrs.h"

enum {
	MANIFEST_VERSION = 1,
	MANIFEST_INLINE_MAX = 2048, /* bytes of content kept in the manifest */
	MANIFEST_NAMES_MAX = 1024,
	MANIFEST_MAX = 512 * 1024 * 1024
};

/* How a version was judged when it was published. */
enum manifest_verdict {
	VERDICT_PLAIN = 0, /* not an artifact: nothing to judge */
	VERDICT_SOUND = 1,
	VERDICT_FOREIGN = 2
};

struct manifest_meta {
	uint64_t ino;  /* st_ino; kept when the file is rewritten */
	uint64_t size; /* bytes of content */
	uint32_t mode; /* permission bits, with setuid, setgid, sticky */
	int64_t mtime_sec;
	uint32_t mtime_nsec; /* below 1,000,000,000 */
	uint32_t uid, gid;   /* of the publisher */
	uint8_t kind;	     /* enum artifact_kind, as published */
	uint8_t verdict;     /* enum manifest_verdict */
	uint32_t renderer;   /* READABLE_REVISION that gave readable_size */
	uint64_t readable_size;
	struct digest digest;
	uint8_t sha256[SHA256_SIZE];
	uint64_t stored;   /* bytes that its blocks take, compressed; without
			      blocks, or when that is not known: size */
	int64_t atime_sec; /* as it was set; else the mtime */
	uint32_t atime_nsec;
};

struct manifest_block {
	struct block_id id;
	uint32_t pack;	 /* index into `packs` */
	uint32_t number; /* of the block in that pack: a hint */
	uint64_t start;	 /* of the block in the file; not stored */
};

struct manifest {
	struct manifest_meta meta;
	const uint8_t *content; /* inline, meta.size bytes; NULL with blocks */
	struct digest *packs;
	size_t pack_count;
	struct manifest_block *blocks;
	size_t block_count;
	const char **names; /* the files that an .idx names, in its directory */
	size_t name_count;
	struct xattrs xattrs;
};

/* -EINVAL when `m` breaks a rule that manifest_parse() checks; writer errors */
int manifest_write(const struct manifest *m, struct writer *out);

/*
 * Reads a whole manifest file. What it returns points into `bytes` and the
 * arena. Checked: the checksum; that the blocks' sizes add up to meta.size;
 * every pack index; that names are file names (no '/', not empty, no NUL);
 * the extended attributes.
 * Returns 0; -EBADMSG; -ENOTSUP when it is sound but has a newer version or a
 * critical section unknown to this reader; -ENOMEM. On failure *why says what
 * is wrong (a static string).
 */
int manifest_parse(const void *bytes, size_t size, struct arena *arena,
		   struct manifest *out, const char **why);

#endif
