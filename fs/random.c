/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/random.h"

#include <errno.h>
#include <stdint.h>
#include <sys/random.h>

enum { HEX_BYTES_MAX = 32 };

int random_bytes(void *bytes, size_t size)
{
	ssize_t got;

	do
		got = getrandom(bytes, size, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EIO;
}

int random_hex(char *text, size_t digits)
{
	static const char hex[] = "0123456789abcdef";
	uint8_t bytes[HEX_BYTES_MAX];
	int err;

	if (digits > 2 * sizeof(bytes) || digits % 2)
		return -EINVAL;
	err = random_bytes(bytes, digits / 2);
	if (err)
		return err;
	for (size_t i = 0; i < digits; i++)
		text[i] = hex[bytes[i / 2] >> (i % 2 ? 0 : 4) & 15];
	text[digits] = '\0';
	return 0;
}
