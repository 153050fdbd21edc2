/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_EXCHANGE_NOTE_H
#define TACFS_FS_STORE_EXCHANGE_NOTE_H

/*
 * A file in intents/ that says of a draft with what it is being exchanged, so
 * that others can put back what came out by mistake if we are killed before we
 * can. docs/format.md, "Exchanging".
 */

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "codec/digest.h"
#include "fs/fd.h"
#include "fs/store/store.h"

enum { EXCHANGE_NAME_SIZE = 32 };

/* The file of an open store, for one exchange after the other. */
struct exchange_file {
	int fd; /* -1 until the first */
	char name[EXCHANGE_NAME_SIZE];
};

struct exchange_note {
	int fd;				/* of the file; -1: there is none */
	char draft[FD_DRAFT_NAME_SIZE]; /* its name in intents/ */
	char path[PATH_MAX];		/* of the other, below the store */
	/* Two manifests. What is neither was published after both. */
	struct digest older, newer;
	bool ordered; /* else it is no matter which of the two the path shows */
};

/*
 * Writes one about `draft` and `name` in `dir`, with the lock of names held. If
 * it cannot be written, on a full disk above all, the exchange is as good as it
 * can be without. When the draft is gone, or has another name, the note says
 * nothing any more.
 */
void exchange_note_begin(struct store *store, const char *draft, int dir,
			 const char *name, struct exchange_note *note);
/* Writes what it says now. */
void exchange_note_change(const struct exchange_note *note);
/* Leaves the file to others, for the draft that stays. */
void exchange_note_leave(struct store *store);
/* Takes the file away. */
void exchange_file_free(struct store *store);

/* Whether a file in intents/ is one of these. */
bool exchange_note_name_is(const char *name);

/*
 * Reads what another has left there. Returns 0, and the caller closes the file;
 * -EBUSY while that process lives, or may live and the note is not older than
 * `patience` seconds; -EBADMSG when it is no such note, or not of somebody who
 * is trusted; other errnos.
 */
int exchange_note_read(struct store *store, const char *name, int64_t patience,
		       struct exchange_note *note);

#endif
