/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/facts.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "compiler/artifact.h"
#include "compiler/compiled_module.h"
#include "fs/mount/dir.h"
#include "fs/mount/file.h"
#include "fs/mount/rendering.h"

enum { SHOWN_MAX = 4096, FIRST_PRINTABLE = 0x20, DELETE = 0x7f };

/* What is asked about: a version, under the name of its node. */
struct subject {
	struct mount *m;
	struct node *node;
	struct version *v;
};

static void put_hex(struct writer *out, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		writer_printf(out, "%02x", bytes[i]);
}

static int tell_digest(const struct subject *s, struct writer *out)
{
	writer_string(out, "xxh3-128:");
	put_hex(out, version_meta(s->v)->digest.b, DIGEST_SIZE);
	return 0;
}

static int tell_sha256(const struct subject *s, struct writer *out)
{
	put_hex(out, version_meta(s->v)->sha256, SHA256_SIZE);
	return 0;
}

static int tell_publisher(const struct subject *s, struct writer *out)
{
	writer_printf(out, "%" PRIu32, version_meta(s->v)->uid);
	return 0;
}

/* Blocks that are lost are found by who opens it. */
static int measure(const struct subject *s, uint64_t *stored)
{
	int err = version_stored(s->m->store, s->v, stored);

	return err == -ENOENT ? -ENODATA : err;
}

static int tell_stored(const struct subject *s, struct writer *out)
{
	uint64_t stored;
	int err = measure(s, &stored);

	if (!err)
		writer_printf(out, "%" PRIu64, stored);
	return err;
}

static int tell_ratio(const struct subject *s, struct writer *out)
{
	uint64_t size = version_meta(s->v)->size;
	uint64_t stored;
	int err = measure(s, &stored);

	if (!err) /* of no bytes nothing is gained */
		writer_printf(out, "%.2f",
			      stored ? (double)size / (double)stored : 1.0);
	return err;
}

static int tell_sound(const struct subject *s, struct writer *out)
{
	static const char *const verdicts[] = {
		[VERDICT_PLAIN] = "plain",
		[VERDICT_SOUND] = "sound",
		[VERDICT_FOREIGN] = "foreign",
	};

	writer_string(out, verdicts[version_meta(s->v)->verdict]);
	return 0;
}

/* In one line, whatever is in it. */
static void put_line(struct writer *out, const char *key, struct text text)
{
	size_t start;

	if (text.size > SHOWN_MAX)
		text.size = SHOWN_MAX;
	writer_string(out, key);
	start = out->size;
	utf8_put(out, text);
	for (size_t i = start; i < out->size; i++)
		if (out->bytes[i] < FIRST_PRINTABLE || out->bytes[i] == DELETE)
			out->bytes[i] = '?';
	writer_u8(out, '\n');
}

static int put_module(const struct scratch_view *view, struct writer *out)
{
	struct compiled_module module;
	struct fault fault;
	int err =
		compiled_module_read(view->bytes, view->size, &module, &fault);

	if (err)
		return err == -ENOMEM ? err : -ENODATA;
	put_line(out, "name: ", module.name);
	put_line(out, "date: ", module.date);
	put_line(out, "version: ", module.version);
	return 0;
}

static int read_module(const struct subject *s, struct writer *out)
{
	struct scratch_view view;
	struct scratch *copy = NULL;
	int err = scratch_copy(&s->m->scratches, s->v, &copy);

	if (err)
		return err;
	err = scratch_map(copy, &view);
	if (!err) {
		err = put_module(&view, out);
		scratch_unmap(&view);
	}
	scratch_free(copy);
	return err;
}

static int verify_at(const struct subject *s, const struct place *place)
{
	AUTO_DIR struct dir_use dir = dir_begin(&s->m->tree, place->parent);

	if (dir.fd < 0)
		return dir.fd;
	return version_verify(s->m->store, s->v, dir.fd,
			      s->node->kind == NODE_READABLE ? RENDERING_SOURCE
							     : place->name);
}

static int tell_meta(const struct subject *s, struct writer *out)
{
	struct place place;
	int err;

	if (version_meta(s->v)->kind != ARTIFACT_COMPILED_MODULE)
		return -ENODATA;
	err = node_place(&s->m->tree, s->node, &place);
	if (err)
		return err;
	err = verify_at(s, &place);
	place_free(&s->m->tree, &place);
	return err ? err : read_module(s, out);
}

static const struct fact {
	const char *name;
	int (*tell)(const struct subject *s, struct writer *out);
} facts[] = {
	{ "digest", tell_digest },	 { "sha256", tell_sha256 },
	{ "stored", tell_stored },	 { "ratio", tell_ratio },
	{ "publisher", tell_publisher }, { "sound", tell_sound },
	{ "meta", tell_meta },
};

static const struct fact *find_fact(const char *name)
{
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (strcmp(facts[i].name, name) == 0)
			return &facts[i];
	return NULL;
}

/* What the node shows, counted, if that is published; else NULL. */
static struct version *published(struct node *node)
{
	const struct node_file *file = &node->file;
	struct version *v = NULL;

	pthread_mutex_lock(&node->lock);
	if (file->version && !file->dirty && !file->withheld)
		v = version_get(file->version);
	pthread_mutex_unlock(&node->lock);
	return v;
}

/* Of what is not published, and only some process, or this mount, sees. */
static int tell_unpublished(struct node *node, struct writer *out)
{
	const struct node_file *file = &node->file;

	pthread_mutex_lock(&node->lock);
	writer_string(out, file->withheld && file->unsound ? "unsound"
							   : "unpublished");
	if (file->withheld) {
		writer_string(out, ": ");
		writer_string(out, file->why);
	}
	pthread_mutex_unlock(&node->lock);
	return out->err;
}

/* A readable.py says only what it shows. */
static bool has_fact(const struct node *node, const struct fact *fact)
{
	return fact &&
	       (node->kind == NODE_FILE || node->kind == NODE_PRIVATE ||
		(node->kind == NODE_READABLE && fact->tell == tell_meta));
}

int facts_tell(struct mount *m, struct node *node, const char *name,
	       struct writer *out)
{
	const struct fact *fact = find_fact(name);
	struct subject s = { .m = m, .node = node };
	int err;

	if (!has_fact(node, fact))
		return -ENODATA;
	s.v = published(node);
	if (!s.v)
		return fact->tell == tell_sound ? tell_unpublished(node, out)
						: -ENODATA;
	err = fact->tell(&s, out);
	version_put(s.v);
	return err ? err : out->err;
}
