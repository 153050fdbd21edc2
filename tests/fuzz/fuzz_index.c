/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an .idx; what it names are names. */
#include <stdlib.h>
#include <string.h>

#include "compiler/index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct index_names names;
	struct verdict verdict;

	index_read(data, size, &verdict, &names);
	if ((verdict.soundness == SOUND) != (names.count > 0))
		abort();
	for (size_t i = 0; i < names.count; i++)
		if (!*names.names[i] || strchr(names.names[i], '/') ||
		    strcmp(names.names[i], ".") == 0 ||
		    strcmp(names.names[i], "..") == 0)
			abort();
	index_names_free(&names);
	return 0;
}
