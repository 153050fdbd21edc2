/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/condemned.h"

#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 4096 };

struct condemned {
	pthread_mutex_t lock;
	struct file_identity slots[SLOTS]; /* no file has the inode number 0 */
};

struct condemned *condemned_new(void)
{
	struct condemned *c = calloc(1, sizeof(*c));

	if (c)
		pthread_mutex_init(&c->lock, NULL);
	return c;
}

void condemned_free(struct condemned *c)
{
	if (!c)
		return;
	pthread_mutex_destroy(&c->lock);
	free(c);
}

bool condemned_has(struct condemned *c, const struct file_identity *file)
{
	bool has;

	if (!c)
		return false;
	pthread_mutex_lock(&c->lock);
	has = identity_equal(&c->slots[file->ino % SLOTS], file);
	pthread_mutex_unlock(&c->lock);
	return has;
}

bool condemned_add(struct condemned *c, const struct file_identity *file)
{
	struct file_identity *slot = &c->slots[file->ino % SLOTS];
	bool had;

	pthread_mutex_lock(&c->lock);
	had = identity_equal(slot, file);
	*slot = *file;
	pthread_mutex_unlock(&c->lock);
	return !had;
}
