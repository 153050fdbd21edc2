/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/pack_draft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/random.h"
#include "fs/store/durable.h"
#include "fs/store/pack_file.h"
#include "fs/store/state.h"

enum { BUFFER_SIZE = 256 * 1024, FIRST_CAPACITY = 32, FAN_SIZE = 2 };

static int begin(const struct store *store, struct pack_draft *draft)
{
	struct writer header = writer_upto(PACK_HEADER_SIZE);
	int err = random_bytes(draft->table.id.b, DIGEST_SIZE);

	draft->buffer = malloc(BUFFER_SIZE);
	if (!err && !draft->buffer)
		err = -ENOMEM;
	if (!err)
		err = fd_draft_open(store->tmp, store->file_mode, &draft->file);
	if (err)
		return err;
	pack_write_header(&draft->table.id, &header);
	err = header.err;
	if (!err)
		memcpy(draft->buffer, header.bytes, header.size);
	draft->buffered = header.size;
	draft->end = header.size;
	writer_free(&header);
	return err;
}

int pack_draft_open(const struct store *store, struct pack_draft **out)
{
	struct pack_draft *draft = calloc(1, sizeof(*draft));
	int err;

	if (!draft)
		return -ENOMEM;
	draft->file.fd = -1;
	err = begin(store, draft);
	if (err) {
		pack_draft_free(draft);
		return err;
	}
	*out = draft;
	return 0;
}

void pack_draft_free(struct pack_draft *draft)
{
	if (!draft)
		return;
	fd_draft_close(&draft->file);
	free(draft->table.blocks);
	free(draft->table.references);
	free(draft->buffer);
	free(draft);
}

static int flush(struct pack_draft *draft)
{
	int err = fd_write_at(draft->file.fd, draft->buffer, draft->buffered,
			      draft->end - draft->buffered);

	if (!err)
		draft->buffered = 0;
	return err;
}

static int append(struct pack_draft *draft, const void *bytes, size_t size)
{
	int err;

	if (draft->buffered + size > BUFFER_SIZE) {
		err = flush(draft);
		if (err)
			return err;
	}
	memcpy(draft->buffer + draft->buffered, bytes, size);
	draft->buffered += size;
	draft->end += size;
	return 0;
}

static int reserve_entry(struct pack_draft *draft)
{
	struct pack_table *table = &draft->table;
	size_t capacity =
		draft->capacity ? draft->capacity * 2 : FIRST_CAPACITY;
	struct pack_block *blocks;

	if (table->block_count < draft->capacity)
		return 0;
	blocks = realloc(table->blocks, capacity * sizeof(*blocks));
	if (!blocks)
		return -ENOMEM;
	table->blocks = blocks;
	draft->capacity = capacity;
	return 0;
}

int pack_draft_add(struct pack_draft *draft, const struct block_id *id,
		   enum block_encoding encoding, const void *stored,
		   size_t stored_size, uint32_t *number)
{
	struct pack_table *table = &draft->table;
	uint64_t offset = draft->end;
	int err = reserve_entry(draft);

	if (!err)
		err = append(draft, stored, stored_size);
	if (err)
		return err;
	*number = (uint32_t)table->block_count;
	table->blocks[table->block_count++] = (struct pack_block){
		.id = *id,
		.offset = offset,
		.stored_check = check_of(stored, stored_size, 0),
		.stored_size = (uint32_t)stored_size,
		.encoding = encoding,
		.reference = PACK_NO_REFERENCE,
	};
	return 0;
}

int pack_draft_refer(struct pack_draft *draft,
		     const struct pack_reference *reference, int64_t *number)
{
	struct pack_table *table = &draft->table;

	if (table->reference_count == draft->reference_capacity) {
		size_t capacity = table->reference_count * 2 + FIRST_CAPACITY;
		struct pack_reference *references = reallocarray(
			table->references, capacity, sizeof(*references));

		if (!references)
			return -ENOMEM;
		table->references = references;
		draft->reference_capacity = capacity;
	}
	*number = (int64_t)table->reference_count;
	table->references[table->reference_count++] = *reference;
	return 0;
}

int pack_draft_end(struct pack_draft *draft)
{
	struct writer end = writer_upto(PACK_TABLE_MAX);
	int err = flush(draft);

	if (!err)
		err = pack_write_end(&draft->table, draft->end, &end);
	if (!err)
		err = fd_write_at(draft->file.fd, end.bytes, end.size,
				  draft->end);
	writer_free(&end);
	free(draft->buffer);
	draft->buffer = NULL;
	return err;
}

static int link_pack(const struct store *store, struct pack_draft *draft,
		     const char *fan, const char *path)
{
	int err = fd_draft_link(&draft->file, store->packs, path);

	if (err != -ENOENT)
		return err;
	err = store_make_dir(store, store->packs, fan);
	if (err)
		return err;
	return fd_draft_link(&draft->file, store->packs, path);
}

int pack_name_durable(const struct store *store, const struct digest *id)
{
	AUTO_CLOSE int dir = -1;
	char path[PACK_PATH_SIZE];
	int err;

	if (store->has_journal)
		return 0;
	pack_path(id, path);
	path[FAN_SIZE] = '\0';
	dir = fd_open(store->packs, path, O_RDONLY | O_DIRECTORY, 0);
	if (dir < 0)
		return -errno;
	err = durable_name(store, dir);
	return err ? err : durable_name(store, store->packs);
}

int pack_draft_place(const struct store *store, struct pack_draft *draft,
		     bool durable)
{
	char path[PACK_PATH_SIZE];
	char fan[FAN_SIZE + 1];
	int err;

	pack_path(&draft->table.id, path);
	memcpy(fan, path, FAN_SIZE);
	fan[FAN_SIZE] = '\0';
	err = link_pack(store, draft, fan, path);
	if (err || !durable)
		return err;
	return pack_name_durable(store, &draft->table.id);
}
