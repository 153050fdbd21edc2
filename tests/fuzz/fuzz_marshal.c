/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as marshalled code: shown or refused by every Python, and what has
 * one that wrote it can be shown, but for its length.
 */
#include <errno.h>
#include <stdlib.h>

#include "compiler/show.h"

enum { TEXT_MAX = 1 << 18 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int show(const uint8_t *data, size_t size, const struct python *python)
{
	struct writer text = writer_upto(TEXT_MAX);
	struct fault fault;
	int err = show_dis(data, size, python, &text, &fault);

	if (!err && (!text.size || text.bytes[text.size - 1] != '\n'))
		abort();
	if (err && !fault.why)
		abort();
	writer_free(&text);
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct python *python;
	struct fault fault;
	int found = show_detect(data, size, &python, &fault);
	int err = show(data, size, NULL);

	if (err && !found && err != -EFBIG && err != -E2BIG && err != -ENOMEM)
		abort();
	for (size_t i = 0; i < PYTHON_COUNT; i++)
		show(data, size, python_at(i));
	return 0;
}
