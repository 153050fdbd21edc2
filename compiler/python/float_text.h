/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_FLOAT_TEXT_H
#define TACFS_COMPILER_PYTHON_FLOAT_TEXT_H

/*
 * Floats as Python prints them: the shortest digits that read back as the same
 * double, and the nearest among those (Python/dtoa.c, mode 0). Independent of
 * the locale.
 */

#include <stdbool.h>
#include <stddef.h>

enum {
	FLOAT_DIGITS_MAX = 17,
	FLOAT_TEXT_SIZE = 32 /* bytes that hold any text, with its NUL */
};

struct float_digits {
	char digits[FLOAT_DIGITS_MAX + 1]; /* '0' to '9' */
	size_t count;
	int exponent; /* of ten, of the first digit */
};

/* Of a finite number above zero. */
void float_shortest(double number, struct float_digits *digits);

/*
 * Any double, NUL-terminated. `point` writes ".0" after an integral number, as
 * repr(float) does and repr(complex) does not; `plus` writes the sign of a
 * positive number. Returns the length.
 */
size_t float_text(double number, bool point, bool plus,
		  char text[static FLOAT_TEXT_SIZE]);

#endif
