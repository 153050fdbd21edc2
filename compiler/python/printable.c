/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/printable.h"

#include <stddef.h>

struct range {
	uint32_t first;
	uint32_t last;
	enum unicode since; /* what is printable stays printable */
};

#define RANGE(first, last, version) { first, last, UNICODE_##version },

static const struct range ranges[] = {
#include "compiler/python/printable.inc"
};

bool printable_is(uint32_t point, enum unicode version)
{
	size_t low = 0, high = sizeof(ranges) / sizeof(ranges[0]);

	if (point < 0x80)
		return point >= 0x20 && point < 0x7f;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (ranges[middle].last < point)
			low = middle + 1;
		else
			high = middle;
	}
	return low < sizeof(ranges) / sizeof(ranges[0]) &&
	       ranges[low].first <= point && ranges[low].since <= version;
}
