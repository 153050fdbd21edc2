/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/detect.h"

#include <errno.h>

#include "compiler/memory.h"
#include "compiler/python/program.h"
#include "compiler/python/rules.h"

/* A sensible limit for what checking the code takes. */
enum { SCRATCH_MAX = 256 * 1024 * 1024, PROTOCOL_OF_3_14 = 5, UNFIT = 0 };

/* How well each Python fits: UNFIT, or one more than the rules it breaks. */
struct fits {
	unsigned score[PYTHON_COUNT];
	bool returns_const[PYTHON_COUNT];
};

static int read_layout(const void *bytes, size_t size, enum code_layout layout,
		       struct arena *arena, struct marshal *marshal,
		       struct fault *fault)
{
	struct reader in = reader_over(bytes, size);
	int err = marshal_read(&in, layout, arena, marshal);

	if (err && (!fault->why || err == -ENOMEM || in.where > fault->where)) {
		fault->why = in.why;
		fault->where = in.where;
	}
	return err;
}

static int fit_code(const struct python *python, const struct code *code,
		    struct arena *scratch, unsigned *score, bool *returns_const)
{
	struct program program;
	const char *why;
	int err = program_read(python, code, scratch, &program, &why);

	if (err)
		return err;
	if (rules_returns_const(python, &program))
		*returns_const = true;
	return rules_check(python, code, &program, scratch, score);
}

static int fit_python(size_t index, const struct marshal *marshal,
		      struct fits *fits)
{
	const struct python *python = python_at(index);
	struct arena scratch = arena_upto(SCRATCH_MAX);
	unsigned score = 1;
	int err = 0;

	if (marshal->has_slice && python->minor < 14)
		return -EBADMSG;
	for (const struct code *c = marshal->codes; c && !err; c = c->next)
		err = fit_code(python, c, &scratch, &score,
			       &fits->returns_const[index]);
	arena_free(&scratch);
	if (!err)
		fits->score[index] = score;
	return err;
}

static int fit_layout(enum code_layout layout, const struct marshal *marshal,
		      struct fits *fits)
{
	for (size_t i = 0; i < PYTHON_COUNT; i++) {
		int err = 0;

		if (python_at(i)->layout == layout)
			err = fit_python(i, marshal, fits);
		if (err && err != -EBADMSG)
			return err;
	}
	return 0;
}

static void keep_best(struct fits *fits)
{
	unsigned best = UNFIT;

	for (size_t i = 0; i < PYTHON_COUNT; i++)
		if (fits->score[i] != UNFIT &&
		    (best == UNFIT || fits->score[i] < best))
			best = fits->score[i];
	for (size_t i = 0; i < PYTHON_COUNT; i++)
		if (fits->score[i] != best)
			fits->score[i] = UNFIT;
}

static size_t index_of(unsigned minor)
{
	return minor - python_at(0)->minor;
}

static bool is_left(const struct fits *fits, unsigned minor)
{
	return fits->score[index_of(minor)] != UNFIT;
}

/* Of those that fit equally well; NULL when nothing fits. */
static const struct python *break_tie(const struct fits *fits,
				      unsigned protocol)
{
	const struct python *newest = NULL;

	for (size_t i = 0; i < PYTHON_COUNT; i++)
		if (fits->score[i] != UNFIT)
			newest = python_at(i);
	if (!newest || (newest->minor == 14 && protocol == PROTOCOL_OF_3_14))
		return newest;
	if (is_left(fits, 10))
		return python_at(index_of(10));
	if (is_left(fits, 9))
		return python_at(index_of(9));
	if (is_left(fits, 11) && is_left(fits, 12))
		return python_at(
			index_of(fits->returns_const[index_of(11)] ? 11 : 12));
	return newest;
}

static int no_memory(int err, struct fault *fault)
{
	*fault = (struct fault){ memory_why(err), 0 };
	return err;
}

/* Reads what it can of both layouts, and scores the Pythons of each. */
static int try_layouts(const void *bytes, size_t size, struct arena *arena,
		       struct marshal marshals[static 2], struct fits *fits,
		       struct fault *fault)
{
	static const enum code_layout layouts[] = { LAYOUT_NEW, LAYOUT_OLD };
	int err, failure = 0;
	bool any = false;

	for (size_t i = 0; i < 2; i++) {
		struct marshal *marshal = &marshals[layouts[i]];

		err = read_layout(bytes, size, layouts[i], arena, marshal,
				  fault);
		if (err == -ENOMEM)
			return err;
		if (err) {
			failure = failure == -E2BIG ? failure : err;
			continue;
		}
		any = true;
		err = fit_layout(layouts[i], marshal, fits);
		if (err)
			return no_memory(err, fault);
	}
	return any ? 0 : failure;
}

int detect_python(const void *bytes, size_t size, unsigned protocol,
		  struct arena *arena, struct found *found, struct fault *fault)
{
	struct marshal marshals[2];
	struct fits fits = { 0 };
	const struct python *python;
	int err;

	*fault = (struct fault){ 0 };
	err = try_layouts(bytes, size, arena, marshals, &fits, fault);
	if (err)
		return err;
	keep_best(&fits);
	python = break_tie(&fits, protocol);
	if (!python) {
		*fault = (struct fault){
			"no known Python has written this bytecode", 0
		};
		return -ENOTSUP;
	}
	*found = (struct found){ marshals[python->layout], python };
	return 0;
}

int detect_given(const void *bytes, size_t size, const struct python *python,
		 struct arena *arena, struct found *found, struct fault *fault)
{
	struct fits fits = { 0 };
	struct marshal marshal;
	int err;

	*fault = (struct fault){ 0 };
	err = read_layout(bytes, size, python->layout, arena, &marshal, fault);
	if (err)
		return err;
	err = fit_python(index_of(python->minor), &marshal, &fits);
	if (err && err != -EBADMSG)
		return no_memory(err, fault);
	if (err) {
		*fault = (struct fault){
			"that Python has not written this bytecode", 0
		};
		return -ENOTSUP;
	}
	*found = (struct found){ marshal, python };
	return 0;
}
