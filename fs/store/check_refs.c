/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fs/own.h"
#include "fs/store/check_state.h"
#include "fs/store/manifest_file.h"
#include "fs/store/quarantine.h"
#include "fs/store/state.h"
#include "fs/store/version_state.h"

/* Marks the packs that blocks are found in. */
struct marking {
	struct block_witness witness; /* first: it is what others see of it */
	struct pack_set *packs;
};

static int mark_used(struct block_witness *witness, const struct pack *pack,
		     bool settled)
{
	struct marking *marking = (struct marking *)witness;

	(void)settled;
	return pack_set_mark(marking->packs, &pack->table.id, PACK_IS_USED);
}

static void set_lost(const struct check *c, const struct manifest *m, size_t i,
		     struct finding *finding)
{
	const struct digest *pack = &m->packs[m->blocks[i].pack];
	uint8_t marks = pack_set_marks(&c->packs, pack);
	char text[DIGEST_TEXT_SIZE];
	const char *where = "nowhere";

	if (marks & PACK_IS_CLOSED)
		where = "in a pack that cannot be used";
	else if (marks & PACK_IS_IN_TRASH)
		where = "in trash/";
	digest_text(pack, text);
	finding_set(finding,
		    marks & PACK_IS_CLOSED && check_expects_others(c)
			    ? PROBLEM_WITHHELD
			    : PROBLEM_DANGLING,
		    "its block %zu, number %" PRIu32 " of pack %s, is %s", i,
		    m->blocks[i].number, text, where);
}

/* What a mount would say that opens the file. */
static int look_at_blocks(struct check *c, struct version *v,
			  struct finding *finding)
{
	const struct manifest *m = &v->manifest;
	struct marking marking = {
		.witness = { .unread = !c->options->read_data,
			     .saw = mark_used },
		.packs = &c->packs,
	};
	int err = 0;

	for (size_t i = 0; i < m->block_count; i++) {
		const struct block_want want = {
			.id = m->blocks[i].id,
			.place = { .pack = m->packs[m->blocks[i].pack],
				   .number = m->blocks[i].number },
		};

		err = blocks_verify(c->store, &want, &c->room->blocks,
				    &marking.witness);
		if (err == -ENOENT)
			set_lost(c, m, i, finding);
		if (err)
			return err == -ENOENT ? 0 : err;
	}
	if (c->options->read_data || marking.witness.moved)
		err = version_hash(c->store, v);
	if (err == -ENOENT)
		finding_set(finding, PROBLEM_CONTENT,
			    "its content does not have its SHA-256");
	return err == -ENOENT ? 0 : err;
}

static int set_error(struct finding *finding, int err, const char *why)
{
	switch (err) {
	case 0:
	case -ENOENT:
	case -ENOTDIR:
	case -ESTALE:
	case -EISDIR: /* these three: it is another file by now */
	case -ELOOP:
	case -ENXIO:
		return 0;
	case -ENOMEM:
		return err;
	case -EBADMSG:
		finding_set(finding, PROBLEM_DAMAGED, "%s", why);
		return 0;
	case -ENODATA:
		finding_set(finding, PROBLEM_DAMAGED, "it is cut short");
		return 0;
	case -EFBIG:
		finding_set(finding, PROBLEM_DAMAGED,
			    "it is too large for a manifest");
		return 0;
	case -ENOTSUP:
		finding_set(finding, PROBLEM_NEWER,
			    "it is newer than this program: %s", why);
		return 0;
	case -EPERM:
		finding_set(finding, PROBLEM_UNTRUSTED,
			    "its owner is not trusted");
		return 0;
	default:
		finding_set(finding, PROBLEM_UNCHECKED,
			    "cannot be looked at: %s", strerror(-err));
		return 0;
	}
}

static int load(struct check *c, const struct spot *spot, struct version **v,
		struct finding *finding)
{
	AUTO_FREE void *bytes = NULL;
	const char *why = "";
	struct stat st;
	int err = manifest_file_read(c->store, spot->dir, spot->name, &bytes,
				     &st);

