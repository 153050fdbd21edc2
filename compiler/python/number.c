/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "compiler/memory.h"
#include "compiler/python/float_text.h"

#define HASH_MODULUS ((UINT64_C(1) << 61) - 1)

enum {
	INT_DIGITS_MAX = 4300, /* sys.int_info.default_max_str_digits */
	/* Nine decimal digits each; some room for the carry of the last step.
	 */
	LIMBS_MAX = INT_DIGITS_MAX / 9 + 4,
	MARSHAL_DIGITS_MAX = 953 /* 2^(15 * 953) > 10^4300 */
};

/* Since 3.10 a NaN hashes by its address, so it has HASH_NEVER. */
static const struct value *new_atom(struct arena *arena, const char *text,
				    size_t size, uint64_t hash,
				    uint8_t hash_since, int *err)
{
	struct value *value = memory_take(arena, 1, sizeof(*value), err);
	uint8_t *bytes = memory_take(arena, size, 1, err);

	if (!value || !bytes)
		return NULL;
	memcpy(bytes, text, size);
	value->type = VALUE_ATOM;
	value->hash_since = hash_since;
	value->hash = hash == UINT64_MAX ? UINT64_MAX - 1 : hash;
	value->text = (struct text){ bytes, size };
	return value;
}

static uint64_t with_sign(uint64_t hash, bool negative)
{
	return negative ? -hash : hash;
}

const struct value *number_of_int32(struct arena *arena, int32_t number,
				    int *err)
{
	char text[16];
	int size = snprintf(text, sizeof(text), "%d", number);

	return new_atom(arena, text, (size_t)size, (uint64_t)(int64_t)number,
			HASH_ALWAYS, err);
}

/* 2^shift * hash, modulo HASH_MODULUS; shift is below 61. */
static uint64_t rotate(uint64_t hash, unsigned shift)
{
	return (hash << shift & HASH_MODULUS) | hash >> (61 - shift);
}

static uint32_t digit_at(const uint8_t *digits, size_t index)
{
	return (uint32_t)(digits[2 * index] | digits[2 * index + 1] << 8);
}

static uint64_t hash_digits(const uint8_t *digits, size_t count)
{
	uint64_t hash = 0;

	for (size_t i = count; i-- > 0;) {
		hash = rotate(hash, 15) + digit_at(digits, i);
		if (hash >= HASH_MODULUS)
			hash -= HASH_MODULUS;
	}
	return hash;
}

/* Decimal digits of at most MARSHAL_DIGITS_MAX digits; returns how many. */
static size_t digits_text(const uint8_t *digits, size_t count, char *text)
{
	uint32_t limbs[LIMBS_MAX] = { 0 };
	size_t used = 0, size = 0;

	for (size_t i = (count + 1) / 2; i-- > 0;) {
		uint64_t carry = digit_at(digits, 2 * i);

		if (2 * i + 1 < count)
			carry |= digit_at(digits, 2 * i + 1) << 15;
		for (size_t k = 0; k < used; k++) {
			carry += (uint64_t)limbs[k] << 30;
			limbs[k] = (uint32_t)(carry % 1000000000);
			carry /= 1000000000;
		}
		for (; carry; carry /= 1000000000)
			limbs[used++] = (uint32_t)(carry % 1000000000);
	}
	for (size_t k = used; k-- > 0;)
		size += (size_t)snprintf(text + size, 10,
					 k + 1 == used ? "%u" : "%09u",
					 limbs[k]);
	return size;
}

const struct value *number_of_digits(struct arena *arena, const uint8_t *digits,
				     size_t count, bool negative, int *err)
{
	char text[1 + 9 * LIMBS_MAX + 1] = "-";
	uint64_t hash = with_sign(hash_digits(digits, count), negative);
	size_t size = 0;

	if (count <= MARSHAL_DIGITS_MAX)
		size = digits_text(digits, count, text + 1);
	if (!count)
		return new_atom(arena, "0", 1, 0, HASH_ALWAYS, err);
	if (!size || size > INT_DIGITS_MAX)
		return new_atom(arena, NUMBER_TOO_LONG, strlen(NUMBER_TOO_LONG),
				hash, HASH_ALWAYS, err);
	if (negative)
		return new_atom(arena, text, size + 1, hash, HASH_ALWAYS, err);
	return new_atom(arena, text + 1, size, hash, HASH_ALWAYS, err);
}

static uint64_t hash_float(double number)
{
	uint64_t bits, hash;
	int exponent;

	memcpy(&bits, &number, sizeof(bits));
	exponent = (int)(bits >> 52 & 0x7ff);
	hash = bits & ((UINT64_C(1) << 52) - 1);
	if (isinf(number))
		return with_sign(314159, number < 0);
	if (exponent)
		hash |= UINT64_C(1) << 52;
	else
		exponent = 1;
	/* 1075 is the exponent's bias; 61 * 18 keeps the shift positive. */
	hash = rotate(hash, (unsigned)(exponent - 1075 + 61 * 18) % 61);
	return with_sign(hash, number < 0);
}

/* -1 says "error" in C, so no float hashes to it. */
static uint64_t float_part(double number)
{
	uint64_t hash = hash_float(number);

	return hash == UINT64_MAX ? UINT64_MAX - 1 : hash;
}

const struct value *number_of_float(struct arena *arena, double number,
				    int *err)
{
	char text[FLOAT_TEXT_SIZE];
	size_t size = float_text(number, true, false, text);

	return new_atom(arena, text, size, float_part(number),
			isnan(number) ? HASH_NEVER : HASH_ALWAYS, err);
}

const struct value *number_of_complex(struct arena *arena, double real,
				      double imaginary, int *err)
{
	bool both = real != 0 || signbit(real);
	char text[2 * FLOAT_TEXT_SIZE + 3] = "";
	size_t size = 0;
	uint64_t hash = float_part(real) + 1000003 * float_part(imaginary);

	if (both) {
		text[size++] = '(';
		size += float_text(real, false, false, text + size);
	}
	size += float_text(imaginary, false, both, text + size);
	text[size++] = 'j';
	if (both)
		text[size++] = ')';
	return new_atom(arena, text, size, hash,
			isnan(real) || isnan(imaginary) ? HASH_NEVER
							: HASH_ALWAYS,
			err);
}

#define TUPLE_PRIME_1 UINT64_C(11400714785074694791)
#define TUPLE_PRIME_2 UINT64_C(14029467366897019727)
#define TUPLE_PRIME_5 UINT64_C(2870177450012600261)

struct tuple_hash tuple_hash_start(void)
{
	return (struct tuple_hash){ .state = TUPLE_PRIME_5 };
}

void tuple_hash_add(struct tuple_hash *hash, uint64_t item)
{
	hash->state += item * TUPLE_PRIME_2;
	hash->state = hash->state << 31 | hash->state >> 33;
	hash->state *= TUPLE_PRIME_1;
	hash->count++;
}

uint64_t tuple_hash_end(const struct tuple_hash *hash)
{
	uint64_t state = hash->state +
			 (hash->count ^ (TUPLE_PRIME_5 ^ UINT64_C(3527539)));

	return state == UINT64_MAX ? UINT64_C(1546275796) : state;
}
