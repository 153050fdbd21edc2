/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOUCH_SECONDS = 3600 };

int spills_init(struct spills *all, int tmp, size_t limit)
{
	*all = (struct spills){ .tmp = tmp, .limit = limit };
	return -pthread_mutex_init(&all->lock, NULL);
}

void spills_free(struct spills *all)
{
	pthread_mutex_destroy(&all->lock);
}

/* All below is done with the lock held. */

static void unlink_age(struct spill *s)
{
	*(s->newer ? &s->newer->older : &s->all->newest) = s->older;
	*(s->older ? &s->older->newer : &s->all->oldest) = s->newer;
	s->newer = s->older = NULL;
}

static void link_newest(struct spill *s)
{
	s->older = s->all->newest;
	*(s->all->newest ? &s->all->newest->newer : &s->all->oldest) = s;
	s->all->newest = s;
}

static void opened(struct spill *s)
{
	link_newest(s);
	s->all->open++;
}

static void closed(struct spill *s)
{
	unlink_age(s);
	s->all->open--;
}

/* It keeps its name from then on. */
static int name(struct spill *s)
{
	int err;

	if (s->draft.name[0])
		return 0;
	err = fd_draft_name(&s->draft);
	if (err)
		return err;
	(void)futimens(s->draft.fd, NULL); /* see spills_touch() */
	s->next_named = s->all->named;
	s->all->named = s;
	return 0;
}

static void drop_name(struct spill *s)
{
	struct spill **at = &s->all->named;

	if (!s->draft.name[0])
		return;
	while (*at != s)
		at = &(*at)->next_named;
	*at = s->next_named;
	unlinkat(s->draft.tmp, s->draft.name, 0);
	s->draft.name[0] = '\0';
}

/* What cannot get a name stays open. */
static void trim(struct spills *all, size_t limit)
{
	struct spill *s = all->oldest;

	while (s && all->open > limit) {
		struct spill *newer = s->newer;

		if (!s->uses && !s->stays && name(s) == 0) {
			closed(s);
			close(s->draft.fd);
			s->draft.fd = -1;
		}
		s = newer;
	}
}

/* Where files cannot be made without a name they lose it at once. */
static int make(struct spill *s)
{
	int err = fd_draft_open(s->all->tmp, 0600, &s->draft);

	if (err)
		return err;
	if (s->draft.name[0])
		unlinkat(s->draft.tmp, s->draft.name, 0);
	s->draft.name[0] = '\0';
	s->exists = true;
	return 0;
}

static int open_again(struct spill *s)
{
	int fd = fd_open(s->draft.tmp, s->draft.name, O_RDWR | O_NOFOLLOW, 0);

	if (fd < 0)
		return errno == ENOENT ? -EIO : -errno;
	s->draft.fd = fd;
	return 0;
}

static int open_now(struct spill *s)
{
	return s->exists ? open_again(s) : make(s);
}

static int begin(struct spill *s)
{
	int err;

	if (s->draft.fd >= 0) {
		unlink_age(s);
		link_newest(s);
		s->uses++;
		return s->draft.fd;
	}
	err = open_now(s);
	if (err == -EMFILE || err == -ENFILE) {
		trim(s->all, 0);
		err = open_now(s);
	}
	if (err)
		return err;
	opened(s);
	s->uses++;
	trim(s->all, s->all->limit);
	return s->draft.fd;
}

/* From here on each takes the lock. */

void spill_init(struct spill *s, struct spills *all)
{
	*s = (struct spill){ .all = all, .draft = { .fd = -1 } };
}

void spill_free(struct spill *s)
{
	if (!s->exists)
		return;
	pthread_mutex_lock(&s->all->lock);
	if (s->draft.fd >= 0) {
		closed(s);
		close(s->draft.fd);
	}
	drop_name(s);
	pthread_mutex_unlock(&s->all->lock);
}

int spill_begin(struct spill *s)
{
	int fd;

	pthread_mutex_lock(&s->all->lock);
	fd = s->exists ? begin(s) : -ENODATA;
	pthread_mutex_unlock(&s->all->lock);
	return fd;
}

int spill_make(struct spill *s)
{
	int fd;

	pthread_mutex_lock(&s->all->lock);
	fd = begin(s);
	pthread_mutex_unlock(&s->all->lock);
	return fd;
}

void spill_end(struct spill *s)
{
	pthread_mutex_lock(&s->all->lock);
	s->uses--;
	pthread_mutex_unlock(&s->all->lock);
}

/* dup3() gives a descriptor that is in use another file. */
int spill_replace(struct spill *s, int fd)
{
	int err = 0;

	pthread_mutex_lock(&s->all->lock);
	if (s->draft.fd < 0) {
		s->draft.fd = fd;
		opened(s);
	} else if (dup3(fd, s->draft.fd, O_CLOEXEC) < 0) {
		err = -errno;
	} else {
		close(fd);
	}
	if (!err) {
		drop_name(s);
		s->exists = s->stays = true;
	}
	pthread_mutex_unlock(&s->all->lock);
	return err;
}

void spills_touch(struct spills *all)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	pthread_mutex_lock(&all->lock);
	if (now.tv_sec - all->touched > TOUCH_SECONDS) {
		all->touched = now.tv_sec;
		for (struct spill *s = all->named; s; s = s->next_named)
			utimensat(s->draft.tmp, s->draft.name, NULL, 0);
	}
	pthread_mutex_unlock(&all->lock);
}
