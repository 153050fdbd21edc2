/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/live.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/pack_file.h"
#include "fs/store/state.h"

enum { FANS = 256, BITS = 8 };

static const struct digest this_pack;

struct scan {
	struct store *store;
	struct live *live;
	struct live_ticker *ticker;
	int64_t before;
	bool lists; /* what it finds, and does not only see what that refers to
		     */
};

int live_tick(struct live_ticker *ticker)
{
	return ++ticker->files % LIVE_TICK
		       ? 0
		       : ticker->goes_on(ticker->context, ticker->files);
}

void live_free(struct live *live)
{
	free(live->packs);
	free(live->bits);
	pack_set_free(&live->referred);
	pack_set_free(&live->closed);
	*live = (struct live){ .packs = NULL };
}

static int reserve(struct live *live, size_t bytes)
{
	if (live->count == live->capacity) {
		size_t capacity = live->capacity * 2 + BITS;
		struct live_pack *packs =
			reallocarray(live->packs, capacity, sizeof(*packs));

		if (!packs)
			return -ENOMEM;
		live->packs = packs;
		live->capacity = capacity;
	}
	if (live->room - live->used < bytes) {
		size_t room = live->room * 2 + bytes;
		uint8_t *bits = realloc(live->bits, room);

		if (!bits)
			return -ENOMEM;
		live->bits = bits;
		live->room = room;
	}
	return 0;
}

static int add(struct live *live, const struct pack_table *table)
{
	size_t bytes = table->block_count / BITS + 1;
	int err = reserve(live, bytes);

	if (err)
		return err;
	live->packs[live->count++] = (struct live_pack){
		.id = table->id,
		.blocks = (uint32_t)table->block_count,
		.first = live->used,
	};
	memset(live->bits + live->used, 0, bytes);
	live->used += bytes;
	return 0;
}

static int note_references(struct live *live, const struct pack_table *table)
{
	int err = 0;

	for (size_t i = 0; !err && i < table->reference_count; i++)
		if (!digest_equal(&table->references[i].pack, &this_pack))
			err = pack_set_mark(&live->referred,
					    &table->references[i].pack,
					    PACK_IS_USED);
	return err;
}

static int note_pack(const struct scan *scan, const struct pack *pack)
{
	struct stat st;
	int err = note_references(scan->live, &pack->table);

	if (err || !scan->lists || pack->table.block_count < 2)
		return err;
	if (fd_stat(pack->fd, &st) < 0)
		return -errno;
	if (st.st_uid != scan->store->uid || st.st_ctim.tv_sec >= scan->before)
		return 0;
	return add(scan->live, &pack->table);
}

/* One that is damaged has nothing that could need another. */
static int visit(const struct scan *scan, int dir, const char *name)
{
	struct pack_look look;
	struct pack *pack;
	struct digest id;
	int err;

	if (digest_from_text(name, &id))
		return 0;
	err = pack_open_file(scan->store, dir, name, &id, &pack, &look);
	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE)
		return err;
	if (err)
		return err == -EBADMSG ? 0
				       : pack_set_mark(&scan->live->closed, &id,
						       PACK_IS_CLOSED);
	err = note_pack(scan, pack);
	pack_close(pack);
	return err ? err : live_tick(scan->ticker);
}

static int scan_dir(const struct scan *scan, int parent, const char *name)
{
	AUTO_CLOSEDIR DIR *stream = fd_list(parent, name);
	struct dirent *entry;
	int err = 0;

	if (!stream)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	while (!err && (entry = fd_list_next(stream)))
		err = visit(scan, dirfd(stream), entry->d_name);
	return err ? err : -errno;
}

static int by_id(const void *a, const void *b)
{
	const struct live_pack *one = a, *other = b;

	return memcmp(one->id.b, other->id.b, DIGEST_SIZE);
}

/* Once all is sorted, and known what refers to what. */
static void settle(struct live *live)
{
	if (live->count)
		qsort(live->packs, live->count, sizeof(*live->packs), by_id);
	for (size_t i = 0; i < live->count; i++)
		live->packs[i].pinned =
			pack_set_marks(&live->referred, &live->packs[i].id);
	pack_set_free(&live->referred);
}

int live_scan(struct store *store, int64_t before, struct live_ticker *ticker,
	      struct live *live)
{
	struct scan scan = { .store = store,
			     .live = live,
			     .ticker = ticker,
			     .before = before,
			     .lists = true };
	int err = 0;

	*live = (struct live){ .packs = NULL };
	for (int i = 0; i < FANS && !err; i++) {
		char fan[3];

		snprintf(fan, sizeof(fan), "%02x", (unsigned)i);
		err = scan_dir(&scan, store->packs, fan);
	}
	scan.lists = false;
	if (!err)
		err = scan_dir(&scan, store->trash, "packs");
	if (!err)
		settle(live);
	return err;
}

static struct live_pack *find(const struct live *live, const struct digest *id)
{
	const struct live_pack key = { .id = *id };

	return live->count ? bsearch(&key, live->packs, live->count,
				     sizeof(key), by_id)
			   : NULL;
}

const struct live_pack *live_find(const struct live *live,
				  const struct digest *id)
{
	const struct live_pack *pack = find(live, id);

	return pack && !pack->pinned ? pack : NULL;
}

static void set(struct live *live, const struct live_pack *pack,
		uint32_t number)
{
	live->bits[pack->first + number / BITS] |=
		(uint8_t)(1u << number % BITS);
}

bool live_has(const struct live *live, const struct live_pack *pack,
	      uint32_t number)
{
	return live->bits[pack->first + number / BITS] >> number % BITS & 1;
}

uint32_t live_before(const struct live *live, const struct live_pack *pack,
		     uint32_t number)
{
	const uint8_t *bits = live->bits + pack->first;
	unsigned rest = bits[number / BITS] & ((1u << number % BITS) - 1);
	int count = __builtin_popcount(rest);

	for (uint32_t i = 0; i < number / BITS; i++)
		count += __builtin_popcount(bits[i]);
	return (uint32_t)count;
}

void live_follow(struct live *live, const struct live_pack *pack,
		 const struct pack_table *table)
{
	for (uint32_t i = 0; i < pack->blocks; i++) {
		int64_t number = table->blocks[i].reference;

		if (number == PACK_NO_REFERENCE || !live_has(live, pack, i))
			continue;
		if (digest_equal(&table->references[number].pack, &this_pack))
			set(live, pack, table->references[number].number);
	}
}

/* Also when the number is wrong: its blocks are found by their ids then. */
static bool is_closed(const struct live *live, const struct manifest *m)
{
	for (size_t i = 0; i < m->pack_count; i++)
		if (pack_set_marks(&live->closed, &m->packs[i]))
			return true;
	return false;
}

void live_mark(struct live *live, const struct manifest *m, bool stays)
{
	bool pins = stays || is_closed(live, m);
	struct live_pack *pack = NULL;
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < m->pack_count && pins; i++) {
		pack = find(live, &m->packs[i]);
		if (pack)
			pack->pinned = true;
	}
	for (size_t i = 0; i < m->block_count; i++) {
		const struct manifest_block *block = &m->blocks[i];

		if (block->pack != last)
			pack = find(live, &m->packs[block->pack]);
		last = block->pack;
		if (pack && block->number < pack->blocks)
			set(live, pack, block->number);
		else if (pack)
			pack->pinned = true;
	}
}
