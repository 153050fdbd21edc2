/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_CHECK_STATE_H
#define TACFS_FS_STORE_CHECK_STATE_H

/* A check of a store while it runs. For fs/store/check*.c only. */

#include <sys/stat.h>

#include "codec/writer.h"
#include "fs/store/blocks.h"
#include "fs/store/check.h"
#include "fs/store/identity.h"
#include "fs/store/pack_set.h"

enum { FINDING_SIZE = 200 };

/* What was found about a file, to be compared with a second look. */
struct finding {
	enum problem_kind kind; /* PROBLEM_NONE also when the file is gone */
	char what[FINDING_SIZE];
	struct file_identity identity;
};

/* Room to work in. */
struct check_room {
	struct block_room blocks;
	uint8_t raw[BLOCK_MAX];
	uint8_t stored[BLOCK_MAX];
};

struct check {
	struct store *store;
	const struct check_options *options;
	struct check_listener *listener;
	struct check_counts counts;
	struct timespec begun; /* by the clock of the file system */
	struct writer path;    /* of the directory that is walked */
	struct pack_set packs;
	struct check_room *room;
	unsigned depth; /* 1 in a part of the store */
	unsigned pauses;
};

/* A place in a directory. */
struct spot {
	int dir;
	const char *name;
	struct stat st; /* not followed */
};

/*
 * Calls `visit` for what is in the directory `name`, and, when `deep`, in those
 * below it; for these themselves, too, before they are entered. What vanishes
 * meanwhile is passed over. `visit` returns 0, CHECK_PASS_OVER for a directory
 * that is not to be entered, or an error that ends the walk.
 */
enum { CHECK_PASS_OVER = 1 };
typedef int check_visit(struct check *c, const struct spot *spot);
int check_walk(struct check *c, int parent, const char *name, bool deep,
	       check_visit *visit);

/* Tells of a problem with `name` in the directory that is walked. */
void check_tell(struct check *c, const char *name, enum problem_kind kind,
		const char *what, bool repaired);

/*
 * Looks at a file, and sets what is wrong. Returns 0, or an error that ends the
 * check.
 */
typedef int check_look(struct check *c, const struct spot *spot,
		       struct finding *finding);

/*
 * Looks, and if something is wrong looks again, when whoever might be at work
 * on the file has had time to finish. What counts is what is still so then.
 */
int check_look_twice(struct check *c, const struct spot *spot, check_look *look,
		     struct finding *finding);

__attribute__((format(printf, 3, 4))) void finding_set(struct finding *finding,
						       enum problem_kind kind,
						       const char *format, ...);

/*
 * Kind, owner and mode of a file, which `what` calls. Tells what is wrong with
 * them, and mends what can be. False when the file cannot be looked into.
 */
bool check_attributes(struct check *c, const struct spot *spot,
		      const char *what);

/*
 * Whether files of users who are not trusted are none of our business: those of
 * a shared store, unless who asks wants to know of all that is not served.
 */
bool check_expects_others(const struct check *c);

/* Each goes through one part of the store. 0, or an error that ends it. */
int check_packs(struct check *c);
int check_refs(struct check *c);
int check_drafts(struct check *c);
int check_trash(struct check *c);
int check_quarantine(struct check *c);

/* Brings a pack back from trash/. False when it is not there, or not whole. */
bool check_restore(struct check *c, const struct digest *id);

/*
 * Decodes a block of an open pack into c->room->raw. -EBADMSG with *why when
 * it is damaged, or its reference is; other errnos.
 */
int check_block(struct check *c, const struct pack *pack, size_t number,
		const char **why);

/*
 * Copies the blocks of the pack that are whole into a new one. Returns 0, also
 * when none are; or a negative errno.
 */
int check_salvage(struct check *c, const struct digest *id);

#endif
