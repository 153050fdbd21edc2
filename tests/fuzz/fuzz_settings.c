/* SPDX-License-Identifier: Apache-2.0 */
/*
 * settings, as it is and with its check made right. What is accepted is written
 * again as the same bytes; what is refused is told.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/digest.h"
#include "fs/store/lines.h"
#include "fs/store/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CHECK_SIZE = 24 };

static void try(const uint8_t *data, size_t size)
{
	struct writer text = writer_upto(LINES_SIZE_MAX);
	struct settings settings;
	char why[256] = "";

	if (settings_parse(data, size, &settings, why, sizeof(why))) {
		if (!why[0])
			abort();
		return;
	}
	settings_write(&settings, &text);
	if (text.err || text.size != size ||
	    memcmp(text.bytes, data, size) != 0)
		abort();
	writer_free(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char line[CHECK_SIZE + 1];
	uint8_t *sealed;

	try(data, size);
	if (size < CHECK_SIZE)
		return 0;
	sealed = malloc(size);
	if (!sealed)
		abort();
	memcpy(sealed, data, size);
	snprintf(line, sizeof(line), "check: %016" PRIx64 "\n",
		 check_of(data, size - CHECK_SIZE, 0));
	memcpy(sealed + size - CHECK_SIZE, line, CHECK_SIZE);
	try(sealed, size);
	free(sealed);
	return 0;
}
