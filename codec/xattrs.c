/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/xattrs.h"

#include <errno.h>
#include <string.h>

#include "codec/reader.h"

static bool starts_with(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static const char *name_fault(const char *name)
{
	if (strlen(name) > XATTRS_NAME_MAX)
		return "an attribute's name is too long";
	if (!starts_with(name, XATTRS_PREFIX) || !name[strlen(XATTRS_PREFIX)])
		return "an attribute is not a user's";
	if (starts_with(name, XATTRS_RESERVED))
		return "an attribute has a reserved name";
	return NULL;
}

static struct xattr take(struct reader *r)
{
	const void *end =
		reader_left(r) ? memchr(r->pos, 0, reader_left(r)) : NULL;
	struct xattr x = { .name = (const char *)r->pos };

	if (!end) {
		reader_fail(r, -EBADMSG, "an attribute's name has no end");
		return x;
	}
	reader_take(r, (size_t)((const uint8_t *)end - r->pos) + 1);
	x.size = reader_le32(r);
	x.value = reader_take(r, x.size);
	return x;
}

static const char *fault_after(const struct xattr *last, const struct xattr *x)
{
	if (x->size > XATTRS_VALUE_MAX)
		return "an attribute's value is too long";
	if (last->name && strcmp(last->name, x->name) >= 0)
		return "the attributes are out of order";
	return name_fault(x->name);
}

const char *xattrs_fault(struct xattrs all)
{
	struct reader r = reader_over(all.bytes, all.size);
	struct xattr last = { .name = NULL };
	const char *fault = NULL;
	size_t list = 0;

	if (all.size > XATTRS_MAX)
		return "the attributes are too long";
	while (!fault && reader_left(&r)) {
		struct xattr x = take(&r);

		fault = r.err ? r.why : fault_after(&last, &x);
		if (!fault)
			list += strlen(x.name) + 1;
		last = x;
	}
	if (!fault && list > XATTRS_LIST_MAX)
		return "the attributes' names are too long";
	return fault;
}

bool xattrs_next(struct xattrs all, struct xattr *at)
{
	const uint8_t *from = at->name ? at->value + at->size : all.bytes;
	size_t left = all.size - (size_t)(from - all.bytes);
	struct reader r = reader_over(from, left);

	if (!left)
		return false;
	*at = take(&r);
	return !r.err;
}

bool xattrs_find(struct xattrs all, const char *name, struct xattr *out)
{
	struct xattr x = { .name = NULL };

	while (xattrs_next(all, &x))
		if (strcmp(x.name, name) == 0) {
			*out = x;
			return true;
		}
	return false;
}

bool xattrs_equal(struct xattrs a, struct xattrs b)
{
	return a.size == b.size &&
	       (!a.size || memcmp(a.bytes, b.bytes, a.size) == 0);
}

static void put(struct writer *out, const struct xattr *x)
{
	writer_put(out, x->name, strlen(x->name) + 1);
	writer_le32(out, (uint32_t)x->size);
	writer_put(out, x->value, x->size);
}

/* All but the one of that name, and `new`, unless that has no value. */
static void merge(struct xattrs all, const struct xattr *new,
		  struct writer *out)
{
	struct xattr x = { .name = NULL };
	bool pending = new->value;

	while (xattrs_next(all, &x)) {
		int order = strcmp(x.name, new->name);

		if (pending && order >= 0) {
			put(out, new);
			pending = false;
		}
		if (order != 0)
			put(out, &x);
	}
	if (pending)
		put(out, new);
}

static int check(struct xattrs all, const struct xattr_change *change)
{
	struct xattr old;
	bool found = xattrs_find(all, change->name, &old);

	if (name_fault(change->name))
		return -EINVAL;
	if (change->value && change->size > XATTRS_VALUE_MAX)
		return -E2BIG;
	if (found && change->create)
		return -EEXIST;
	if (!found && (change->replace || !change->value))
		return -ENODATA;
	return 0;
}

int xattrs_change(struct xattrs all, const struct xattr_change *change,
		  struct writer *out)
{
	struct xattr new = { change->name, change->value, change->size };
	size_t start = out->size;
	struct xattrs made;
	int err = check(all, change);

	if (err)
		return err;
	merge(all, &new, out);
	if (out->err == -ENOMEM)
		return -ENOMEM;
	made = (struct xattrs){ out->bytes + start, out->size - start };
	if (!out->err && !xattrs_fault(made))
		return 0;
	writer_cut(out, start);
	return -E2BIG;
}
