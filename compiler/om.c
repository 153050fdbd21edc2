/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/om.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "codec/reader.h"
#include "compiler/verdict.h"

enum { FLOW_MODEL = 3 };

static_assert(sizeof(struct om_header) == OM_HEADER_SIZE, "om header layout");

/* A table's entries in files of two ages; the older has 32-bit sizes. */
struct om_partition {
	le32 type;
	le32 padding;
	le64 offset;
	le64 size;
};
static_assert(sizeof(struct om_partition) == 24, "om partition layout");

struct om_tiny_partition {
	le32 type;
	le32 offset;
	le32 size;
};
static_assert(sizeof(struct om_tiny_partition) == 12, "tiny partition layout");

static bool is_zero(const struct om_header *header)
{
	static const struct om_header zero;

	return memcmp(header, &zero, sizeof(zero)) == 0;
}

static bool has_tiny_tables(const struct om_header *header)
{
	return !le64_get(header->model_length) &&
	       header->model_type != FLOW_MODEL;
}

/* The size of the partitions together, from one table. */
static uint64_t read_table(struct reader *in, bool tiny)
{
	uint32_t count = reader_le32(in);
	uint64_t sum = 0;

	if (!tiny)
		reader_le32(in); /* padding */
	if (!count || count > OM_PARTITIONS_MAX)
		reader_fail(in, -EBADMSG, "a table has no sensible length");
	for (uint32_t i = 0; i < count && !in->err; i++) {
		struct om_partition large;
		struct om_tiny_partition small;
		uint64_t size;

		if (tiny) {
			reader_copy(in, &small, sizeof(small));
			size = le32_get(small.size);
		} else {
			reader_copy(in, &large, sizeof(large));
			size = le64_get(large.size);
		}
		if (__builtin_add_overflow(sum, size, &sum))
			reader_fail(in, -EBADMSG, "a partition is too large");
	}
	return sum;
}

/* Walks over the models; in->err tells whether they lie inside the file. */
static void walk_models(struct reader *in, const struct om_header *header)
{
	uint32_t count = le32_get(header->model_count);

	if (count > OM_MODELS_MAX)
		reader_fail(in, -EBADMSG, "there are too many models");
	for (uint32_t i = 0; i < (count ? count : 1) && !in->err; i++) {
		uint64_t size = read_table(in, has_tiny_tables(header));

		if (!in->err && size > reader_left(in))
			reader_fail(in, -EBADMSG,
				    "the partitions are longer than the file");
		reader_take(in, (size_t)size);
	}
}

/* What no older or newer graph engine has written either. */
static bool judge_header(const struct om_header *header, size_t size,
			 struct verdict *verdict)
{
	if (size < OM_HEADER_SIZE)
		verdict_set(verdict, UNSOUND, size,
			    size ? "the file ends within its header"
				 : "the file is empty");
	else if (is_zero(header))
		verdict_set(verdict, UNSOUND, 0, "the header is zero");
	else if (memcmp(header->magic, "IMOD", sizeof(header->magic)) != 0)
		verdict_set(verdict, FOREIGN, 0, "not a model: no \"IMOD\"");
	else if (le32_get(header->header_size) != OM_HEADER_SIZE)
		verdict_set(verdict, FOREIGN,
			    offsetof(struct om_header, header_size),
			    "a header of %" PRIu32 " bytes, not %d",
			    le32_get(header->header_size), OM_HEADER_SIZE);
	else
		return true;
	return false;
}

/* Whether the length that the header states, if it does, is the file's. */
static bool judge_length(const struct om_header *header, size_t size,
			 struct verdict *verdict)
{
	uint64_t stated = le64_get(header->model_length);
	size_t where = offsetof(struct om_header, model_length);

	if (!stated) {
		stated = le32_get(header->length);
		where = offsetof(struct om_header, length);
	}
	if (!stated || stated == size - OM_HEADER_SIZE)
		return true;
	verdict_set(verdict, UNSOUND, where,
		    "%zu bytes follow the header, which states %" PRIu64,
		    size - OM_HEADER_SIZE, stated);
	return false;
}

static bool states_length(const struct om_header *header)
{
	return le64_get(header->model_length) || le32_get(header->length);
}

void om_judge(const void *bytes, size_t size, struct verdict *verdict)
{
	const struct om_header *header = bytes;
	struct reader in = reader_over(bytes, size);

	if (!judge_header(header, size, verdict) ||
	    !judge_length(header, size, verdict))
		return;
	if (header->is_encrypted) {
		verdict_set(verdict, FOREIGN,
			    offsetof(struct om_header, is_encrypted),
			    "the model is encrypted");
		return;
	}
	reader_take(&in, OM_HEADER_SIZE);
	walk_models(&in, header);
	if (in.err)
		verdict_set(verdict, UNSOUND, in.where, "%s", in.why);
	else if (!states_length(header) && reader_left(&in))
		verdict_set(verdict, FOREIGN, reader_offset(&in),
			    "no length is stated, and no table covers the end");
	else
		verdict_sound(verdict);
}
