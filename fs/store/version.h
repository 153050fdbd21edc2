/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_VERSION_H
#define TACFS_FS_STORE_VERSION_H

/*
 * One published version of one file: a parsed manifest, and access to the
 * content. A version never changes and is counted: it stays readable as long as
 * somebody holds it, whatever is published or unlinked meanwhile.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "codec/manifest.h"
#include "fs/store/store.h"

struct version;

struct version *version_get(struct version *v);
void version_put(struct version *v); /* NULL is fine */

const struct manifest_meta *version_meta(const struct version *v);
/* When the manifest last changed: published, or given another name. */
struct timespec version_changed(const struct version *v);
/* The files that an .idx names; count 0 for everything else. */
const char *const *version_names(const struct version *v, size_t *count);
struct xattrs version_xattrs(const struct version *v);

/*
 * Reads and checks the manifest `name` in the directory `dir`. Returns 0;
 * -ENOENT when there is none that may be served: missing; damaged (it is then
 * moved to quarantine/, or remembered when the store is read-only, and logged);
 * of a publisher who is not trusted; of a newer format (logged); -EISDIR for a
 * directory; -ELOOP for a symlink; -ENXIO for any other kind of file; other
 * errnos of the file system.
 */
int version_load(struct store *store, int dir, const char *name,
		 struct version **out);

/*
 * Whether `name` in `dir` still is the manifest that `v` was read from: 0,
 * -EAGAIN when it is not, or why that cannot be told.
 */
int version_look(const struct version *v, int dir, const char *name);
/* The same for who finds out by himself what is there instead. */
bool version_is_current(const struct version *v, int dir, const char *name);

/* The same, or a manifest that differs in the packs alone: see rewrite.h. */
bool version_is_shown(const struct version *v, int dir, const char *name);

/* Whether both were read from one manifest. */
bool version_same(const struct version *a, const struct version *b);

/*
 * Makes sure, before anything is read, that every stored block is there and
 * whole. A pack's blocks are verified once, and again only if the identity of
 * the pack (inode, size, ctime) changed. Where several users write the content
 * is then compared with its SHA-256. A block whose place is damaged is
 * looked for elsewhere in the store. When one is lost the manifest is moved to
 * quarantine/ (unless the name has another version by now, or it is another's
 * and has packs that are not trusted) and -ENOENT is returned; -EIO and other
 * errnos only for what the system says.
 */
int version_verify(struct store *store, struct version *v, int dir,
		   const char *name);

/*
 * Keeps what was just verified readable, whatever is collected meanwhile, until
 * version_let_go(); nested, from any thread. Returns 0; -ENOENT when it has
 * been collected already.
 */
int version_hold(struct store *store, struct version *v);
void version_let_go(struct store *store, struct version *v);

/*
 * Reads content. Returns how many bytes, short only at the end of the file;
 * -EIO when a block cannot be read any more. Every byte was checked.
 */
ssize_t version_read(struct store *store, struct version *v, uint64_t offset,
		     void *bytes, size_t size);

/*
 * How many bytes of the store the content takes: its blocks as they are stored,
 * each once, whoever has them too; nothing is read. Returns 0; -ENOENT when a
 * block is lost; other errnos.
 */
int version_stored(struct store *store, const struct version *v,
		   uint64_t *bytes);

/*
 * Moves the manifest of `v` from `name` to quarantine/ with a reason, unless
 * the name has another version by now. Returns 0 also then.
 */
int version_quarantine(struct store *store, const struct version *v, int dir,
		       const char *name, const char *reason);

#endif