	if (!err)
		finding->identity = identity_of(&st);
	if (!err)
		err = version_parse(c->store, bytes, (size_t)st.st_size, v,
				    &why);
	if (!err)
		version_identify(*v, &st);
	return set_error(finding, err, why);
}

static int look_at_manifest(struct check *c, const struct spot *spot,
			    struct finding *finding)
{
	struct version *v = NULL;
	int err = load(c, spot, &v, finding);

	if (!err && v)
		err = set_error(finding, look_at_blocks(c, v, finding), "");
	version_put(v);
	return err;
}

/*
 * Brings back the packs that the manifest needs and trash/ has. `closed` is
 * set when it needs one that others may be able to use.
 */
static void restore_packs(struct check *c, const struct spot *spot,
			  bool *closed)
{
	struct finding ignored;
	struct version *v = NULL;

	*closed = false;
	if (load(c, spot, &v, &ignored) || !v)
		return;
	for (size_t i = 0; i < v->manifest.pack_count; i++) {
		const struct digest *id = &v->manifest.packs[i];
		uint8_t marks = pack_set_marks(&c->packs, id);

		if (marks & PACK_IS_CLOSED)
			*closed = true;
		else if ((marks & PACK_IS_IN_TRASH) && check_restore(c, id))
			pack_set_mark(&c->packs, id, PACK_IS_THERE);
	}
	version_put(v);
}

static int mend_dangling(struct check *c, const struct spot *spot,
			 struct finding *finding, bool *mended)
{
	struct finding after = { .kind = PROBLEM_NONE };
	bool closed;
	int err;

	restore_packs(c, spot, &closed);
	err = look_at_manifest(c, spot, &after);
	if (err)
		return err;
	if (after.kind == PROBLEM_NONE) {
		*mended = true;
		return 0;
	}
	if (!closed)
		*mended = quarantine_file(c->store, spot->dir, spot->name,
					  &finding->identity, "manifest",
					  finding->what) == 0;
	return 0;
}

static int mend(struct check *c, const struct spot *spot,
		struct finding *finding, bool *mended)
{
	switch (finding->kind) {
	case PROBLEM_DANGLING:
		return mend_dangling(c, spot, finding, mended);
	case PROBLEM_DAMAGED:
	case PROBLEM_CONTENT:
		*mended = quarantine_file(c->store, spot->dir, spot->name,
					  &finding->identity, "manifest",
					  finding->what) == 0;
		return 0;
	default:
		return 0;
	}
}

static int visit_manifest(struct check *c, const struct spot *spot)
{
	struct finding finding;
	bool mended = false;
	int err;

	c->counts.files++;
	if (!check_attributes(c, spot, "manifest") || c->options->names_only)
		return 0;
	err = check_look_twice(c, spot, look_at_manifest, &finding);
	if (!err && finding.kind == PROBLEM_WITHHELD) {
		c->counts.others++;
		return 0;
	}
	if (!err && finding.kind != PROBLEM_NONE && c->options->repair)
		err = mend(c, spot, &finding, &mended);
	if (!err && finding.kind != PROBLEM_NONE)
		check_tell(c, spot->name, finding.kind, finding.what, mended);
	return err;
}

static void tell_no_namespace(struct check *c, const struct spot *spot)
{
	static const char what[] = "is no directory, so it is no namespace";
	struct file_identity identity = identity_of(&spot->st);
	bool moved = c->options->repair &&
		     quarantine_file(c->store, spot->dir, spot->name, &identity,
				     "other", what) == 0;

	check_tell(c, spot->name, PROBLEM_KIND, what, moved);
}

static int visit_ref(struct check *c, const struct spot *spot)
{
	if (S_ISDIR(spot->st.st_mode)) {
		c->counts.directories++;
		return 0;
	}
	if (c->depth == 1) {
		tell_no_namespace(c, spot);
		return 0;
	}
	if (S_ISLNK(spot->st.st_mode)) {
		c->counts.symlinks++;
		return 0;
	}
	return visit_manifest(c, spot);
}

int check_refs(struct check *c)
{
	return check_walk(c, c->store->root, "refs", true, visit_ref);
}
