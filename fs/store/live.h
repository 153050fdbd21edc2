/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_LIVE_H
#define TACFS_FS_STORE_LIVE_H

/*
 * Which blocks of which packs manifests name: a bit for each block of the packs
 * that may be rewritten. A pack takes 32 bytes and its bits.
 *
 * It is a picture, taken while others publish. What it lacks is not lost: a
 * manifest that was not seen goes on naming the old pack.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "codec/manifest.h"
#include "codec/pack.h"
#include "fs/store/pack_set.h"
#include "fs/store/store.h"

struct live_pack {
	struct digest id;
	uint32_t blocks;
	bool pinned;  /* something names it that will not name another */
	size_t first; /* byte of its bits */
};

struct live {
	struct live_pack *packs; /* in the order of their ids */
	size_t count;
	size_t capacity;
	uint8_t *bits;
	size_t used; /* bytes of them */
	size_t room;
	struct pack_set referred; /* to by other packs */
	struct pack_set closed;	  /* which may refer to any */
};

/* Asked once in LIVE_TICK files: 0, or an error that ends the work. */
struct live_ticker {
	int (*goes_on)(void *context, size_t files);
	void *context;
	size_t files;
};
enum { LIVE_TICK = 256 };
int live_tick(struct live_ticker *ticker);

/*
 * Lists the packs in packs/ that may be rewritten: of our own uid, last changed
 * before `before`, with more than one block, and not what another pack refers
 * to. Returns 0 or a negative errno; live_free() also then.
 */
int live_scan(struct store *store, int64_t before, struct live_ticker *ticker,
	      struct live *live);
void live_free(struct live *live);

/* Notes what a manifest needs; `stays`: it will not be replaced. */
void live_mark(struct live *live, const struct manifest *m, bool stays);

/* NULL for one that may not be rewritten, whatever the reason. */
const struct live_pack *live_find(const struct live *live,
				  const struct digest *id);
bool live_has(const struct live *live, const struct live_pack *pack,
	      uint32_t number);
/* How many blocks before `number` are live. */
uint32_t live_before(const struct live *live, const struct live_pack *pack,
		     uint32_t number);
/* The references that live blocks have to blocks of their pack are live, too.
 */
void live_follow(struct live *live, const struct live_pack *pack,
		 const struct pack_table *table);

#endif
