/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/size.h"

#include <errno.h>
#include <string.h>

int size_parse(const char *text, uint64_t *size)
{
	static const char units[] = "KMGT";
	size_t digits = strspn(text, "0123456789");
	const char *unit = text + digits;
	uint64_t bytes = 0;

	if (!digits || (*unit && (!strchr(units, *unit) || unit[1])))
		return -EINVAL;
	for (size_t i = 0; i < digits; i++)
		if (__builtin_mul_overflow(bytes, 10, &bytes) ||
		    __builtin_add_overflow(bytes, (uint64_t)(text[i] - '0'),
					   &bytes))
			return -EINVAL;
	for (const char *u = units; *unit && u <= strchr(units, *unit); u++)
		if (__builtin_mul_overflow(bytes, 1024, &bytes))
			return -EINVAL;
	*size = bytes;
	return 0;
}
