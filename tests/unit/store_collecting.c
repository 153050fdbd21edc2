/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/store_collecting.h"

#include <fts.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

const struct collect_options collect_all = {
	.intents = COLLECT_INTENT_SECONDS,
};

struct collect_result collected(struct store *store,
				const struct collect_options *options)
{
	struct collect_result result;
	int err = store_collect(store, options, &result);

	if (err)
		print_error("store_collect: %s\n", result.trouble);
	assert_int_equal(err, 0);
	return result;
}

size_t count_below(const struct fixture *f, const char *path)
{
	char full[PATH_MAX];
	char *roots[] = { full, NULL };
	size_t count = 0;
	FTS *walk;

	snprintf(full, sizeof(full), "%s/%s", f->path, path);
	walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	for (FTSENT *entry; walk && (entry = fts_read(walk));)
		count += entry->fts_info == FTS_F;
	if (walk)
		fts_close(walk);
	return count;
}
