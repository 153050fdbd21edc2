/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/pack_pool.h"

#include <errno.h>
#include <string.h>

#include "fs/descriptors.h"
#include "fs/store/pack_file.h"
#include "fs/store/state.h"

enum { MEMORY_MAX = 32 * 1024 * 1024 };

int pack_pool_init(struct pack_pool *pool)
{
	*pool = (struct pack_pool){
		.count_limit = descriptors_for(DESCRIPTORS_PACKS),
		.held_limit = descriptors_for(DESCRIPTORS_HELD),
	};
	return -pthread_mutex_init(&pool->lock, NULL);
}

/* Pack ids are random, so any of their bits will do. */
static struct pack **bucket_of(struct pack_pool *pool, const struct digest *id)
{
	size_t hash = (size_t)id->b[0] | (size_t)id->b[1] << 8;

	return &pool->buckets[hash % POOL_BUCKETS];
}

static struct pack *find(struct pack_pool *pool, const struct digest *id)
{
	struct pack *pack = *bucket_of(pool, id);

	while (pack && !digest_equal(&pack->table.id, id))
		pack = pack->chain;
	return pack;
}

static void unlink_age(struct pack_pool *pool, struct pack *pack)
{
	*(pack->newer ? &pack->newer->older : &pool->newest) = pack->older;
	*(pack->older ? &pack->older->newer : &pool->oldest) = pack->newer;
	pack->newer = NULL;
	pack->older = NULL;
}

static void link_newest(struct pack_pool *pool, struct pack *pack)
{
	pack->older = pool->newest;
	*(pool->newest ? &pool->newest->newer : &pool->oldest) = pack;
	pool->newest = pack;
}

static void list(struct pack_pool *pool, struct pack *pack)
{
	struct pack **bucket = bucket_of(pool, &pack->table.id);

	pack->chain = *bucket;
	*bucket = pack;
	link_newest(pool, pack);
	pack->listed = true;
	pool->count++;
	pool->memory += pack_memory(pack);
}

static void unlist(struct pack_pool *pool, struct pack *pack)
{
	struct pack **at = bucket_of(pool, &pack->table.id);

	while (*at != pack)
		at = &(*at)->chain;
	*at = pack->chain;
	unlink_age(pool, pack);
	pack->listed = false;
	pool->count--;
	pool->memory -= pack_memory(pack);
}

/* Takes what is unused and too much out of the pool; the caller closes it. */
static struct pack *trim(struct pack_pool *pool, size_t count_limit)
{
	struct pack *trimmed = NULL;
	struct pack *pack = pool->oldest;

	while (pack &&
	       (pool->count > count_limit || pool->memory > MEMORY_MAX)) {
		struct pack *newer = pack->newer;

		if (!pack->users) {
			unlist(pool, pack);
			pack->chain = trimmed;
			trimmed = pack;
		}
		pack = newer;
	}
	return trimmed;
}

static void close_chain(struct pack *pack)
{
	while (pack) {
		struct pack *next = pack->chain;

		pack_close(pack);
		pack = next;
	}
}

void pack_pool_free(struct pack_pool *pool)
{
	close_chain(trim(pool, 0));
	pthread_mutex_destroy(&pool->lock);
}

static struct pack *take_open(struct pack_pool *pool, const struct digest *id)
{
	struct pack *pack;

	pthread_mutex_lock(&pool->lock);
	pack = find(pool, id);
	if (pack) {
		pack->users++;
		unlink_age(pool, pack);
		link_newest(pool, pack);
	}
	pthread_mutex_unlock(&pool->lock);
	return pack;
}

/* Nobody gets it any more; it is closed when its last user has put it. */
static void forget(struct store *store, struct pack *pack)
{
	struct pack_pool *pool = &store->pool;

	pthread_mutex_lock(&pool->lock);
	if (pack->listed)
		unlist(pool, pack);
	pthread_mutex_unlock(&pool->lock);
	pack_pool_put(store, pack);
}

bool pack_pool_has_room(struct pack_pool *pool)
{
	bool room;

	pthread_mutex_lock(&pool->lock);
	room = pool->count < pool->held_limit;
	pthread_mutex_unlock(&pool->lock);
	return room;
}

void pack_pool_shrink(struct pack_pool *pool)
{
	struct pack *trimmed;

	pthread_mutex_lock(&pool->lock);
	trimmed = trim(pool, 0);
	pthread_mutex_unlock(&pool->lock);
	close_chain(trimmed);
}

/* A pack that another thread opened meanwhile gives way to the newer one. */
static void add(struct pack_pool *pool, struct pack *pack)
{
	struct pack *trimmed;
	struct pack *other;

	pthread_mutex_lock(&pool->lock);
	pack->users = 1;
	other = find(pool, &pack->table.id);
	if (other)
		unlist(pool, other);
	list(pool, pack);
	trimmed = trim(pool, pool->count_limit);
	if (other && !other->users) {
		other->chain = trimmed;
		trimmed = other;
	}
	pthread_mutex_unlock(&pool->lock);
	close_chain(trimmed);
}

int pack_pool_get(struct store *store, const struct digest *id, bool fresh,
		  struct pack **out)
{
	struct pack *pack = take_open(&store->pool, id);
	int err;

	if (pack && fresh && !pack_is_current(pack)) {
		forget(store, pack);
		pack = NULL;
	}
	if (!pack) {
		err = pack_open(store, id, &pack);
		if (err == -EMFILE || err == -ENFILE || err == -ENOMEM) {
			pack_pool_shrink(&store->pool);
			err = pack_open(store, id, &pack);
		}
		if (err)
			return err;
		add(&store->pool, pack);
	}
	*out = pack;
	return 0;
}

void pack_pool_put(struct store *store, struct pack *pack)
{
	bool last;

	pthread_mutex_lock(&store->pool.lock);
	last = --pack->users == 0 && !pack->listed;
	pthread_mutex_unlock(&store->pool.lock);
	if (last)
		pack_close(pack);
}
