/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A manifest, as it is and with its checksum made right. What the reader
 * accepts the writer must accept, and what it then writes must read the same.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/manifest.h"
#include "tests/unit/reseal.h"

enum { ARENA_LIMIT = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_back(const struct manifest *m)
{
	struct writer once = writer_upto(MANIFEST_MAX);
	struct writer twice = writer_upto(MANIFEST_MAX);
	struct arena arena = arena_upto(ARENA_LIMIT);
	struct manifest back;
	const char *why;

	if (manifest_write(m, &once) ||
	    manifest_parse(once.bytes, once.size, &arena, &back, &why) ||
	    manifest_write(&back, &twice) || once.size != twice.size ||
	    memcmp(once.bytes, twice.bytes, once.size) != 0)
		abort();
	arena_free(&arena);
	writer_free(&once);
	writer_free(&twice);
}

/* Each attribute is removed and set again, which must change nothing. */
static void change_xattrs(struct xattrs all)
{
	struct xattr at = { .name = NULL };

	while (xattrs_next(all, &at)) {
		struct writer without = writer_upto(XATTRS_MAX);
		struct writer again = writer_upto(XATTRS_MAX);
		struct xattr_change change = { .name = at.name };

		if (xattrs_change(all, &change, &without))
			abort();
		change.value = at.value;
		change.size = at.size;
		change.create = true;
		if (xattrs_change(
			    (struct xattrs){ without.bytes, without.size },
			    &change, &again) ||
		    !xattrs_equal(all,
				  (struct xattrs){ again.bytes, again.size }))
			abort();
		writer_free(&without);
		writer_free(&again);
	}
}

static void try(const uint8_t *data, size_t size)
{
	struct arena arena = arena_upto(ARENA_LIMIT);
	struct manifest m;
	const char *why;

	if (!manifest_parse(data, size, &arena, &m, &why)) {
		write_back(&m);
		change_xattrs(m.xattrs);
	}
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct writer copy = writer_upto(size);

	try(data, size);
	writer_put(&copy, data, size);
	reseal_manifest(copy.bytes, copy.size);
	try(copy.bytes, copy.size);
	writer_free(&copy);
	return 0;
}
