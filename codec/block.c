/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/block.h"

#include <errno.h>
#include <lz4.h>
#include <lz4hc.h>
#include <stdlib.h>
#include <string.h>

enum {
	HC_LEVEL = 9,
	/* What a reference must save: its entry in the pack's table. */
	REFERENCE_COST = 48
};

/* Too large for a thread's stack; BLOCK_FAST without a reference has none. */
struct scratch {
	LZ4_streamHC_t small;
	char stored[BLOCK_MAX];
};

struct block_id block_id_of(const void *raw, size_t size, uint64_t seed)
{
	return (struct block_id){
		.digest = digest_of(raw, size),
		.check = check_of(raw, size, seed),
		.size = (uint32_t)size,
	};
}

bool block_id_equal(const struct block_id *a, const struct block_id *b)
{
	return a->size == b->size && a->check == b->check &&
	       digest_equal(&a->digest, &b->digest);
}

/* These give the stored size, or 0 when more than `room` would be needed. */
static int encode_fast(const char *raw, int size,
		       struct block_reference reference, char *stored, int room)
{
	LZ4_stream_t stream;

	if (!reference.bytes)
		return LZ4_compress_default(raw, stored, size, room);
	LZ4_initStream(&stream, sizeof(stream));
	LZ4_loadDict(&stream, reference.bytes, (int)reference.size);
	return LZ4_compress_fast_continue(&stream, raw, stored, size, room, 1);
}

static int encode_small(struct scratch *s, const char *raw, int size,
			struct block_reference reference, char *stored,
			int room)
{
	LZ4_streamHC_t *stream = LZ4_initStreamHC(&s->small, sizeof(s->small));

	LZ4_resetStreamHC_fast(stream, HC_LEVEL);
	if (reference.bytes)
		LZ4_loadDictHC(stream, reference.bytes, (int)reference.size);
	return LZ4_compress_HC_continue(stream, raw, stored, size, room);
}

/* LZ4HC is slow to find out that nothing gains; LZ4 is asked first. */
static int encode_alone(struct scratch *s, const char *raw, int size,
			enum block_effort effort, char *stored)
{
	struct block_reference none = { NULL, 0 };
	int fast = encode_fast(raw, size, none, stored, size - 1);

	if (fast <= 0 || effort == BLOCK_FAST)
		return fast;
	return encode_small(s, raw, size, none, stored, size - 1);
}

/* Into s->stored. `alone` is what encode_alone() gave. */
static int encode_against(struct scratch *s, const char *raw, int size,
			  enum block_effort effort,
			  struct block_reference reference, int alone)
{
	int room = (alone > 0 ? alone : size) - REFERENCE_COST - 1;
	int fast = 0;

	if (room <= 0)
		return 0;
	if (effort == BLOCK_FAST)
		return encode_fast(raw, size, reference, s->stored, room);
	if (alone <= 0)
		fast = encode_fast(raw, size, reference, s->stored, room);
	if (alone <= 0 && fast <= 0)
		return 0;
	return encode_small(s, raw, size, reference, s->stored, room);
}

/* The best of all encodings, into `stored`. */
static int encode(struct scratch *s, const void *raw, int size,
		  enum block_effort effort, struct block_reference reference,
		  void *stored, enum block_encoding *encoding)
{
	int alone = encode_alone(s, raw, size, effort, stored);
	int against = 0;

	if (s && reference.bytes)
		against =
			encode_against(s, raw, size, effort, reference, alone);
	if (against > 0) {
		memcpy(stored, s->stored, (size_t)against);
		*encoding = BLOCK_LZ4_REFERENCE;
		return against;
	}
	if (alone > 0) {
		*encoding = BLOCK_LZ4;
		return alone;
	}
	memcpy(stored, raw, (size_t)size);
	*encoding = BLOCK_RAW;
	return size;
}

int block_encode(const void *raw, size_t size, enum block_effort effort,
		 struct block_reference reference, void *stored,
		 size_t *stored_size, enum block_encoding *encoding)
{
	struct scratch *s = NULL;

	if (effort != BLOCK_FAST || reference.bytes) {
		s = malloc(sizeof(*s));
		if (!s)
			return -ENOMEM;
	}
	*stored_size = (size_t)encode(s, raw, (int)size, effort, reference,
				      stored, encoding);
	free(s);
	return 0;
}

/* How many bytes come out; negative for input that does not decode. */
static int decode(enum block_encoding encoding, const void *stored, int length,
		  struct block_reference reference, void *raw, int size)
{
	switch (encoding) {
	case BLOCK_RAW:
		if (length == size)
			memcpy(raw, stored, (size_t)size);
		return length;
	case BLOCK_LZ4:
		return LZ4_decompress_safe(stored, raw, length, size);
	case BLOCK_LZ4_REFERENCE:
		if (!reference.bytes || reference.size > BLOCK_MAX)
			return -1;
		return LZ4_decompress_safe_usingDict(stored, raw, length, size,
						     reference.bytes,
						     (int)reference.size);
	}
	return -1;
}

int block_decode(enum block_encoding encoding, const void *stored,
		 size_t stored_size, struct block_reference reference,
		 void *raw, size_t size)
{
	if (!size || size > BLOCK_MAX || !stored_size ||
	    stored_size > BLOCK_MAX)
		return -EBADMSG;
	if (decode(encoding, stored, (int)stored_size, reference, raw,
		   (int)size) != (int)size)
		return -EBADMSG;
	return 0;
}
