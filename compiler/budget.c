/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/budget.h"

#include <stdint.h>

#define MIB ((size_t)1 << 20)

static size_t linear(size_t base, size_t factor, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(factor, size, &total) ||
	    __builtin_add_overflow(total, base, &total))
		return SIZE_MAX;
	return total;
}

size_t budget_memory(size_t input_size)
{
	return linear(16 * MIB, 10, input_size);
}

size_t budget_text(size_t input_size)
{
	return linear(32 * MIB, 4, input_size);
}

size_t budget_work(size_t input_size)
{
	return linear(4 * MIB, 4, input_size);
}
