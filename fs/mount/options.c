/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/options.h"

#include <errno.h>
#include <fuse_opt.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/ids.h"
#include "fs/mount/janitor.h"
#include "fs/size.h"
#include "fs/store/store.h"

enum {
	KEY_TRUST,
	KEY_FOREGROUND,
	KEY_DEBUG,
	KEY_IGNORED,
	KEY_PASSED,
	KEY_READ_ONLY,
	KEY_STRICT,
	KEY_AUTO_UNMOUNT,
	KEY_LOG_ALL,
	KEY_WRITABLE
};

/* What fuse_opt hands to each call. */
struct parsing {
	struct mount_options *o;
	char *uid;
	char *gid;
	char *space;
	char *deletes;
	char *on_full;
	char *collect;
	char *max_bytes;
	bool trusting; /* the option before this one was trust= */
	char *min_free;
	char *why;
	size_t why_size;
};

static const struct fuse_opt specification[] = {
	{ "uid=%s", offsetof(struct parsing, uid), 0 },
	{ "gid=%s", offsetof(struct parsing, gid), 0 },
	{ "deletes=%s", offsetof(struct parsing, deletes), 0 },
	{ "on_full=%s", offsetof(struct parsing, on_full), 0 },
	{ "namespace=%s", offsetof(struct parsing, space), 0 },
	{ "collect=%s", offsetof(struct parsing, collect), 0 },
	{ "max_bytes=%s", offsetof(struct parsing, max_bytes), 0 },
	FUSE_OPT_KEY("trust=", KEY_TRUST),
	{ "min_free=%s", offsetof(struct parsing, min_free), 0 },
	FUSE_OPT_KEY("-f", KEY_FOREGROUND),
	FUSE_OPT_KEY("-d", KEY_DEBUG),
	FUSE_OPT_KEY("debug", KEY_DEBUG),
	FUSE_OPT_KEY("defaults", KEY_IGNORED),
	FUSE_OPT_KEY("strict", KEY_STRICT),
	FUSE_OPT_KEY("log_all", KEY_LOG_ALL),
	FUSE_OPT_KEY("ro", KEY_READ_ONLY),
	FUSE_OPT_KEY("rw", KEY_WRITABLE),
	/* always nosuid and nodev; mount(8) says suid and dev by itself */
	FUSE_OPT_KEY("suid", KEY_IGNORED),
	FUSE_OPT_KEY("nosuid", KEY_IGNORED),
	FUSE_OPT_KEY("dev", KEY_IGNORED),
	FUSE_OPT_KEY("nodev", KEY_IGNORED),
	FUSE_OPT_KEY("exec", KEY_PASSED),
	FUSE_OPT_KEY("noexec", KEY_PASSED),
	FUSE_OPT_KEY("atime", KEY_PASSED),
	FUSE_OPT_KEY("noatime", KEY_PASSED),
	FUSE_OPT_KEY("relatime", KEY_PASSED),
	FUSE_OPT_KEY("allow_other", KEY_PASSED),
	FUSE_OPT_KEY("auto_unmount", KEY_AUTO_UNMOUNT),
	FUSE_OPT_KEY("default_permissions", KEY_IGNORED),
	FUSE_OPT_END,
};

static int take_argument(struct parsing *p, const char *argument)
{
	char **to = !p->o->store ? &p->o->store : &p->o->mountpoint;

	if (p->o->mountpoint) {
		snprintf(p->why, p->why_size, "unexpected argument \"%s\"",
			 argument);
		return -1;
	}
	*to = strdup(argument);
	return *to ? 0 : -1;
}

/* What fuse_opt has cut off from "trust=1,2,3". */
static bool is_number(const char *argument)
{
	return argument[strspn(argument, "0123456789")] == '\0';
}

static const char *after_trust(const char *argument)
{
	const char *sign = strchr(argument, '=');

	return sign ? sign + 1 : argument;
}

static int take(void *data, const char *argument, int key,
		struct fuse_args *args)
{
	struct parsing *p = data;
	bool trusting = p->trusting;

	(void)args;
	p->trusting = key == KEY_TRUST || (trusting && is_number(argument));
	if (trusting && p->trusting)
		key = KEY_TRUST;
	switch (key) {
	case KEY_FOREGROUND:
		p->o->foreground = true;
		return 0;
	case KEY_DEBUG:
		p->o->debug = true;
		p->o->foreground = true;
		return 0;
	case KEY_READ_ONLY:
	case KEY_WRITABLE:
		p->o->read_only = key == KEY_READ_ONLY;
		return 0;
	case KEY_AUTO_UNMOUNT:
		p->o->auto_unmount = true;
		return 0;
	case KEY_LOG_ALL:
		p->o->log_all = true;
		return 0;
	case KEY_STRICT:
		p->o->strict = true;
		return 0;
	case KEY_TRUST:
		return trust_add(after_trust(argument), &p->o->trust, p->why,
				 p->why_size);
	case KEY_IGNORED:
		return 0;
	case KEY_PASSED:
		return 1;
	case FUSE_OPT_KEY_NONOPT:
		return take_argument(p, argument);
	default:
		snprintf(p->why, p->why_size, "unknown option \"%s\"",
			 argument);
		return -1;
	}
}

