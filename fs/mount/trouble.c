/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/trouble.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static bool is_of_the_system(int err)
{
	static const int errors[] = { -EIO,    -ENOSPC, -EDQUOT,
				      -EMFILE, -ENFILE, -ENOMEM,
				      -EACCES, -EINTR,	-ESTALE };

	for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
		if (err == errors[i])
			return true;
	return false;
}

/* Puts a component before what `at` shows; where that begins then. */
static char *put_before(char *at, const char *start, const char *name)
{
	size_t size = strlen(name);

	if ((size_t)(at - start) < size + 1)
		return at;
	at -= size + 1;
	memcpy(at, name, size);
	at[size] = '/';
	return at;
}

const char *trouble_path(struct mount *m, const struct node *node,
			 const char *name, char path[TROUBLE_PATH_MAX])
{
	char *at = path + TROUBLE_PATH_MAX - 1;
	size_t size;

	*at = '\0';
	if (name)
		at = put_before(at, path, name);
	tree_lock(&m->tree);
	for (; node->parent; node = node->parent)
		at = put_before(at, path, node->name);
	tree_unlock(&m->tree);
	size = strlen(at);
	if (size)
		at[size - 1] = '\0'; /* the last slash */
	return size ? at : ".";
}

void trouble_tell(struct mount *m, const char *what, struct node *node,
		  const char *name, int err)
{
	char path[TROUBLE_PATH_MAX];

	if (!is_of_the_system(err))
		return;
	log_event(m->log, LOG_LEVEL_ERROR, "cannot %s \"%s\": %s", what,
		  trouble_path(m, node, name, path), strerror(-err));
}

int trouble_miss(struct mount *m, struct node *node, int err)
{
	if (err != -ESTALE)
		return err;
	trouble_tell(m, "open", node, NULL, err);
	return -ENOENT;
}
