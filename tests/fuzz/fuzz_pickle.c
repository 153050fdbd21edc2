/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a compiled_module: judged twice alike, and what is taken apart
 * lies inside the input and is a whole pickle.
 */
#include <stdlib.h>
#include <string.h>

#include "compiler/compiled_module.h"
#include "compiler/pickle_scan.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_inside(const uint8_t *data, size_t size, struct text text)
{
	if (text.bytes < data || text.size > size ||
	    text.bytes > data + size - text.size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct compiled_module module;
	struct verdict first, second;
	struct fault fault;
	const char *why;
	size_t where;

	compiled_module_judge(data, size, &first);
	compiled_module_judge(data, size, &second);
	if (first.soundness != second.soundness || first.where > size ||
	    strcmp(first.reason, second.reason) != 0)
		abort();
	if (compiled_module_read(data, size, &module, &fault) == 0) {
		check_inside(data, size, module.compiled_fn);
		check_inside(data, size, module.py_code);
		if (pickle_scan(data, size, &why, &where) != PICKLE_WHOLE)
			abort();
	}
	compiled_module_salvage(data, size, &module);
	return 0;
}
