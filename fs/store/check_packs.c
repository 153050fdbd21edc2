/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "fs/own.h"
#include "fs/store/check_state.h"
#include "fs/store/durable.h"
#include "fs/store/pack_draft.h"
#include "fs/store/quarantine.h"
#include "fs/store/state.h"

int check_block(struct check *c, const struct pack *pack, size_t number,
		const char **why)
{
	const struct pack_block *block = &pack->table.blocks[number];
	const struct block_want want = {
		.id = block->id,
		.place = { .pack = pack->table.id, .number = (uint32_t)number },
	};
	int err = pack_read(pack, block, c->room->stored);

	*why = "its stored form does not have its checksum";
	if (err)
		return err;
	*why = "it does not decode to what its id says";
	err = blocks_fetch_at(c->store, &want, &c->room->blocks, c->room->raw);
	return err == -ENOENT ? -EBADMSG : err;
}

static int look_at_blocks(struct check *c, const struct pack *pack,
			  struct finding *finding)
{
	size_t count = pack->table.block_count;
	const char *first_why = "";
	size_t first = 0;
	size_t damaged = 0;

	for (size_t i = 0; i < count; i++) {
		const char *why;
		int err = check_block(c, pack, i, &why);

		if (err && err != -EBADMSG)
			return err;
		if (err && !damaged++) {
			first = i;
			first_why = why;
		}
	}
	if (damaged)
		finding_set(finding, PROBLEM_BLOCK,
			    "%zu of its %zu blocks are damaged; block %zu: %s",
			    damaged, count, first, first_why);
	return 0;
}

/* A pack that another refers to is needed by that. */
static int mark_referenced(struct check *c, const struct pack_table *table)
{
	static const struct digest this_pack;

	for (size_t i = 0; i < table->reference_count; i++) {
		const struct digest *pack = &table->references[i].pack;

		if (!digest_equal(pack, &this_pack) &&
		    pack_set_mark(&c->packs, pack, PACK_IS_USED))
			return -ENOMEM;
	}
	return 0;
}

static int set_error(struct finding *finding, int err, const char *why)
{
	switch (err) {
	case -ENOENT: /* or not a file of ours, by now */
	case -ESTALE:
		return 0;
	case -EBADMSG:
		finding_set(finding, PROBLEM_DAMAGED, "%s", why);
		return 0;
	case -ENOTSUP:
		finding_set(finding, PROBLEM_NEWER,
			    "it is newer than this program");
		return 0;
	case -ENOMEM:
		return err;
	default:
		finding_set(finding, PROBLEM_UNCHECKED,
			    "cannot be looked at: %s", strerror(-err));
		return 0;
	}
}

static int look_at_pack(struct check *c, const struct spot *spot,
			struct finding *finding)
{
	struct pack_look look;
	struct pack *pack;
	struct digest id;
	int err = digest_from_text(spot->name, &id);

	if (err)
		return 0;
	err = pack_open_file(c->store, spot->dir, spot->name, &id, &pack,
			     &look);
	if (err)
		return set_error(finding, err, pack_part_damage(look.part));
	finding->identity = look.identity;
	err = mark_referenced(c, &pack->table);
	if (!err && c->options->read_data)
		err = look_at_blocks(c, pack, finding);
	pack_close(pack);
	return err ? set_error(finding, err, "") : 0;
}

static bool mend(struct check *c, const struct spot *spot,
		 const struct digest *id, const struct finding *finding)
{
	if (!c->options->repair)
		return false;
	if (finding->kind == PROBLEM_BLOCK && check_salvage(c, id))
		return false;
	if (finding->kind != PROBLEM_BLOCK && finding->kind != PROBLEM_DAMAGED)
		return false;
	return quarantine_file(c->store, spot->dir, spot->name,
			       &finding->identity, "pack", finding->what) == 0;
}

static uint8_t marks_of(const struct finding *finding)
{
	switch (finding->kind) {
	case PROBLEM_NONE:
	case PROBLEM_BLOCK:
		return PACK_IS_THERE;
	case PROBLEM_DAMAGED:
		return 0;
	default:
		return PACK_IS_CLOSED;
	}
}