static int parse_number(const char *option, const char *text, uint32_t *id,
			struct parsing *p)
{
	char *end;
	unsigned long value;

	if (!text)
		return 0;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' ||
	    value >= UINT32_MAX) {
		snprintf(p->why, p->why_size, "%s=%s is not a number", option,
			 text);
		return -EINVAL;
	}
	*id = (uint32_t)value;
	return 0;
}

/* The kernel lets nobody write to files whose owner it does not know. */
static int check_owner(struct parsing *p)
{
	bool user = ids_have_user(p->o->uid);

	if (user && ids_have_group(p->o->gid))
		return 0;
	snprintf(p->why, p->why_size,
		 "%s=%u: there is no such id in this user namespace",
		 user ? "gid" : "uid",
		 (unsigned)(user ? p->o->gid : p->o->uid));
	return -EINVAL;
}

static int take_space(struct parsing *p)
{
	if (p->space && !store_space_allowed(p->space)) {
		snprintf(p->why, p->why_size,
			 "namespace=%s: a namespace has 1 to 255 bytes, no "
			 "\"/\", and is neither \".\" nor \"..\"",
			 p->space);
		return -EINVAL;
	}
	p->o->space = p->space;
	p->space = NULL;
	return 0;
}

/* One of two words; *is_second tells which. */
static int take_choice(struct parsing *p, const char *option, const char *given,
		       const char *const words[2], bool *is_second)
{
	if (!given)
		return 0;
	*is_second = strcmp(given, words[1]) == 0;
	if (*is_second || strcmp(given, words[0]) == 0)
		return 0;
	snprintf(p->why, p->why_size, "%s=%s: \"%s\" or \"%s\" is expected",
		 option, given, words[0], words[1]);
	return -EINVAL;
}

static int take_choices(struct parsing *p)
{
	static const char *const deletes[] = { "shared", "private" };
	static const char *const on_full[] = { "fail", "drop" };
	int err = take_choice(p, "deletes", p->deletes, deletes,
			      &p->o->private_deletes);

	return err ? err
		   : take_choice(p, "on_full", p->on_full, on_full,
				 &p->o->drops_when_full);
}

static int parse_max_bytes(struct parsing *p)
{
	if (!p->max_bytes)
		return 0;
	if (size_parse(p->max_bytes, &p->o->max_bytes) != 0) {
		snprintf(p->why, p->why_size,
			 "max_bytes=%s is not a size, such as 512M or 10G",
			 p->max_bytes);
		return -EINVAL;
	}
	p->o->has_max_bytes = true;
	return 0;
}

static int parse_min_free(struct parsing *p)
{
	if (!p->min_free || share_parse(p->min_free, &p->o->min_free) == 0)
		return 0;
	snprintf(p->why, p->why_size,
		 "min_free=%s is neither a size, such as 512M or 10G, nor a "
		 "percentage, such as 5%%",
		 p->min_free);
	return -EINVAL;
}

static int check(struct parsing *p)
{
	int err = parse_number("uid", p->uid, &p->o->uid, p);

	if (!err)
		err = parse_number("gid", p->gid, &p->o->gid, p);
	if (!err)
		err = check_owner(p);
	if (!err)
		err = parse_max_bytes(p);
	if (!err)
		err = parse_min_free(p);
	if (!err)
		err = take_space(p);
	if (!err)
		err = take_choices(p);
	if (!err)
		err = parse_number("collect", p->collect, &p->o->collect, p);
	if (!err && !p->o->mountpoint) {
		snprintf(p->why, p->why_size, "%s",
			 p->o->store ? "the mount point is missing"
				     : "the store and the mount point are "
				       "missing");
		err = -EINVAL;
	}
	return err;
}

int mount_options_parse(int argc, char **argv, struct mount_options *o,
			struct fuse_args *args, char *why, size_t why_size)
{
	struct parsing p = { .o = o, .why = why, .why_size = why_size };
	int err = 0;

	*o = (struct mount_options){ .uid = geteuid(),
				     .gid = getegid(),
				     .collect = JANITOR_SECONDS };
	*args = (struct fuse_args)FUSE_ARGS_INIT(0, NULL);
	*why = '\0';
	/* fuse_opt takes the first argument for the name of the program */
	if (fuse_opt_add_arg(args, "tacfs") != 0)
		return -ENOMEM;
	for (int i = 0; i < argc; i++)
		if (fuse_opt_add_arg(args, argv[i]) != 0)
			return -ENOMEM;
	if (fuse_opt_parse(args, &p, specification, take) != 0)
		err = *why ? -EINVAL : -ENOMEM;
	if (!err)
		err = check(&p);
	free(p.uid);
	free(p.gid);
	free(p.space);
	free(p.deletes);
	free(p.on_full);
	free(p.collect);
	free(p.max_bytes);
	free(p.min_free);
	return err;
}

void mount_options_free(struct mount_options *o)
{
	free(o->store);
	free(o->mountpoint);
	free(o->space);
	trust_free(&o->trust);
}
