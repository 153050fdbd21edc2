/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_VERSION_STATE_H
#define TACFS_FS_STORE_VERSION_STATE_H

/* What a version is made of. For the files of fs/store only. */

#include <pthread.h>
#include <stdatomic.h>

#include "codec/arena.h"
#include "fs/store/identity.h"
#include "fs/store/version.h"

/* A pack in which blocks of a version were found whole. */
struct version_proof {
	struct digest pack;
	struct file_identity identity;
};

/* Which file a version is. Changes when the file is moved. */
struct version_file {
	pthread_mutex_t lock; /* of what follows; nothing is taken under it */
	struct file_identity identity;
	bool settled; /* see identity.h */
};

/* What is known about the blocks of a version. */
struct version_check {
	/*
	 * Of what follows. Held while the version is verified, so that many who
	 * open it wait for one. Locks of the pool and the index are taken under
	 * it.
	 */
	pthread_mutex_t lock;
	bool proven; /* all blocks are whole in the packs of the proof */
	struct version_proof *proof;
	size_t proof_count;
	size_t proof_capacity;
	struct pack **held; /* the packs of the proof, or NULL */
	size_t held_count;
	size_t holders;
	struct lease lease; /* while there are holders */
};

struct version {
	atomic_uint users;
	struct store *store;
	struct arena arena; /* owns the bytes and the manifest */
	const uint8_t *bytes;
	size_t size;
	struct manifest manifest;
	struct version_file *file; /* these two may change in a const version */
	struct version_check *check;
};

/*
 * A version from the bytes of its manifest, which are copied; with an identity
 * to be given later. Returns 0; -EBADMSG or -ENOTSUP with *why; -ENOMEM.
 */
int version_parse(struct store *store, const void *bytes, size_t size,
		  struct version **out, const char **why);

/*
 * Whether the file `name` in `dir` holds the very manifest of `v`: 0, -EAGAIN
 * when it does not, or why that cannot be told.
 */
int version_look_in(const struct version *v, int dir, const char *name);

/* As version_read(), but -ENOENT when a block is lost. */
ssize_t version_read_any(struct store *store, const struct version *v,
			 uint64_t offset, void *bytes, size_t size);

/*
 * Reads all of the content. -ENOENT when a block is lost, or it does not have
 * the SHA-256 that the manifest says.
 */
int version_hash(struct store *store, struct version *v);

/* The identity of its file, from a stat() made now. */
void version_identify(const struct version *v, const struct stat *st);

/*
 * Another's version may have blocks of users whom he trusts and we do not. It
 * must then be missing from the start, unless its blocks are elsewhere, too:
 * looks for them. Returns 0; -EPERM when they are not; other errnos.
 */
int version_check_withheld(struct store *store, struct version *v);

#endif