static int mark(struct check *c, const struct digest *id, uint8_t marks)
{
	return marks ? pack_set_mark(&c->packs, id, marks) : 0;
}

static int visit_pack(struct check *c, const struct spot *spot,
		      const struct digest *id)
{
	struct finding finding;
	bool mended;
	int err;

	c->counts.packs++;
	if (!check_attributes(c, spot, "pack"))
		return mark(c, id, PACK_IS_CLOSED);
	if (c->options->names_only)
		return mark(c, id, PACK_IS_THERE);
	err = check_look_twice(c, spot, look_at_pack, &finding);
	if (err)
		return err;
	if (finding.kind == PROBLEM_NONE)
		return mark(c, id, PACK_IS_THERE);
	mended = mend(c, spot, id, &finding);
	check_tell(c, spot->name, finding.kind, finding.what, mended);
	return mended ? 0 : mark(c, id, marks_of(&finding));
}

static int tell_name(struct check *c, const struct spot *spot)
{
	static const char what[] = "does not have the name of a pack";
	struct file_identity identity = identity_of(&spot->st);
	bool moved = c->options->repair &&
		     quarantine_file(c->store, spot->dir, spot->name, &identity,
				     "other", what) == 0;

	check_tell(c, spot->name, PROBLEM_NAME, what, moved);
	return CHECK_PASS_OVER;
}

static bool is_fan(const char *name)
{
	return strlen(name) == 2 && strspn(name, "0123456789abcdef") == 2;
}

/* Whether the directory that is walked is the one for packs of this name. */
static bool is_in_its_fan(const struct check *c, const char *name)
{
	return memcmp(c->path.bytes + c->path.size - 2, name, 2) == 0;
}

static int visit_name(struct check *c, const struct spot *spot)
{
	struct digest id;

	if (c->depth == 1)
		return is_fan(spot->name) && S_ISDIR(spot->st.st_mode)
			       ? 0
			       : tell_name(c, spot);
	if (digest_from_text(spot->name, &id) || !is_in_its_fan(c, spot->name))
		return tell_name(c, spot);
	return S_ISDIR(spot->st.st_mode) ? tell_name(c, spot)
					 : visit_pack(c, spot, &id);
}

int check_packs(struct check *c)
{
	return check_walk(c, c->store->root, "packs", true, visit_name);
}

static int copy_block(struct check *c, const struct pack *pack, size_t number,
		      struct pack_draft *draft)
{
	const struct block_reference none = { NULL, 0 };
	const struct block_id *id = &pack->table.blocks[number].id;
	enum block_encoding encoding;
	uint32_t new_number;
	const char *why;
	size_t size;
	int err = check_block(c, pack, number, &why);

	if (err)
		return err == -EBADMSG ? 0 : err;
	err = block_encode(c->room->raw, id->size, BLOCK_SMALL, none,
			   c->room->stored, &size, &encoding);
	if (err)
		return err;
	return pack_draft_add(draft, id, encoding, c->room->stored, size,
			      &new_number);
}

static int place(struct check *c, struct pack_draft *draft)
{
	int err = pack_draft_end(draft);

	if (!err)
		err = durable_data(c->store, draft->file.fd);
	if (!err)
		err = pack_draft_place(c->store, draft, true);
	if (!err)
		err = durable_commit(draft->file.fd);
	return err ? err : mark(c, &draft->table.id, PACK_IS_THERE);
}

int check_salvage(struct check *c, const struct digest *id)
{
	struct pack_draft *draft = NULL;
	char path[PACK_PATH_SIZE];
	struct pack_look look;
	struct pack *pack;
	int err;

	pack_path(id, path);
	err = pack_open_file(c->store, c->store->packs, path, id, &pack, &look);
	if (err)
		return err;
	err = pack_draft_open(c->store, &draft);
	for (size_t i = 0; !err && i < pack->table.block_count; i++)
		err = copy_block(c, pack, i, draft);
	if (!err && draft->table.block_count)
		err = place(c, draft);
	pack_draft_free(draft);
	pack_close(pack);
	return err;
}
