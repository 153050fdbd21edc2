/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/float_text.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/*
 * The digits come from exact integers: number = r / s * 10^exponent, and any
 * decimal between (r - below) / s and (r + above) / s reads back as the number;
 * the ends do if its mantissa is even. (Steele and White, "How to print
 * floating-point numbers accurately", 1990.)
 */

__extension__ typedef unsigned __int128 wide;

/* The largest needed is about 2 * 10^324 * 2^53: 1131 bits. */
enum { LIMBS = 20, LIMB_BITS = 64, POWER_STEP = 19 };

struct big {
	uint64_t limb[LIMBS]; /* the lowest first */
	size_t used;
};

struct scaled {
	struct big r;
	struct big s;
	struct big below;
	struct big above;
	bool even;
	int exponent;
};

static struct big big_of(uint64_t v, unsigned shift)
{
	struct big b = { { 0 }, shift / LIMB_BITS + 2 };
	unsigned bits = shift % LIMB_BITS;
	uint64_t *at = b.limb + shift / LIMB_BITS;

	at[0] = v << bits;
	at[1] = bits ? v >> (LIMB_BITS - bits) : 0;
	while (b.used && !b.limb[b.used - 1])
		b.used--;
	return b;
}

static void big_multiply(struct big *b, uint64_t factor)
{
	wide carry = 0;

	for (size_t i = 0; i < b->used; i++) {
		carry += (wide)b->limb[i] * factor;
		b->limb[i] = (uint64_t)carry;
		carry >>= LIMB_BITS;
	}
	if (carry)
		b->limb[b->used++] = (uint64_t)carry;
}

static void big_scale(struct big *b, unsigned power)
{
	for (; power >= POWER_STEP; power -= POWER_STEP)
		big_multiply(b, UINT64_C(10000000000000000000));
	for (; power; power--)
		big_multiply(b, 10);
}

static int big_compare(const struct big *a, const struct big *b)
{
	if (a->used != b->used)
		return a->used < b->used ? -1 : 1;
	for (size_t i = a->used; i-- > 0;)
		if (a->limb[i] != b->limb[i])
			return a->limb[i] < b->limb[i] ? -1 : 1;
	return 0;
}

/* The sign of a + b - c. */
static int big_compare_sum(const struct big *a, const struct big *b,
			   const struct big *c)
{
	size_t used = a->used > b->used ? a->used : b->used;
	struct big sum = { { 0 }, used };
	wide carry = 0;

	for (size_t i = 0; i < used; i++) {
		carry += (wide)a->limb[i] + b->limb[i];
		sum.limb[i] = (uint64_t)carry;
		carry >>= LIMB_BITS;
	}
	if (carry)
		sum.limb[sum.used++] = (uint64_t)carry;
	return big_compare(&sum, c);
}

/* a -= b, which is not larger. */
static void big_subtract(struct big *a, const struct big *b)
{
	bool borrow = false;

	for (size_t i = 0; i < a->used; i++) {
		uint64_t old = a->limb[i], less = old - borrow;

		a->limb[i] = less - b->limb[i];
		borrow = less > old || less < b->limb[i];
	}
	while (a->used && !a->limb[a->used - 1])
		a->used--;
}

static bool is_below(int sign, bool or_equal)
{
	return sign < 0 || (or_equal && sign == 0);
}

static void scaled_multiply(struct scaled *n, unsigned power)
{
	big_scale(&n->r, power);
	big_scale(&n->below, power);
	big_scale(&n->above, power);
}

/* number = mantissa * 2^exponent, as the fractions of struct scaled. */
static void scale(uint64_t mantissa, int exponent, bool close_below,
		  struct scaled *n)
{
	unsigned up = exponent > 0 ? (unsigned)exponent : 0;
	unsigned down = exponent < 0 ? (unsigned)-exponent : 0;
	unsigned half = close_below ? 2 : 1;
	int power = exponent + 63 - __builtin_clzll(mantissa);

	n->r = big_of(mantissa, up + half);
	n->s = big_of(1, down + half);
	n->below = big_of(1, up);
	n->above = big_of(1, up + half - 1);
	n->even = !(mantissa & 1);

