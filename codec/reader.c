/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/reader.h"

#include <errno.h>
#include <string.h>

#include "codec/le.h"

struct reader reader_over(const void *bytes, size_t size)
{
	return (struct reader){
		.start = bytes,
		.pos = bytes,
		.end = size ? (const uint8_t *)bytes + size : bytes,
	};
}

void reader_fail(struct reader *r, int err, const char *why)
{
	if (r->err)
		return;
	r->err = err;
	r->why = why;
	r->where = reader_offset(r);
}

size_t reader_left(const struct reader *r)
{
	return (size_t)(r->end - r->pos);
}

size_t reader_offset(const struct reader *r)
{
	return (size_t)(r->pos - r->start);
}

const uint8_t *reader_take(struct reader *r, size_t size)
{
	const uint8_t *bytes = r->pos;

	if (r->err)
		return NULL;
	if (size > reader_left(r)) {
		reader_fail(r, -EBADMSG, "the input ends too early");
		return NULL;
	}
	if (size)
		r->pos += size;
	return bytes;
}

void reader_copy(struct reader *r, void *to, size_t size)
{
	const uint8_t *bytes = reader_take(r, size);

	if (!size)
		return;
	if (bytes)
		memcpy(to, bytes, size);
	else
		memset(to, 0, size);
}

uint8_t reader_u8(struct reader *r)
{
	uint8_t v;

	reader_copy(r, &v, sizeof(v));
	return v;
}

uint16_t reader_le16(struct reader *r)
{
	le16 v;

	reader_copy(r, &v, sizeof(v));
	return le16_get(v);
}

uint32_t reader_le32(struct reader *r)
{
	le32 v;

	reader_copy(r, &v, sizeof(v));
	return le32_get(v);
}

uint64_t reader_le64(struct reader *r)
{
	le64 v;

	reader_copy(r, &v, sizeof(v));
	return le64_get(v);
}

size_t reader_count(struct reader *r, size_t min_size)
{
	struct reader before = *r;
	size_t count = reader_le32(r);

	if (r->err)
		return 0;
	if (min_size && count > reader_left(r) / min_size) {
		*r = before;
		reader_fail(r, -EBADMSG, "a count is larger than the input");
		return 0;
	}
	return count;
}
