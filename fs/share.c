/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/share.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/size.h"

enum { DIGITS_MAX = 2, HUNDRED = 100 };

int share_parse(const char *text, struct share *share)
{
	size_t digits = strspn(text, "0123456789");

	*share = (struct share){ 0 };
	if (strcmp(text + digits, "%") != 0)
		return size_parse(text, &share->bytes);
	if (!digits || digits > DIGITS_MAX)
		return -EINVAL;
	share->percent = (unsigned)strtoul(text, NULL, 10);
	return 0;
}

uint64_t share_of(const struct share *share, uint64_t whole)
{
	return share->bytes + whole / HUNDRED * share->percent;
}
