/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/detect.h"

#include <errno.h>

#include "compiler/budget.h"
#include "compiler/memory.h"
#include "compiler/python/program.h"
#include "compiler/python/rules.h"

enum { PROTOCOL_OF_3_14 = 5, LAYOUTS = 2, UNFIT = 0 };

/* One search. */
struct search {
	const uint8_t *bytes;
	size_t size;
	struct arena *arena;
	const struct python *given; /* look at no other; or NULL */
	struct marshal marshals[LAYOUTS];
	int errs[LAYOUTS]; /* of reading each */
	struct fault faults[LAYOUTS];
};

/* How well each Python fits: UNFIT, or one more than what speaks against it. */
struct fits {
	size_t score[PYTHON_COUNT];
	bool returns_const[PYTHON_COUNT];
};

static size_t index_of(unsigned minor)
{
	return minor - python_at(0)->minor;
}

static void read_layout(struct search *s, enum code_layout layout)
{
	struct reader in = reader_over(s->bytes, s->size);

	s->errs[layout] = -EBADMSG;
	if (s->given && s->given->layout != layout)
		return;
	marshal_salvage(&in, layout, s->arena, &s->marshals[layout]);
	s->errs[layout] = in.err;
	s->faults[layout] = (struct fault){ .why = in.why, .where = in.where };
}

/* A Python that this search looks at, and whose layout could be read. */
static bool is_candidate(const struct search *s, size_t index)
{
	const struct python *python = python_at(index);

	return (!s->given || s->given == python) && !s->errs[python->layout];
}

static int fit_code(const struct python *python, const struct code *code,
		    struct arena *scratch, struct fits *fits, unsigned *broken)
{
	struct program program;
	int err = program_read(python, code, PROGRAM_STRICT, scratch, &program);

	if (!err && program.why)
		err = -EBADMSG;
	if (!err && rules_returns_const(python, &program))
		fits->returns_const[index_of(python->minor)] = true;
	if (!err)
		err = rules_check(python, code, &program, broken);
	arena_reuse(scratch);
	return err;
}

static size_t memory_left(const struct search *s)
{
	return s->arena->limit - s->arena->used;
}

/* A Python that does not fit keeps the score UNFIT, and is no failure. */
static int fit_codes(const struct search *s, const struct python *python,
		     struct arena *scratch, struct fits *fits)
{
	const struct marshal *marshal = &s->marshals[python->layout];
	size_t work = budget_work(s->size);
	unsigned broken = 0;
	int err = 0;

	if (marshal->has_slice && python->minor < 14)
		return 0;
	for (const struct code *c = marshal->codes; c && !err; c = c->next) {
		if (program_work(c) > work)
			return -E2BIG;
		work -= program_work(c);
		err = fit_code(python, c, scratch, fits, &broken);
	}
	if (!err)
		fits->score[index_of(python->minor)] = broken + 1;
	return err == -EBADMSG ? 0 : err;
}

