/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/reason.h"

#include <stdarg.h>
#include <stdio.h>

int reason_give(const struct reason *why, int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, why->size, format, args);
	va_end(args);
	return err;
}
