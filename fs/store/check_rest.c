/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/check_state.h"
#include "fs/store/exchange_note.h"
#include "fs/store/guard.h"
#include "fs/store/layout.h"
#include "fs/store/manifest_file.h"
#include "fs/store/moves.h"
#include "fs/store/quarantine.h"
#include "fs/store/state.h"
#include "fs/store/version_state.h"
#include "fs/tree.h"

enum { DRAFT_SECONDS = 24 * 60 * 60 };

/* A deleted manifest that may come back still needs its packs. */
static int mark_needed(struct check *c, const struct spot *spot)
{
	AUTO_FREE void *bytes = NULL;
	struct version *v;
	const char *why;
	struct stat st;
	int err = 0;

	if (manifest_file_read(c->store, spot->dir, spot->name, &bytes, &st) ||
	    version_parse(c->store, bytes, (size_t)st.st_size, &v, &why))
		return 0;
	for (size_t i = 0; !err && i < v->manifest.pack_count; i++)
		err = pack_set_mark(&c->packs, &v->manifest.packs[i],
				    PACK_IS_USED);
	version_put(v);
	return err;
}

/* A draft was never published, or is given up. */
static bool remove_draft(struct check *c, const struct spot *spot,
			 const char *what)
{
	struct file_identity identity = identity_of(&spot->st);

	if (!c->options->repair)
		return false;
	if (fd_draft_name_is(spot->name) || moves_name_is(spot->name) ||
	    guard_name_is_left(spot->name) || exchange_note_name_is(spot->name))
		return tree_remove(spot->dir, spot->name) == 0;
	return quarantine_file(c->store, spot->dir, spot->name, &identity,
			       "other", what) == 0;
}

/* The directory of a user in tmp/ or intents/ of a shared store. */
static bool is_workplace(const struct check *c, const struct spot *spot)
{
	return store_is_shared(c->store) && c->depth == 1 &&
	       S_ISDIR(spot->st.st_mode) && layout_is_of_user(spot->name);
}

/* Those in tmp/ are closed to others. */
static bool may_enter(const struct spot *spot)
{
	return geteuid() == 0 || spot->st.st_uid == geteuid();
}

static int visit_draft(struct check *c, const struct spot *spot)
{
	static const char what[] = "was left by a program more than a day ago";

	if (is_workplace(c, spot))
		return may_enter(spot) ? 0 : CHECK_PASS_OVER;
	c->counts.drafts++;
	if (c->begun.tv_sec - spot->st.st_mtim.tv_sec > DRAFT_SECONDS)
		check_tell(c, spot->name, PROBLEM_DRAFT, what,
			   remove_draft(c, spot, what));
	return S_ISDIR(spot->st.st_mode) ? CHECK_PASS_OVER : 0;
}

/* What a publication under way needs is not unused. */
static int visit_intent(struct check *c, const struct spot *spot)
{
	int err = S_ISREG(spot->st.st_mode) && !c->options->names_only
			  ? mark_needed(c, spot)
			  : 0;

	return err ? err : visit_draft(c, spot);
}

int check_drafts(struct check *c)
{
	int err = check_walk(c, c->store->root, "tmp", true, visit_draft);

	return err ? err
		   : check_walk(c, c->store->root, "intents", true,
				visit_intent);
}

static int visit_quarantined(struct check *c, const struct spot *spot)
{
	const char *end = strrchr(spot->name, '.');

	if (!end || strcmp(end, ".reason") != 0)
		c->counts.quarantined++;
	return 0;
}

int check_quarantine(struct check *c)
{
	return check_walk(c, c->store->root, "quarantine", false,
			  visit_quarantined);
}

/* The id of the pack that a file is, whatever its name. */
static bool is_pack(const struct spot *spot, struct digest *id)
{
	AUTO_CLOSE int fd =
		fd_open(spot->dir, spot->name, O_RDONLY | O_NOFOLLOW, 0);
	uint8_t header[PACK_HEADER_SIZE];

	return fd >= 0 && fd_read_at(fd, header, sizeof(header), 0) == 0 &&
	       pack_parse_header(header, id) == 0;
}

static int visit_trashed(struct check *c, const struct spot *spot)
{
	struct digest id;

	if (!S_ISREG(spot->st.st_mode))
		return 0;
	c->counts.trashed++;
	if (c->options->names_only)
		return 0;
	if (is_pack(spot, &id))
		return pack_set_mark(&c->packs, &id, PACK_IS_IN_TRASH);
	return mark_needed(c, spot);
}

int check_trash(struct check *c)
{
	return check_walk(c, c->store->root, "trash", true, visit_trashed);
}

/* A walk that looks for one pack. */
struct search {
	struct check c; /* first: it is what others see of it */
	const struct digest *id;
	bool restored;
};

static int link_back(struct check *c, const struct spot *spot, const char *path)
{
	char fan[3] = { path[0], path[1], '\0' };
	int err = store_make_dir(c->store, c->store->packs, fan);

	if (err)
		return err;
	return fd_move_new(spot->dir, spot->name, c->store->packs, path);
}

static int visit_wanted(struct check *c, const struct spot *spot)
{
	struct search *search = (struct search *)c;
	struct pack_look look;
	char path[PACK_PATH_SIZE];
	struct pack *pack;
	struct digest id;

	if (search->restored || !S_ISREG(spot->st.st_mode) ||
	    !is_pack(spot, &id) || !digest_equal(&id, search->id) ||
	    pack_open_file(c->store, spot->dir, spot->name, &id, &pack, &look))
		return 0;
	pack_close(pack);
	pack_path(&id, path);
	search->restored = link_back(c, spot, path) == 0;
	return 0;
}

bool check_restore(struct check *c, const struct digest *id)
{
	struct search search = { .c = *c, .id = id };

	search.c.path = writer_upto(c->path.limit);
	search.c.depth = 0;
	if (check_walk(&search.c, c->store->root, "trash", true, visit_wanted))
		search.restored = false;
	writer_free(&search.c.path);
	return search.restored;
}
