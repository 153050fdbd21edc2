/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_CLI_MEASURES_H
#define TACFS_FS_CLI_MEASURES_H

/* The members of struct store_measures, one by one. */

#include <stddef.h>

#include "fs/store/measure.h"

struct measure {
	const char *name; /* of a member in JSON; of a metric, with a prefix */
	const char *help; /* one sentence, without a full stop */
	size_t offset;
};

/* Number `index`; NULL behind the last one. */
const struct measure *measure_at(size_t index);
uint64_t measure_value(const struct measure *measure,
		       const struct store_measures *m);

#endif
