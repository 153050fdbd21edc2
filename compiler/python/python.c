/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/python.h"

#include <string.h>

#define ANY UINT32_MAX
#define OP(number, word, shape, units, low, high, part)                        \
	[(number)] = { .name = #word,                                          \
		       .least = (low),                                         \
		       .most = (high),                                         \
		       .form = FORM_##shape,                                   \
		       .role = ROLE_##part,                                    \
		       .caches = (units) },

static const struct opcode opcodes_3_8[256] = {
#include "compiler/python/opcodes_3_8.inc"
};
static const struct opcode opcodes_3_9[256] = {
#include "compiler/python/opcodes_3_9.inc"
};
static const struct opcode opcodes_3_10[256] = {
#include "compiler/python/opcodes_3_10.inc"
};
static const struct opcode opcodes_3_11[256] = {
#include "compiler/python/opcodes_3_11.inc"
};
static const struct opcode opcodes_3_12[256] = {
#include "compiler/python/opcodes_3_12.inc"
};
static const struct opcode opcodes_3_13[256] = {
#include "compiler/python/opcodes_3_13.inc"
};
static const struct opcode opcodes_3_14[256] = {
#include "compiler/python/opcodes_3_14.inc"
};

/* Later versions only append to these lists, but for 3.8's comparisons. */
static const char *const compare_3_8[] = {
	"<",
	"<=",
	"==",
	"!=",
	">",
	">=",
	"in",
	"not in",
	"is",
	"is not",
	"exception match",
};
static const char *const compare[] = { "<", "<=", "==", "!=", ">", ">=" };
static const char *const binop[] = {
	"+",  "&",  "//", "<<",	 "@",	"*",  "%",   "|",   "**",
	">>", "-",  "/",  "^",	 "+=",	"&=", "//=", "<<=", "@=",
	"*=", "%=", "|=", "**=", ">>=", "-=", "/=",  "^=",  "[]",
};
static const char *const intrinsic1[] = {
	"INTRINSIC_1_INVALID",	       "INTRINSIC_PRINT",
	"INTRINSIC_IMPORT_STAR",       "INTRINSIC_STOPITERATION_ERROR",
	"INTRINSIC_ASYNC_GEN_WRAP",    "INTRINSIC_UNARY_POSITIVE",
	"INTRINSIC_LIST_TO_TUPLE",     "INTRINSIC_TYPEVAR",
	"INTRINSIC_PARAMSPEC",	       "INTRINSIC_TYPEVARTUPLE",
	"INTRINSIC_SUBSCRIPT_GENERIC", "INTRINSIC_TYPEALIAS",
};
static const char *const intrinsic2[] = {
	"INTRINSIC_2_INVALID",
	"INTRINSIC_PREP_RERAISE_STAR",
	"INTRINSIC_TYPEVAR_WITH_BOUND",
	"INTRINSIC_TYPEVAR_WITH_CONSTRAINTS",
	"INTRINSIC_SET_FUNCTION_TYPE_PARAMS",
	"INTRINSIC_SET_TYPEPARAM_DEFAULT",
};
static const char *const special[] = { "__enter__", "__exit__", "__aenter__",
				       "__aexit__" };
static const char *const common[] = {
	"AssertionError",	   "NotImplementedError",     "tuple",
	"<built-in function all>", "<built-in function any>",
};
static const char *const function[] = { "defaults", "kwdefaults", "annotations",
					"closure", "annotate" };
static const char *const convert[] = { "", "str", "repr", "ascii" };

/* clang-format off */
static const struct python pythons[PYTHON_COUNT] = {
	{
		.name = "3.8", .minor = 8, .layout = LAYOUT_OLD,
		.unicode = UNICODE_12_1, .opcodes = opcodes_3_8,
		.compare = {compare_3_8, 11}, .function = {function, 4},
		.convert = {convert, 4},
	}, {
		.name = "3.9", .minor = 9, .layout = LAYOUT_OLD,
		.unicode = UNICODE_13_0, .opcodes = opcodes_3_9,
		.compare = {compare, 6}, .function = {function, 4},
		.convert = {convert, 4},
	}, {
		.name = "3.10", .minor = 10, .layout = LAYOUT_OLD,
		.unicode = UNICODE_13_0, .opcodes = opcodes_3_10,
		.compare = {compare, 6}, .function = {function, 4},
		.convert = {convert, 4},
	}, {
		.name = "3.11", .minor = 11, .layout = LAYOUT_NEW,
		.unicode = UNICODE_14_0, .opcodes = opcodes_3_11,
		.compare = {compare, 6}, .function = {function, 4},
		.convert = {convert, 4}, .binop = {binop, 26},
	}, {
		.name = "3.12", .minor = 12, .layout = LAYOUT_NEW,
		.unicode = UNICODE_15_0, .opcodes = opcodes_3_12,
		.compare_shift = 4, .compare = {compare, 6},
		.function = {function, 4}, .convert = {convert, 4},
		.binop = {binop, 26}, .intrinsic1 = {intrinsic1, 12},
		.intrinsic2 = {intrinsic2, 5},
	}, {
		.name = "3.13", .minor = 13, .layout = LAYOUT_NEW,
		.unicode = UNICODE_15_1, .opcodes = opcodes_3_13,
		.compare_shift = 5, .compare = {compare, 6},
		.function = {function, 4}, .convert = {convert, 4},
		.binop = {binop, 26}, .intrinsic1 = {intrinsic1, 12},
		.intrinsic2 = {intrinsic2, 6},
	}, {
		.name = "3.14", .minor = 14, .layout = LAYOUT_NEW,
		.unicode = UNICODE_16_0, .opcodes = opcodes_3_14,
		.compare_shift = 5, .compare = {compare, 6},
		.function = {function, 5}, .convert = {convert, 4},
		.binop = {binop, 27}, .intrinsic1 = {intrinsic1, 12},
		.intrinsic2 = {intrinsic2, 6}, .special = {special, 4},
		.common = {common, 5},
	},
};
/* clang-format on */

const struct python *python_at(size_t index)
{
	return &pythons[index];
}

const struct python *python_named(const char *name)
{
	for (size_t i = 0; i < PYTHON_COUNT; i++)
		if (strcmp(pythons[i].name, name) == 0)
			return &pythons[i];
	return NULL;
}
