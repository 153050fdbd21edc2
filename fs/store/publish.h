/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_PUBLISH_H
#define TACFS_FS_STORE_PUBLISH_H

/*
 * Publishing: content becomes the version that a name shows, in one atomic
 * step. docs/format.md, "Protocols".
 */

#include <stdbool.h>
#include <stddef.h>

#include "fs/store/version.h"

struct publication {
	int dir; /* below refs/<namespace> */
	const char *name;
	int content; /* a file of meta.size bytes that nobody writes
			meanwhile; -1 when meta.size is 0 */
	struct manifest_meta meta; /* all but hashes, publisher, and `stored` */
	const char *const *names;  /* what an .idx names */
	size_t name_count;
	struct xattrs xattrs;
	const struct version *replaces; /* -EAGAIN when the name shows another;
					   NULL: whatever it shows */
	bool exclusive;			/* -EEXIST when the name is taken */
	bool durable; /* on disk when this returns, not only visible */
	bool keeps;   /* what the name showed is lost only for this: a crash
			 leaves the one or the other */
	bool by_collector; /* who makes room by himself */
};

/*
 * Returns 0 and the new version; or a negative errno, and then the name shows
 * what it showed before: -ENOENT when the directory was removed, -ENOSPC, ...
 */
int store_publish(struct store *store, const struct publication *p,
		  struct version **out);

/*
 * Brings what `name` shows to disk, though not the name: another name that it
 * is moved to then keeps what it had until a crash leaves this. 0 also when it
 * shows nothing; else what the system says.
 */
int store_settle(struct store *store, int dir, const char *name);

/*
 * Publishes the content of `old` again, as `name`, with other attributes
 * (mode, mtime, kind, verdict, renderer, readable_size, ino of `meta`), names
 * and extended attributes. Same errors; with `exclusive` as above; -ESTALE when
 * it does not replace `old`, which was deleted meanwhile, and its packs are
 * gone.
 */
int store_republish(struct store *store, struct version *old,
		    const struct publication *p, struct version **out);

#endif
