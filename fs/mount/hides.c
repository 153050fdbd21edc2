/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/hides.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/digest.h"
#include "fs/mount/dir.h"
#include "fs/mount/mount.h"

enum { FIRST_BUCKETS = 64 }; /* a power of two */

struct hidden {
	struct hidden *next;
	struct node *directory; /* held, and kept: see dir.h */
	char name[];
};

static uint64_t hash_of(const struct node *directory, const char *name)
{
	return check_of(name, strlen(name),
			directory->directory.identity.inode);
}

static bool is_same(const struct hidden *hidden, const struct node *directory,
		    const char *name)
{
	return fd_is_same(&hidden->directory->directory.identity,
			  &directory->directory.identity) &&
	       strcmp(hidden->name, name) == 0;
}

/* With the tree's lock held: the link to it, or to the end of its chain. */
static struct hidden **find(struct hides *hides, const struct node *directory,
			    const char *name)
{
	size_t bucket = hash_of(directory, name) & (hides->bucket_count - 1);
	struct hidden **link = &hides->buckets[bucket];

	while (*link && !is_same(*link, directory, name))
		link = &(*link)->next;
	return link;
}

static int grow(struct hides *hides)
{
	struct hides larger = { .bucket_count =
					hides->bucket_count
						? hides->bucket_count * 2
						: FIRST_BUCKETS };

	if (hides->count < hides->bucket_count)
		return 0;
	larger.buckets = calloc(larger.bucket_count, sizeof(struct hidden *));
	if (!larger.buckets)
		return -ENOMEM;
	for (size_t i = 0; i < hides->bucket_count; i++) {
		struct hidden *hidden = hides->buckets[i];

		while (hidden) {
			struct hidden *next = hidden->next;
			struct hidden **link =
				find(&larger, hidden->directory, hidden->name);

			hidden->next = NULL;
			*link = hidden;
			hidden = next;
		}
	}
	free(hides->buckets);
	hides->buckets = larger.buckets;
	hides->bucket_count = larger.bucket_count;
	return 0;
}

void hides_free(struct hides *hides)
{
	for (size_t i = 0; i < hides->bucket_count; i++) {
		struct hidden *hidden = hides->buckets[i];

		while (hidden) {
			struct hidden *next = hidden->next;

			free(hidden);
			hidden = next;
		}
	}
	free(hides->buckets);
	hides->buckets = NULL;
	hides->bucket_count = hides->count = 0;
}

bool hides_has(struct mount *m, const struct node *directory, const char *name)
{
	bool has;

	if (!m->hides.used)
		return false;
	tree_lock(&m->tree);
	has = m->hides.count && *find(&m->hides, directory, name);
	tree_unlock(&m->tree);
	return has;
}

/* With the tree's lock held. Takes `made` over when it is needed. */
static int add_locked(struct hides *hides, struct hidden **made)
{
	struct hidden **link;
	int err = grow(hides);

	if (err)
		return err;
	link = find(hides, (*made)->directory, (*made)->name);
	if (!*link) {
		node_hold((*made)->directory);
		*link = *made;
		*made = NULL;
		hides->count++;
	}
	return 0;
}

int hides_add(struct mount *m, struct node *directory, const char *name)
{
	size_t size = strlen(name) + 1;
	struct hidden *made = calloc(1, sizeof(*made) + size);
	int err;

	if (!made)
		return -ENOMEM;
	made->directory = directory;
	memcpy(made->name, name, size);
	dir_keep(&m->tree, directory);
	tree_lock(&m->tree);
	err = add_locked(&m->hides, &made);
	tree_unlock(&m->tree);
	free(made);
	return err;
}

bool hides_take(struct mount *m, struct node *directory, const char *name)
{
	struct hidden *hidden = NULL;
	struct hidden **link;

	if (!m->hides.used)
		return false;
	tree_lock(&m->tree);
	if (m->hides.count) {
		link = find(&m->hides, directory, name);
		hidden = *link;
	}
	if (hidden) {
		*link = hidden->next;
		m->hides.count--;
	}
	tree_unlock(&m->tree);
	if (!hidden)
		return false;
	node_drop(&m->tree, hidden->directory);
	free(hidden);
	return true;
}