	/* The true exponent or one more: of a power of two, and rounded up. */
	n->exponent = power * 30103 / 100000 + (power > 0);
	if (n->exponent >= 0)
		big_scale(&n->s, (unsigned)n->exponent);
	else
		scaled_multiply(n, (unsigned)-n->exponent);
	if (is_below(big_compare_sum(&n->r, &n->above, &n->s), !n->even)) {
		n->exponent--;
		scaled_multiply(n, 1);
	}
}

static unsigned take_digit(struct scaled *n)
{
	unsigned digit = 0;

	for (; big_compare(&n->r, &n->s) >= 0; digit++)
		big_subtract(&n->r, &n->s);
	return digit;
}

/* Whether the last digit is rounded up, both ways reading back. */
static bool nearer_above(const struct scaled *n, unsigned digit)
{
	int sign = big_compare_sum(&n->r, &n->r, &n->s);

	return sign > 0 || (sign == 0 && digit % 2);
}

void float_shortest(double number, struct float_digits *digits)
{
	struct scaled n;
	uint64_t bits, mantissa;
	int exponent;
	bool low, high;

	memcpy(&bits, &number, sizeof(bits));
	mantissa = bits & ((UINT64_C(1) << 52) - 1);
	exponent = (int)(bits >> 52 & 0x7ff);
	scale(exponent ? mantissa | UINT64_C(1) << 52 : mantissa,
	      (exponent ? exponent : 1) - 1075, !mantissa && exponent > 1, &n);
	digits->count = 0;
	digits->exponent = n.exponent;
	do {
		unsigned digit = take_digit(&n);

		low = is_below(big_compare(&n.r, &n.below), n.even);
		high = !is_below(big_compare_sum(&n.r, &n.above, &n.s),
				 !n.even);
		if (high && (!low || nearer_above(&n, digit)))
			digit++;
		digits->digits[digits->count++] = (char)('0' + digit);
		scaled_multiply(&n, 1);
	} while (!low && !high && digits->count < FLOAT_DIGITS_MAX);
}

static char *put(char *at, const char *bytes, size_t size)
{
	memcpy(at, bytes, size);
	return at + size;
}

static char *put_zeros(char *at, int count)
{
	for (; count > 0; count--)
		*at++ = '0';
	return at;
}

static char *put_exponent(char *at, int exponent)
{
	unsigned size = exponent < 0 ? (unsigned)-exponent : (unsigned)exponent;

	*at++ = 'e';
	*at++ = exponent < 0 ? '-' : '+';
	if (size >= 100)
		*at++ = (char)('0' + size / 100);
	*at++ = (char)('0' + size / 10 % 10);
	*at++ = (char)('0' + size % 10);
	return at;
}

static char *put_scientific(char *at, const struct float_digits *d)
{
	*at++ = d->digits[0];
	if (d->count > 1) {
		*at++ = '.';
		at = put(at, d->digits + 1, d->count - 1);
	}
	return put_exponent(at, d->exponent);
}

static char *put_positional(char *at, const struct float_digits *d, bool point)
{
	size_t whole = d->exponent < 0 ? 0 : (size_t)d->exponent + 1;

	if (!whole) {
		at = put_zeros(put(at, "0.", 2), -d->exponent - 1);
		return put(at, d->digits, d->count);
	}
	if (whole < d->count) {
		at = put(at, d->digits, whole);
		*at++ = '.';
		return put(at, d->digits + whole, d->count - whole);
	}
	at = put(at, d->digits, d->count);
	at = put_zeros(at, (int)(whole - d->count));
	return point ? put(at, ".0", 2) : at;
}

size_t float_text(double number, bool point, bool plus,
		  char text[static FLOAT_TEXT_SIZE])
{
	struct float_digits digits = { "0", 1, 0 };
	char *at = text;

	if (signbit(number) && !isnan(number))
		*at++ = '-';
	else if (plus)
		*at++ = '+';
	if (isnan(number) || isinf(number)) {
		at = put(at, isnan(number) ? "nan" : "inf", 3);
	} else {
		if (number != 0)
			float_shortest(fabs(number), &digits);
		if (digits.exponent >= -4 && digits.exponent < 16)
			at = put_positional(at, &digits, point);
		else
			at = put_scientific(at, &digits);
	}
	*at = '\0';
	return (size_t)(at - text);
}
