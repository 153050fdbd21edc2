/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/block_cache.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 16 * 1024 * 1024 };

struct cached_block {
	struct block_place place;
	struct block_id id;
	unsigned users; /* one of them is the cache, while it is listed */
	struct cached_block *chain;
	struct cached_block *newer;
	struct cached_block *older;
	uint8_t raw[];
};

void block_cache_init(struct block_cache *cache)
{
	*cache = (struct block_cache){ .bytes = 0 };
	pthread_mutex_init(&cache->lock, NULL);
}

static struct cached_block **bucket_of(struct block_cache *cache,
				       const struct block_place *place)
{
	uint64_t hash;

	memcpy(&hash, place->pack.b, sizeof(hash));
	hash = (hash ^ place->number) * UINT64_C(0x9e3779b97f4a7c15);
	return &cache->buckets[hash >> 32 & (CACHE_BUCKETS - 1)];
}

static struct cached_block *find(struct block_cache *cache,
				 const struct block_place *place)
{
	struct cached_block *block = *bucket_of(cache, place);

	while (block && !(block->place.number == place->number &&
			  digest_equal(&block->place.pack, &place->pack)))
		block = block->chain;
	return block;
}

static void unlink_age(struct block_cache *cache, struct cached_block *block)
{
	*(block->newer ? &block->newer->older : &cache->newest) = block->older;
	*(block->older ? &block->older->newer : &cache->oldest) = block->newer;
	block->newer = NULL;
	block->older = NULL;
}

static void link_newest(struct block_cache *cache, struct cached_block *block)
{
	block->older = cache->newest;
	*(cache->newest ? &cache->newest->newer : &cache->oldest) = block;
	cache->newest = block;
}

static size_t memory_of(const struct cached_block *block)
{
	return sizeof(*block) + block->id.size;
}

static void drop_user(struct cached_block *block)
{
	if (--block->users == 0)
		free(block);
}

static void unlist(struct block_cache *cache, struct cached_block *block)
{
	struct cached_block **at = bucket_of(cache, &block->place);

	while (*at != block)
		at = &(*at)->chain;
	*at = block->chain;
	unlink_age(cache, block);
	cache->bytes -= memory_of(block);
	drop_user(block);
}

static void list(struct block_cache *cache, struct cached_block *block)
{
	struct cached_block **bucket = bucket_of(cache, &block->place);

	block->chain = *bucket;
	*bucket = block;
	link_newest(cache, block);
	cache->bytes += memory_of(block);
	while (cache->oldest && cache->bytes > BYTES_MAX)
		unlist(cache, cache->oldest);
}

void block_cache_free(struct block_cache *cache)
{
	while (cache->oldest)
		unlist(cache, cache->oldest);
	pthread_mutex_destroy(&cache->lock);
}

bool block_cache_copy(struct block_cache *cache,
		      const struct block_place *place,
		      const struct block_id *id, size_t offset, void *bytes,
		      size_t size)
{
	struct cached_block *block;

	pthread_mutex_lock(&cache->lock);
	block = find(cache, place);
	if (block && !block_id_equal(&block->id, id))
		block = NULL;
	if (block) {
		block->users++;
		unlink_age(cache, block);
		link_newest(cache, block);
	}
	pthread_mutex_unlock(&cache->lock);
	if (!block)
		return false;
	memcpy(bytes, block->raw + offset, size);
	pthread_mutex_lock(&cache->lock);
	drop_user(block);
	pthread_mutex_unlock(&cache->lock);
	return true;
}

void block_cache_add(struct block_cache *cache, const struct block_place *place,
		     const struct block_id *id, const void *raw)
{
	struct cached_block *block = malloc(sizeof(*block) + id->size);
	struct cached_block *other;

	if (!block)
		return;
	*block =
		(struct cached_block){ .place = *place, .id = *id, .users = 1 };
	memcpy(block->raw, raw, id->size);
	pthread_mutex_lock(&cache->lock);
	other = find(cache, place);
	if (other)
		unlist(cache, other);
	list(cache, block);
	pthread_mutex_unlock(&cache->lock);
}
