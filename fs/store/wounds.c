/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/wounds.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "codec/digest.h"
#include "fs/fd.h"

void wounds_init(struct wounds *w)
{
	*w = (struct wounds){ .count = 0 };
	pthread_mutex_init(&w->lock, NULL);
}

void wounds_free(struct wounds *w)
{
	free(w->list);
	pthread_mutex_destroy(&w->lock);
}

static bool wound_at(int dir, const char *name, struct wound *wound)
{
	struct stat st;

	if (fd_stat(dir, &st) < 0)
		return false;
	*wound = (struct wound){
		.device = st.st_dev,
		.inode = st.st_ino,
		.name = check_of(name, strlen(name), 0),
	};
	return true;
}

/* With the lock held; the count when it is not there. */
static size_t find(const struct wounds *w, const struct wound *wound)
{
	size_t i = 0;

	while (i < w->count && (w->list[i].device != wound->device ||
				w->list[i].inode != wound->inode ||
				w->list[i].name != wound->name))
		i++;
	return i;
}

/* With the lock held. */
static void insert(struct wounds *w, const struct wound *wound)
{
	if (!w->list)
		w->list = calloc(WOUNDS_MAX, sizeof(*w->list));
	if (!w->list || find(w, wound) < w->count)
		return;
	if (w->count < WOUNDS_MAX) {
		w->list[w->count++] = *wound;
		return;
	}
	w->list[w->next] = *wound;
	w->next = (w->next + 1) % WOUNDS_MAX;
}

void wounds_add(struct wounds *w, int dir, const char *name)
{
	struct wound wound;

	if (!wound_at(dir, name, &wound))
		return;
	pthread_mutex_lock(&w->lock);
	insert(w, &wound);
	pthread_mutex_unlock(&w->lock);
}

static bool is_empty(struct wounds *w)
{
	bool empty;

	pthread_mutex_lock(&w->lock);
	empty = !w->count;
	pthread_mutex_unlock(&w->lock);
	return empty;
}

bool wounds_heal(struct wounds *w, int dir, const char *name)
{
	struct wound wound;
	bool healed;
	size_t i;

	if (is_empty(w) || !wound_at(dir, name, &wound))
		return false;
	pthread_mutex_lock(&w->lock);
	i = find(w, &wound);
	healed = i < w->count;
	if (healed)
		w->list[i] = w->list[--w->count];
	pthread_mutex_unlock(&w->lock);
	return healed;
}
