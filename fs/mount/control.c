/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/control.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fs/own.h"

/* Its own, and the next are its files': apart from all others' (file.c). */
static const ino_t CONTROL_INO = UINT64_C(1) << 61;

static int put_numbers(json_t *object, const struct mount *m)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return json_object_set_new(object, "pid", json_integer(getpid())) |
	       json_object_set_new(
		       object, "uptime",
		       json_integer(now.tv_sec - m->started.tv_sec));
}

/* A namespace whose name is not UTF-8 is left out. */
static int put_names(json_t *object, const struct mount *m)
{
	json_t *space = json_string(store_space(m->store));

	if (space && json_object_set_new(object, "namespace", space))
		return -1;
	return json_object_set_new(object, "version",
				   json_string(TACFS_VERSION));
}

static int put_mount(json_t *object, const struct mount *m)
{
	json_t *mount = json_object();
	struct counts counts = store_counts(m->store);

	return json_object_set_new(object, "mount", mount) |
	       counts_put(mount, &counts);
}

static int put_store(json_t *object, struct mount *m)
{
	json_t *store;
	struct report sum;

	if (reporter_sum(&m->reporter, &sum) != 0)
		return 0;
	store = json_object();
	return json_object_set_new(object, "store", store) |
	       report_put(store, &sum);
}

static int stats_text(struct mount *m, char **text)
{
	AUTO_FREE char *lines = NULL;
	json_t *object = json_object();
	int size;

	if (!put_names(object, m) && !put_numbers(object, m) &&
	    !put_mount(object, m) && !put_store(object, m))
		lines = json_dumps(object, JSON_INDENT(2));
	json_decref(object);
	size = lines ? asprintf(text, "%s\n", lines) : -1;
	return size < 0 ? -ENOMEM : 0;
}

static int version_text(struct mount *m, char **text)
{
	(void)m;
	*text = strdup("tacfs " TACFS_VERSION "\n");
	return *text ? 0 : -ENOMEM;
}

static const struct control_file {
	const char *name;
	int (*text)(struct mount *m, char **text);
} files[] = {
	{ "stats.json", stats_text },
	{ "version", version_text },
};

enum { FILES = sizeof(files) / sizeof(*files) };

const char *control_name(size_t index)
{
	return index < FILES ? files[index].name : NULL;
}

static struct node *attach(struct mount *m, enum node_kind kind,
			   struct node *parent, const char *name)
{
	struct node *node = node_new(&m->tree, kind, parent, name);

	if (!node)
		return NULL;
	tree_lock(&m->tree);
	tree_attach(&m->tree, node);
	tree_unlock(&m->tree);
	return node;
}

int control_init(struct mount *m)
{
	struct node *directory =
		attach(m, NODE_CONTROL, m->tree.root, CONTROL_NAME);

	for (size_t i = 0; i < FILES; i++) {
		struct node *node = directory ? attach(m, NODE_REPORT,
						       directory, files[i].name)
					      : NULL;

		if (!node)
			return -ENOMEM;
		node->file.ino = CONTROL_INO + 1 + i;
		node->file.mode = 0444;
		node->file.mtime = m->started;
		node->file.ctime = m->started;
	}
	return 0;
}

bool control_has(const struct mount *m, const struct node *directory,
		 const char *name)
{
	return directory->kind == NODE_CONTROL ||
	       (directory == m->tree.root && strcmp(name, CONTROL_NAME) == 0);
}

int control_lookup(struct mount *m, const struct node *directory,
		   const char *name, struct node **out)
{
	enum node_kind kind =
		directory->kind == NODE_CONTROL ? NODE_REPORT : NODE_CONTROL;

	*out = tree_hold(&m->tree, directory, name, kind);
	return *out ? 0 : -ENOENT;
}

int control_text(struct mount *m, const struct node *node, char **text)
{
	for (size_t i = 0; i < FILES; i++)
		if (strcmp(files[i].name, node->name) == 0)
			return files[i].text(m, text);
	return -ENOENT;
}

void control_stat(const struct mount *m, struct stat *st)
{
	st->st_ino = CONTROL_INO;
	st->st_mode = S_IFDIR | 0555;
	st->st_nlink = 2;
	st->st_atim = m->started;
	st->st_mtim = m->started;
	st->st_ctim = m->started;
}

ssize_t control_read(const char *text, uint64_t offset, void *bytes,
		     size_t size)
{
	size_t all = strlen(text);

	if (offset >= all)
		return 0;
	if (size > all - (size_t)offset)
		size = all - (size_t)offset;
	memcpy(bytes, text + offset, size);
	return (ssize_t)size;
}