static void keep_best(struct fits *fits)
{
	size_t best = UNFIT;

	for (size_t i = 0; i < PYTHON_COUNT; i++)
		if (fits->score[i] != UNFIT &&
		    (best == UNFIT || fits->score[i] < best))
			best = fits->score[i];
	for (size_t i = 0; i < PYTHON_COUNT; i++)
		if (fits->score[i] != best)
			fits->score[i] = UNFIT;
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

static int find_fit(const struct search *s, unsigned protocol,
		    const struct python **python, struct fault *fault)
{
	struct arena scratch = arena_upto(memory_left(s));
	struct fits fits = { 0 };
	int err = 0;

	for (size_t i = 0; i < PYTHON_COUNT && !err; i++)
		if (is_candidate(s, i))
			err = fit_codes(s, python_at(i), &scratch, &fits);
	arena_free(&scratch);
	if (err) {
		fault->why = err == -E2BIG
				     ? "it takes more to check than allowed"
				     : memory_why(err);
		return err;
	}
	keep_best(&fits);
	*python = break_tie(&fits, protocol);
	return *python ? 0 : -ENOTSUP;
}

/* What speaks against a Python: what it cannot and what it would not write. */
static size_t objections(const struct search *s, const struct python *python,
			 const struct code *code, const uint8_t **first)
{
	struct arena scratch = arena_upto(memory_left(s));
	struct program program;
	unsigned broken = 0;
	size_t count = 0;

	if (program_read(python, code, PROGRAM_LENIENT, &scratch, &program) ==
	    0) {
		count = program.unsound;
		count += rules_check(python, code, &program, &broken) != 0;
		if (program.why && !*first)
			*first = code->bytecode.bytes + program.where;
	}
	arena_free(&scratch);
	return count + broken;
}

/* The same of all code objects; *first is where it begins. */
static size_t count_objections(const struct search *s,
			       const struct python *python,
			       const uint8_t **first)
{
	const struct marshal *marshal = &s->marshals[python->layout];
	size_t work = budget_work(s->size), count = 0;

	for (const struct code *c = marshal->codes; c; c = c->next) {
		if (!c->bytecode.size || program_work(c) > work)
			continue;
		work -= program_work(c);
		count += objections(s, python, c, first);
	}
	return count;
}

/* The layout that was read whole; else the one that was read further. */
static enum code_layout best_layout(const struct search *s)
{
	if (s->given)
		return s->given->layout;
	if (!s->errs[LAYOUT_OLD] != !s->errs[LAYOUT_NEW])
		return s->errs[LAYOUT_OLD] ? LAYOUT_NEW : LAYOUT_OLD;
	return s->faults[LAYOUT_OLD].where > s->faults[LAYOUT_NEW].where
		       ? LAYOUT_OLD
		       : LAYOUT_NEW;
}

static bool has_bytecode(const struct marshal *marshal)
{
	for (const struct code *c = marshal->codes; c; c = c->next)
		if (c->bytecode.size)
			return true;
	return false;
}

/* The Python that least speaks against; *first is where that begins. */
static void find_closest(struct search *s, unsigned protocol,
			 struct found *found, const uint8_t **first)
{
	enum code_layout layout = best_layout(s);
	const uint8_t *firsts[PYTHON_COUNT] = { NULL };
	struct fits fits = { 0 };

	*found = (struct found){ .marshal = s->marshals[layout] };
	if (!has_bytecode(&found->marshal))
		return;
	for (size_t i = 0; i < PYTHON_COUNT; i++)
		if (python_at(i)->layout == layout &&
		    (!s->given || s->given == python_at(i)))
			fits.score[i] = 1 + count_objections(s, python_at(i),
							     &firsts[i]);
	keep_best(&fits);
	found->python = break_tie(&fits, protocol);
	if (found->python)
		*first = firsts[index_of(found->python->minor)];
}

static int describe_failure(struct search *s, int err, unsigned protocol,
			    struct found *found, struct fault *fault)
{
	const uint8_t *first = NULL;

	find_closest(s, protocol, found, &first);
	if (err != -ENOTSUP)
		return err;
	fault->why = s->given ? "that Python has not written this bytecode"
			      : "no known Python has written this bytecode";
	fault->where = first ? (size_t)(first - s->bytes) : 0;
	return err;
}

static int detect(struct search *s, unsigned protocol, struct found *found,
		  struct fault *fault)
{
	const struct python *python = NULL;
	int err;

	*fault = (struct fault){ 0 };
	*found = (struct found){ 0 };
	for (size_t i = 0; i < LAYOUTS; i++) {
		read_layout(s, (enum code_layout)i);
		if (s->errs[i] != -ENOMEM)
			continue;
		*fault = s->faults[i];
		return -ENOMEM;
	}
	*fault = s->faults[best_layout(s)];
	err = s->errs[best_layout(s)];
	if (!err)
		err = find_fit(s, protocol, &python, fault);
	if (err)
		return describe_failure(s, err, protocol, found, fault);
	*found = (struct found){ s->marshals[python->layout], python };
	return 0;
}

int detect_python(const void *bytes, size_t size, unsigned protocol,
		  struct arena *arena, struct found *found, struct fault *fault)
{
	struct search s = { .bytes = bytes, .size = size, .arena = arena };

	return detect(&s, protocol, found, fault);
}

int detect_given(const void *bytes, size_t size, const struct python *python,
		 struct arena *arena, struct found *found, struct fault *fault)
{
	struct search s = {
		.bytes = bytes, .size = size, .arena = arena, .given = python
	};

	return detect(&s, 0, found, fault);
}
