/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/blocks.h"
#include "fs/store/state.h"
#include "fs/store/version_state.h"

enum { REASON_SIZE = 160, PIECE_SIZE = 256 * 1024 };

/* Collects the packs that a version was found whole in. */
struct proving {
	struct block_witness witness; /* first: it is what others see of it */
	struct version_check *check;
	struct block_room room;
	bool settled; /* all of them */
};

static bool has_proof(const struct version_check *check,
		      const struct pack *pack)
{
	for (size_t i = check->proof_count; i-- > 0;)
		if (digest_equal(&check->proof[i].pack, &pack->table.id) &&
		    identity_equal(&check->proof[i].identity, &pack->identity))
			return true;
	return false;
}

static int add_proof(struct block_witness *witness, const struct pack *pack,
		     bool settled)
{
	struct proving *proving = (struct proving *)witness;
	struct version_check *check = proving->check;
	struct version_proof *proof = check->proof;

	if (!settled)
		proving->settled = false;
	if (has_proof(check, pack))
		return 0;
	if (check->proof_count == check->proof_capacity) {
		size_t capacity = check->proof_capacity * 2 + 1;

		proof = reallocarray(proof, capacity, sizeof(*proof));
		if (!proof)
			return -ENOMEM;
		check->proof = proof;
		check->proof_capacity = capacity;
	}
	proof[check->proof_count++] = (struct version_proof){
		.pack = pack->table.id,
		.identity = pack->identity,
	};
	return 0;
}

static int verify_blocks(struct store *store, const struct version *v,
			 struct proving *proving, size_t *failed)
{
	const struct manifest *m = &v->manifest;

	for (size_t i = 0; i < m->block_count; i++) {
		const struct manifest_block *block = &m->blocks[i];
		struct block_want want = {
			.id = block->id,
			.place = { .pack = m->packs[block->pack],
				   .number = block->number },
		};
		int err = blocks_verify(store, &want, &proving->room,
					&proving->witness);

		*failed = i;
		if (err)
			return err;
	}
	*failed = m->block_count;
	return 0;
}

/* Whether nothing has changed since the blocks were found whole. */
static bool proof_holds(const struct store *store,
			const struct version_check *check)
{
	for (size_t i = 0; check->proven && i < check->proof_count; i++) {
		struct file_identity now;
		char path[PACK_PATH_SIZE];
		struct stat st;

		pack_path(&check->proof[i].pack, path);
		if (fd_stat_at(store->packs, path, &st) < 0)
			return false;
		now = identity_of(&st);
		if (!identity_equal(&now, &check->proof[i].identity))
			return false;
	}
	return check->proven;
}

/*
 * An id does not prove that a block found elsewhere, or in the pack of another
 * user, is the one that was meant (docs/format.md, "Hashes"); the SHA-256 of
 * the whole file does.
 */
int version_hash(struct store *store, struct version *v)
{
	AUTO_FREE uint8_t *piece = malloc(PIECE_SIZE);
	struct file_hash *hash = file_hash_new();
	uint8_t sha256[SHA256_SIZE];
	struct digest digest;
	uint64_t offset = 0;
	ssize_t got = -ENOMEM;

	while (piece && hash &&
	       (got = version_read_any(store, v, offset, piece, PIECE_SIZE)) >
		       0) {
		file_hash_add(hash, piece, (size_t)got);
		offset += (uint64_t)got;
	}
	if (!got)
		file_hash_end(hash, &digest, sha256);
	file_hash_free(hash);
	if (got)
		return (int)got;
	return memcmp(sha256, v->manifest.meta.sha256, SHA256_SIZE) ? -ENOENT
								    : 0;
}

static int prove(struct store *store, struct version *v, size_t *failed)
{
	struct version_check *check = v->check;
	AUTO_FREE struct proving *proving = malloc(sizeof(*proving));
	int err;

	if (!proving)
		return -ENOMEM;
	proving->witness.saw = add_proof;
	proving->witness.moved = false;
	proving->witness.unread = false;
	proving->check = check;
	proving->settled = true;
	check->proven = false;
	check->proof_count = 0;
	err = verify_blocks(store, v, proving, failed);
	if (!err && (proving->witness.moved || store_is_mixed(store)))
		err = version_hash(store, v);
	if (!err)
		check->proven = proving->settled;
	return err;
}

/* A pack that is there, but of nobody whom this mount trusts. */
static bool is_withheld(const struct store *store, const struct digest *id)
{
	char path[PACK_PATH_SIZE];
	struct stat st;

	pack_path(id, path);
	return fd_stat_at(store->packs, path, &st) == 0 &&
	       !store_vouches(store, &st);
}

/*
 * Whether another's manifest names such packs. Then it is not damaged: its
 * publisher trusts more users than this mount does.
 */
static bool any_withheld(const struct store *store, const struct manifest *m)
{
	if (m->meta.uid == store->uid)
		return false;
	for (size_t i = 0; i < m->pack_count; i++)
		if (is_withheld(store, &m->packs[i]))
			return true;
	return false;
}

static int give_up(struct store *store, const struct version *v, int dir,
		   const char *name, size_t failed)
{
	const struct manifest *m = &v->manifest;
	char reason[REASON_SIZE] = "its blocks give other content";
	char text[DIGEST_TEXT_SIZE];

	if (any_withheld(store, m))
		return -ENOENT;
	if (store_is_removed(store)) /* the manifest is not to blame */
		return -EIO;
	if (failed < m->block_count) {
		digest_text(&m->packs[m->blocks[failed].pack], text);
		snprintf(reason, sizeof(reason),
			 "block %zu, %" PRIu32 " of pack %s, is lost", failed,
			 m->blocks[failed].number, text);
	}
	version_quarantine(store, v, dir, name, reason);
	return -ENOENT;
}

int version_verify(struct store *store, struct version *v, int dir,
		   const char *name)
{
	struct version_check *check = v->check;
	size_t failed = 0;
	int err = 0;

	if (!v->manifest.block_count)
		return 0;
	pthread_mutex_lock(&check->lock);
	if (!proof_holds(store, check))
		err = prove(store, v, &failed);
	pthread_mutex_unlock(&check->lock);
	return err == -ENOENT ? give_up(store, v, dir, name, failed) : err;
}

int version_check_withheld(struct store *store, struct version *v)
{
	struct version_check *check = v->check;
	size_t failed = 0;
	int err = 0;

	if (!any_withheld(store, &v->manifest))
		return 0;
	pthread_mutex_lock(&check->lock);
	if (!proof_holds(store, check))
		err = prove(store, v, &failed);
	pthread_mutex_unlock(&check->lock);
	return err == -ENOENT ? -EPERM : err;
}
